// SPDX-License-Identifier: BSL-1.0
//
// Of the calls with one id, the answer of the store stands for all; without one the id may have
// been charged, if this is true of one of them.

#include "request_checker.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace colimit::oracle {
namespace {

[[nodiscard]] bool has_answer(const sent_request& r) noexcept {
    return r.what.verdict == verdict::granted || r.what.verdict == verdict::refused;
}

/// @param calls with one id
void add_id(std::span<const sent_request> calls, std::vector<record>& ids, request_judgement& j) {
    const auto answer = std::ranges::find_if(calls, has_answer);
    j.answered += std::ranges::count_if(calls, has_answer);
    if (std::ranges::any_of(
            calls, [&](const auto& c) { return has_answer(c) && c.answer != answer->answer; }))
        ++j.different;
    const auto unknown =
        std::ranges::find(calls, verdict::unknown, [](const auto& c) { return c.what.verdict; });
    ids.push_back(answer != calls.end()    ? answer->what
                  : unknown != calls.end() ? unknown->what
                                           : calls.front().what);
}

} // namespace

request_judgement judge(std::vector<sent_request> all, const totals& executed) {
    auto j = request_judgement{.sent = static_cast<std::int64_t>(all.size())};
    std::ranges::sort(all, {}, &sent_request::id);
    auto ids = std::vector<record>{};
    for (auto begin = all.begin(); begin != all.end();) {
        const auto end =
            std::ranges::upper_bound(begin, all.end(), begin->id, {}, &sent_request::id);
        add_id({begin, end}, ids, j);
        begin = end;
    }
    j.ids = judge(std::move(ids), {}, executed);
    return j;
}

void add(request_judgement& to, const request_judgement& more) {
    add(to.ids, more.ids);
    to.sent += more.sent;
    to.answered += more.answered;
    to.different += more.different;
}

} // namespace colimit::oracle
