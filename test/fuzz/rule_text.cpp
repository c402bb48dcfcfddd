// SPDX-License-Identifier: BSL-1.0
//
// Any bytes as a rule text: they are an error with a printable reason, or they are rules whose
// texts give them back. And a policy of the parsed rules is made or an error, never something else.

#include <colimit/error.hpp>
#include <colimit/policy.hpp>
#include <colimit/rule_text.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

namespace {

void demand(bool holds) {
    if (!holds)
        std::abort();
}

template<class Make>
auto result_of(Make make) -> std::optional<decltype(make())> {
    try {
        return make();
    } catch (const colimit::error& e) {
        demand(e.code() == colimit::errc::invalid_policy && !e.reason().empty());
        demand(e.reason().size() < 512);
        demand(std::ranges::all_of(e.reason(), [](char c) { return c >= 0x20 && c < 0x7f; }));
        return std::nullopt;
    }
}

} // namespace

// The name and type are libFuzzer's.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text{data, data + size};
    const auto rules = result_of([&] { return colimit::parse_rules(text); });
    if (!rules)
        return 0;
    demand(!rules->empty() && rules->size() <= colimit::limits::max_rules_per_policy);
    std::string joined;
    for (const auto& r : *rules)
        joined += (joined.empty() ? "" : "; ") + to_string(r);
    demand(colimit::parse_rules(joined) == *rules);
    (void)result_of([&] { return colimit::policy{"fuzzed", *rules}; });
    return 0;
}
