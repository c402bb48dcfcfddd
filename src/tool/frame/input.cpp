// SPDX-License-Identifier: BSL-1.0
//
// A pipe is read until its writers have closed it. Standard streams do not distinguish an error
// from the end.

#include <colimit/limits.hpp>
#include <policy_source/document_file.hpp>
#include <tool/frame/format.hpp>
#include <tool/frame/input.hpp>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

namespace tool {
namespace {

[[nodiscard]] bool is_stream(const std::string& path) {
    std::error_code ec;
    const auto type = std::filesystem::status(path, ec).type();
    return type == std::filesystem::file_type::fifo ||
           type == std::filesystem::file_type::character;
}

struct closer {
    void operator()(std::FILE* file) const noexcept { (void)std::fclose(file); }
};

[[noreturn]] void fail(const std::string& path) {
    const auto code = errno;
    const auto is_closed = path == standard_input && code == EBADF;
    throw unreadable_input{
        without_addresses(escaped(path)) + " cannot be read: " +
        (is_closed ? "standard input is closed" : std::generic_category().message(code))};
}

[[nodiscard]] std::string read_stream(const std::string& path, std::FILE* from) {
    std::string text(colimit::limits::max_json_bytes + 1, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), from));
    if (std::ferror(from) != 0)
        fail(path);
    if (text.size() > colimit::limits::max_json_bytes)
        throw unreadable_input{without_addresses(escaped(path)) +
                               " is too long (expected at most " +
                               std::to_string(colimit::limits::max_json_bytes) + " bytes)"};
    return text;
}

} // namespace

std::string read_input(const std::string& path) {
    if (path == standard_input)
        return read_stream(path, stdin);
    if (is_stream(path)) {
        const std::unique_ptr<std::FILE, closer> file{std::fopen(path.c_str(), "rb")};
        if (!file)
            fail(path);
        return read_stream(path, file.get());
    }
    auto content = colimit::detail::read_file(path);
    if (!content.problem.empty())
        throw unreadable_input{without_addresses(escaped(path)) + " " + content.problem};
    return std::move(content.text);
}

} // namespace tool
