// SPDX-License-Identifier: BSL-1.0
//
// A pipe is read until its writers have closed it.

#include <colimit/limits.hpp>
#include <policy_source/document_file.hpp>
#include <tool/frame/format.hpp>
#include <tool/frame/input.hpp>

#include <filesystem>
#include <fstream>
#include <iostream>
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

[[nodiscard]] std::string read_stream(const std::string& path, std::istream& from) {
    std::string text(colimit::limits::max_json_bytes + 1, '\0');
    from.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (!from.eof() && from.fail())
        throw unreadable_input{without_addresses(escaped(path)) + " cannot be read"};
    text.resize(static_cast<std::size_t>(from.gcount()));
    if (text.size() > colimit::limits::max_json_bytes)
        throw unreadable_input{without_addresses(escaped(path)) +
                               " is too long (expected at most " +
                               std::to_string(colimit::limits::max_json_bytes) + " bytes)"};
    return text;
}

} // namespace

std::string read_input(const std::string& path) {
    if (path == standard_input)
        return read_stream(path, std::cin);
    if (is_stream(path)) {
        std::ifstream file{path, std::ios::binary};
        return read_stream(path, file);
    }
    auto content = colimit::detail::read_file(path);
    if (!content.problem.empty())
        throw unreadable_input{without_addresses(escaped(path)) + " " + content.problem};
    return std::move(content.text);
}

} // namespace tool
