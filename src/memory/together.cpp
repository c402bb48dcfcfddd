// SPDX-License-Identifier: BSL-1.0
//
// First everybody is asked; what all of them allow is then charged. Nothing comes between.

#include <memory/together.hpp>

#include <algorithm>

namespace colimit::memory {
namespace {

void answer(store& s, check& c, detail::verb v, std::int64_t now) {
    auto asked = detail::ask(v, c.options);
    asked.now = now;
    s.answer(c.key, *c.policy.data(), asked, c.result);
    c.ec = {};
}

} // namespace

decision answer_together(store& s, std::span<check> checks, std::int64_t now) {
    for (auto& c : checks)
        answer(s, c, detail::verb::peek, now);
    const auto all = std::ranges::all_of(checks, [](const check& c) { return c.result.allowed(); });
    for (auto& c : checks) {
        if (all)
            answer(s, c, detail::verb::allow, now);
        else
            c.result.granted = 0;
    }
    const auto binding = std::ranges::max_element(checks, [](const check& a, const check& b) {
        return core::binds_more(b.result, a.result);
    });
    return binding->result;
}

} // namespace colimit::memory
