// SPDX-License-Identifier: BSL-1.0
//
// Standard output by file descriptor: nothing is buffered, so a closed pipe is noticed by the write
// that meets it.

#include <tool/frame/format.hpp>
#include <tool/frame/output.hpp>

#include <boost/json/serialize.hpp>

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <system_error>

namespace tool {
namespace {

constexpr std::size_t usual_width = 80;
constexpr std::size_t least_width = 20;

/// Returns the size of the UTF-8 sequence that begins with this byte; 0 if none does.
[[nodiscard]] std::size_t sequence_size(unsigned char first) noexcept {
    if (first < 0x80)
        return 1;
    if (first >= 0xc2 && first < 0xe0)
        return 2;
    if (first >= 0xe0 && first < 0xf0)
        return 3;
    return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

/// Returns whether the second byte of a sequence rules out surrogates, overlong forms and numbers
/// above those of Unicode.
[[nodiscard]] bool may_follow(unsigned char first, unsigned char second) noexcept {
    switch (first) {
    case 0xe0:
        return second >= 0xa0;
    case 0xed:
        return second < 0xa0;
    case 0xf0:
        return second >= 0x90;
    case 0xf4:
        return second < 0x90;
    default:
        return true;
    }
}

[[nodiscard]] bool is_utf8(std::string_view bytes) noexcept {
    for (std::size_t i = 0; i < bytes.size();) {
        const auto first = static_cast<unsigned char>(bytes[i]);
        const auto size = sequence_size(first);
        if (size == 0 || bytes.size() - i < size)
            return false;
        for (std::size_t k = 1; k < size; ++k) {
            const auto next = static_cast<unsigned char>(bytes[i + k]);
            if ((next & 0xc0U) != 0x80 || (k == 1 && !may_follow(first, next)))
                return false;
        }
        i += size;
    }
    return true;
}

} // namespace

bool output::is_terminal() noexcept {
    return ::isatty(STDOUT_FILENO) == 1;
}

std::size_t output::width() noexcept {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= least_width)
        return size.ws_col;
    return usual_width;
}

void output::text(std::string_view text) { // NOLINT: a function of the stream, not of the class
    while (!text.empty()) {
        const auto written = ::write(STDOUT_FILENO, text.data(), text.size());
        if (written > 0)
            text.remove_prefix(static_cast<std::size_t>(written));
        else if (errno != EINTR)
            throw std::runtime_error{"cannot write to standard output: " +
                                     std::generic_category().message(errno)};
    }
}

void output::object(const boost::json::object& members) {
    auto whole = boost::json::object{{"command", command_}};
    for (const auto& member : members)
        whole.emplace(member.key(), member.value());
    text(boost::json::serialize(whole) + '\n');
}

void output::document(std::string_view whole) {
    is_json_ ? object({{"text", whole}}) : text(whole);
}

std::string json_text(std::string_view bytes) {
    return is_utf8(bytes) ? std::string{bytes} : escaped(bytes);
}

} // namespace tool
