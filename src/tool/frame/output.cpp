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
#include <stdexcept>
#include <system_error>

namespace tool {
namespace {

constexpr std::size_t usual_width = 80;
constexpr std::size_t least_width = 20;

[[nodiscard]] bool is_utf8(std::string_view bytes) noexcept {
    while (!bytes.empty()) {
        const auto size = utf8_size(bytes);
        if (size == 0)
            return false;
        bytes.remove_prefix(size);
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
