// SPDX-License-Identifier: BSL-1.0
//
// Ever smaller pieces are left out, until no single one can be: first of the steps, then of the
// calls of each step, then rules of the policies; and again, while that helped.

#include "shrink.hpp"

#include <policy/policy_data.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace colimit::differential {
namespace {

/// Leaves out what it can of a row of `size` pieces; `without(first, last)` is the history without
/// those, and `take` keeps it if it fails.
template<class Without, class Take>
void leave_out(std::size_t size, Without without, Take take) {
    for (auto piece = size; piece > 0; piece /= 2)
        for (auto end = size; end > 0;) {
            const auto first = end > piece ? end - piece : 0;
            if (take(without(first, end)))
                size -= end - first;
            end = first;
        }
}

template<class T>
void erase(std::vector<T>& row, std::size_t first, std::size_t last) {
    const auto at = [&](std::size_t i) { return row.begin() + static_cast<std::ptrdiff_t>(i); };
    row.erase(at(first), at(std::min(last, row.size())));
}

} // namespace

history shrink(history h, const std::function<bool(const history&)>& fails) {
    const auto take = [&](history smaller) {
        if (smaller.steps.empty() || !fails(smaller))
            return false;
        h = std::move(smaller);
        return true;
    };
    const auto size_of = [&] { return h.steps.size() + h.calls(); };
    for (auto before = size_of() + 1; size_of() < before;) {
        before = size_of();
        leave_out(
            h.steps.size(),
            [&](std::size_t first, std::size_t last) {
                auto smaller = h;
                erase(smaller.steps, first, last);
                return smaller;
            },
            take);
        for (std::size_t i = 0; i < h.steps.size(); ++i)
            leave_out(
                h.steps[i].calls.size(),
                [&](std::size_t first, std::size_t last) {
                    auto smaller = h;
                    erase(smaller.steps[i].calls, first, last);
                    if (smaller.steps[i].calls.empty())
                        smaller.steps.clear();
                    return smaller;
                },
                take);
    }
    for (std::size_t v = 0; v < h.versions.size(); ++v)
        for (auto i = h.versions[v].size(); i-- > 0 && h.versions[v].size() > 1;) {
            auto smaller = h;
            auto rules =
                std::vector<rule>(h.versions[v].rules().begin(), h.versions[v].rules().end());
            if (rules[i].kind() == algorithm::concurrent) // its verbs are for no other policy
                continue;
            erase(rules, i, i + 1);
            smaller.versions[v] = policy{h.versions[v].name(), rules}.with_storage(
                detail::access::options(h.versions[v]).storage);
            (void)take(std::move(smaller));
        }
    return h;
}

} // namespace colimit::differential
