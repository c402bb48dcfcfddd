// SPDX-License-Identifier: BSL-1.0
//
// How problems are recorded.

#include <limiter/problem_log.hpp>

namespace colimit::detail {
namespace {

constexpr auto npos = std::string_view::npos;
constexpr std::string_view list_begins = "; commands denied in the handshake: ";

[[nodiscard]] problem_record record_of(errc code, phase where) noexcept {
    const auto now = problem_record::clock::now();
    return {.code = code, .phase = where, .text = {}, .first = now, .last = now, .count = 1};
}

/// Returns whether a command or a key was denied, rather than a password.
[[nodiscard]] bool is_denial(const redis::error_report& what) noexcept {
    return what.code == errc::auth_failed &&
           (what.phase == phase::script || what.text.find("NOPERM") != npos);
}

/// A name that does not fit is omitted.
void append_name(problem_text& out, std::string_view server) noexcept {
    if (!server.empty() && out.append(server))
        (void)out.append(": ");
}

} // namespace

void problem_log::record(const problem_record& made) noexcept {
    noted_at_ = clock_();
    if (last_.count != 0 && last_.is_same(made))
        last_.repeat(made.last);
    else
        last_ = made;
}

/// The list of commands is kept complete: the server's message is shortened instead.
void problem_log::note(const redis::error_report& what, const text_filter& filter,
                       std::string_view server) noexcept {
    auto made = record_of(what.code, what.phase);
    append_name(made.text, server);
    // Redis before 7.2 does not say which command a script was not allowed to run.
    const auto is_quote = !what.received.empty();
    const auto is_unnamed = what.text.find("can't run this command") != npos && !denied_.empty();
    const auto list = is_unnamed ? list_begins.size() + denied_.size() : 0;
    auto& text = made.text;
    const auto room = text.room() > list ? text.room() - list : 0;
    is_quote ? filter.append_own(text, what.text, room)
             : filter.append_words(text, what.text, room);
    if (is_unnamed && text.append(list_begins))
        filter.append_own(text, denied_, text.room());
    if (is_quote && text.append(" "))
        filter.append_received(text, what.received, text.room());
    record(made);
    if (is_denial(what))
        denials_.note(made, what.policy, noted_at_);
}

void problem_log::note_own(errc code, phase where, std::string_view text, std::string_view detail,
                           const text_filter& filter, std::string_view server) noexcept {
    auto made = record_of(code, where);
    append_name(made.text, server);
    filter.append_own(made.text, text, made.text.room());
    if (!detail.empty() && made.text.append(" "))
        filter.append_own(made.text, detail, made.text.room());
    record(made);
}

std::optional<problem> problem_log::last() const {
    if (last_.count == 0)
        return std::nullopt;
    return last_.as_problem();
}

} // namespace colimit::detail
