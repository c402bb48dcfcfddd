// SPDX-License-Identifier: BSL-1.0
//
// Any bytes as a document of policies, alone or with routes: they are an error with a printable
// reason, or they are policies whose document gives them back, and routes that may all count and
// decide each of their requests.

#include <colimit/error.hpp>
#include <colimit/json.hpp>
#include <colimit/limits.hpp>
#include <colimit/policy_document.hpp>
#include <policy_json/document.hpp>
#include <support/decided_document.hpp>

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

/// Returns what `parse` makes, or nullopt if it refuses the text as it should.
template<class Parse>
auto made_by(Parse parse) -> std::optional<decltype(parse())> {
    try {
        return parse();
    } catch (const colimit::error& e) {
        demand(e.code() == colimit::errc::invalid_policy && !e.reason().empty());
        demand(e.reason().size() < 1'024);
        demand(std::ranges::all_of(e.reason(), [](char c) { return c >= 0x20 && c < 0x7f; }));
        return std::nullopt;
    }
}

void check(const colimit::policy_document& d, const std::string& text) {
    demand(d.policies().size() <= colimit::limits::max_policies);
    for (const auto& p : d.policies())
        demand(d.find(p.name()) != nullptr && d.find(p.name())->limit == p);
    for (std::size_t i = 0; i < d.routes().size(); ++i) {
        demand(d.routes().hidden_by(i).empty());
        for (const auto& k : d.policies_of(i))
            demand(k.limit == d.find(k.limit.name())->limit &&
                   k.key == d.find(k.limit.name())->key);
    }
    demand(!colimit::test::undecided_route(d));
    const auto version = d.version().value_or(7);
    const auto copy = colimit::json::with_version(text, version);
    demand(copy.size() > colimit::limits::max_json_bytes ||
           colimit::parse_policy_document(copy).version() == version);
}

} // namespace

// The name and type are libFuzzer's.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto input = std::string{data, data + size};
    const auto document = made_by([&] { return colimit::parse_policy_document(input); });
    if (document)
        check(*document, input);
    const auto policies = made_by([&] { return colimit::parse_policies(input); });
    if (!policies)
        return 0;
    demand(document && document->policies() == *policies);
    demand(policies->size() <= colimit::limits::max_policies);
    const auto text = to_json(*policies);
    demand(colimit::parse_policies(text) == *policies);
    return 0;
}
