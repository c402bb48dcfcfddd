// SPDX-License-Identifier: BSL-1.0
//
// Problems as they are recorded.

#include <engine/problem_log.hpp>

#include <algorithm>

namespace colimit::detail {
namespace {

/// Shorter ones occur in ordinary words, and replacing them there would reveal them.
constexpr std::size_t least_password = 4;

/// What follows repeats the arguments of the command: a password or the names of keys.
constexpr std::string_view arguments_begin = "with args beginning with";

[[nodiscard]] std::array<char, 4> escaped(char c) noexcept {
    constexpr std::string_view digits = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    return {'\\', 'x', digits[byte >> 4U], digits[byte & 15U]};
}

} // namespace

bool problem_log::bounded_text::append(std::string_view part) noexcept {
    if (part.size() > bytes.size() - size)
        return false;
    std::ranges::copy(part, bytes.begin() + static_cast<std::ptrdiff_t>(size));
    size += part.size();
    return true;
}

void problem_log::append_printable(bounded_text& out, std::string_view text) const noexcept {
    constexpr std::string_view ellipsis = "...";
    text = text.substr(0, text.find(arguments_begin));
    while (!text.empty() && (text.back() == '\r' || text.back() == '\n' || text.back() == ' '))
        text.remove_suffix(1);
    auto room_for_ellipsis = out.size; // the last place at which it fits
    while (!text.empty()) {
        auto taken = std::size_t{1};
        auto fits = true;
        if (password_.size() >= least_password && text.starts_with(password_)) {
            taken = password_.size();
            fits = out.append("***");
        } else if (const auto c = text.front(); c >= ' ' && c <= '~') {
            fits = out.append(text.substr(0, 1));
        } else {
            const auto hex = escaped(c);
            fits = out.append({hex.data(), hex.size()});
        }
        if (!fits) {
            out.size = room_for_ellipsis;
            (void)out.append(ellipsis);
            break;
        }
        if (out.size + ellipsis.size() <= out.bytes.size())
            room_for_ellipsis = out.size;
        text.remove_prefix(taken);
    }
}

void problem_log::note(errc code, phase where, std::string_view text) noexcept {
    auto shown = bounded_text{};
    append_printable(shown, text);
    // Redis before 7.2 does not say which command a script was not allowed to run.
    if (text.find("can't run this command") != std::string_view::npos && !denied_.empty() &&
        shown.append("; commands denied in the handshake: "))
        append_printable(shown, denied_);
    last_ = clock::now();
    if (count_ != 0 && code_ == code && phase_ == where && text_.view() == shown.view()) {
        ++count_;
        return;
    }
    code_ = code;
    phase_ = where;
    text_ = shown;
    first_ = last_;
    count_ = 1;
    const auto is_denial = where == phase::script || text.find("NOPERM") != std::string_view::npos;
    denial_ = denial_ || (code == errc::auth_failed && is_denial);
}

std::optional<problem> problem_log::last() const {
    if (count_ == 0)
        return std::nullopt;
    return problem{.code = code_,
                   .phase = phase_,
                   .text = std::string{text_.view()},
                   .first = first_,
                   .last = last_,
                   .count = count_};
}

} // namespace colimit::detail
