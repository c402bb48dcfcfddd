// SPDX-License-Identifier: BSL-1.0
//
// Any bytes as a log: a line is parsed or an error with a reason, and what was read can be printed
// on a terminal and given to a limiter as a clock.
#include <http/address_text.hpp>
#include <tool/replay/access_log.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

// The name and type are libFuzzer's.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace std::chrono;
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    const auto [line, problem] = tool::replay::read_log_line(text);
    if (line.has_value() != problem.empty())
        std::abort();
    if (!line)
        return 0;
    if (line->client.empty() || !text.starts_with(line->client))
        std::abort();
    for (const char c : line->client)
        if (c <= ' ' || c > '~')
            std::abort();
    // The client is the first word, and nothing else may be it.
    const auto rest = text.substr(line->client.size());
    if (!rest.starts_with(" [") && !rest.starts_with(" - "))
        std::abort();
    if (line->client.find(':') != std::string_view::npos &&
        !colimit::http::parse_address(line->client))
        std::abort();
    if (line->time < sys_days{year{1970} / 1 / 1} || line->time >= sys_days{year{2112} / 1 / 1})
        std::abort();
    return 0;
}
