// SPDX-License-Identifier: BSL-1.0
//
// Any bytes as a line of JSON, as clients can put them into a log: it is read, or an error with a
// reason. Whatever is in a text besides the fields that are read, the line counts.
#include <tool/replay/json_log.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

// The name and type are libFuzzer's.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes{reinterpret_cast<const char*>(data), size};
    tool::replay::json_reader reader{{}};
    const auto any = reader.read(bytes);
    if (any.line.has_value() != any.problem.empty() || (any.line && any.line->client.empty()))
        std::abort();
    // nginx escapes quotes, backslashes and control characters.
    std::string sent;
    for (const char c : bytes)
        if (static_cast<unsigned char>(c) >= ' ' && c != '"' && c != '\\')
            sent += c;
    const auto line = R"({"agent": ")" + sent + R"(\x22\x5C", "client": "a", "time": 1})";
    const auto read = reader.read(line);
    if (!read.line || read.line->client != "a")
        std::abort();
    return 0;
}
