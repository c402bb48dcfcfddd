// SPDX-License-Identifier: BSL-1.0
//
// Any bytes as a document of policies: they are an error with a printable reason, or they are
// policies whose document gives them back.

#include <colimit/error.hpp>
#include <colimit/json.hpp>
#include <colimit/limits.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

namespace {

void demand(bool holds) {
    if (!holds)
        std::abort();
}

std::optional<colimit::policy_set> policies_of(const std::string& text) {
    try {
        return colimit::parse_policies(text);
    } catch (const colimit::error& e) {
        demand(e.code() == colimit::errc::invalid_policy && !e.reason().empty());
        demand(e.reason().size() < 1'024);
        demand(std::ranges::all_of(e.reason(), [](char c) { return c >= 0x20 && c < 0x7f; }));
        return std::nullopt;
    }
}

} // namespace

// The name and type are libFuzzer's.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto policies = policies_of({data, data + size});
    if (!policies)
        return 0;
    demand(policies->size() <= colimit::limits::max_policies);
    const auto text = to_json(*policies);
    demand(colimit::parse_policies(text) == *policies);
    return 0;
}
