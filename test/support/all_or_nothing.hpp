// SPDX-License-Identifier: BSL-1.0
//
// A call for several keys of the in-process store, and its invariant: all are granted in full, or
// none is and the store's decision about each key is unchanged.

#pragma once

#include <memory/store.hpp>
#include <support/decision_text.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace colimit::test {

[[nodiscard]] inline decision ask(memory::store& s, const core::call_request& q,
                                  std::string_view key, const policy& p) {
    auto d = decision{};
    s.decide(key, *detail::access::data(p), q, d);
    return d;
}

/// Returns the store's decision for each check on its own.
[[nodiscard]] inline std::vector<decision>
peek_all(memory::store& s, std::span<const check_item> checks, std::int64_t now) {
    auto said = std::vector<decision>{};
    for (const auto& c : checks) {
        auto q = detail::make_request(detail::verb::peek, c.options);
        q.now = now;
        said.push_back(ask(s, q, c.key, c.policy));
    }
    return said;
}

/// Returns whether all were granted; otherwise none was.
inline bool was_granted(std::span<const check_item> checks, std::span<const decision> before) {
    const auto is_granted = [](const check_item& c) {
        return c.result.allowed() && c.result.granted == c.options.cost;
    };
    if (std::ranges::all_of(checks, [](const check_item& c) { return c.result.allowed(); })) {
        BOOST_TEST(std::ranges::all_of(checks, is_granted));
        BOOST_TEST(std::ranges::all_of(before, &decision::allowed));
        return true;
    }
    BOOST_TEST(
        std::ranges::all_of(checks, [](const check_item& c) { return c.result.granted == 0; }));
    return false;
}

inline void check_unchanged(memory::store& s, std::span<const check_item> checks,
                            std::span<const decision> before, std::int64_t now) {
    const auto after = peek_all(s, checks, now);
    for (std::size_t i = 0; i < after.size(); ++i)
        BOOST_TEST((after[i] == before[i]),
                   "a denial has changed " << checks[i].key << " of " << checks[i].policy.name());
}

/// All are granted in full, or nothing is and nothing has changed. Returns whether they were.
inline bool answer_and_check(memory::store& s, std::span<check_item> checks, std::int64_t now) {
    const auto before = peek_all(s, checks, now);
    const auto together = s.allow_all(checks, now);
    const auto granted = was_granted(checks, before);
    BOOST_TEST(together.allowed() == granted);
    if (!granted)
        check_unchanged(s, checks, before, now);
    return granted;
}

} // namespace colimit::test
