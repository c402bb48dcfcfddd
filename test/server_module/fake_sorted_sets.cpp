// SPDX-License-Identifier: BSL-1.0
//
// Commands on sorted sets.

#include <server_module/fake_commands.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

namespace colimit::test::fake {
namespace {

constexpr auto zadd_options = std::array<std::string_view, 5>{"NX", "XX", "LT", "GT", "CH"};

[[nodiscard]] bool is_zadd_option(std::string_view word) {
    return std::ranges::find(zadd_options, word) != zadd_options.end();
}

[[nodiscard]] double score_in(const std::string& text, const char* error) {
    auto number = 0.0;
    const auto* first = text.data() + (text.starts_with('+') ? 1 : 0);
    const auto* end = text.data() + text.size();
    if (const auto [at, code] = std::from_chars(first, end, number);
        code != std::errc{} || at != end || std::isnan(number))
        throw command_error{error};
    return number;
}

/// A bound of a range of scores: `(` excludes it.
struct bound {
    double score;
    bool is_excluded;
};

[[nodiscard]] bound bound_in(const std::string& text) {
    const auto is_excluded = text.starts_with('(');
    return {score_in(text.substr(is_excluded ? 1 : 0), "ERR min or max is not a float"),
            is_excluded};
}

} // namespace

sorted_set::iterator commands::place_of(sorted_set& in, const std::string& member) {
    return std::ranges::find(in, member, &sorted_set::value_type::second);
}

/// One entry or several, with options. An error changes nothing.
reply commands::zadd() {
    auto option = std::set<std::string>{};
    auto first = std::size_t{2};
    for (; is_zadd_option(upper(w[first])) && first + 1 < w.size(); ++first)
        option.insert(upper(w[first]));
    if ((w.size() - first) % 2 != 0 || first == w.size())
        throw command_error{"ERR syntax error"};
    for (auto i = first; i < w.size(); i += 2)
        (void)score_in(w[i], "ERR value is not a valid float");
    if (option.contains("XX") && get<sorted_set>(w[1]) == nullptr)
        return number_reply(0);
    auto& to = get_or_create<sorted_set>(w[1]);
    auto added = std::int64_t{0};
    auto changed = std::int64_t{0};
    for (auto i = first; i < w.size(); i += 2) {
        const auto score = score_in(w[i], "ERR value is not a valid float");
        const auto old = place_of(to, w[i + 1]);
        const auto is_new = old == to.end();
        if (option.contains(is_new ? "XX" : "NX") ||
            (!is_new && ((option.contains("LT") && score >= old->first) ||
                         (option.contains("GT") && score <= old->first))))
            continue;
        changed += is_new || old->first != score ? 1 : 0;
        added += is_new ? 1 : 0;
        if (!is_new)
            to.erase(old);
        auto entry = sorted_set::value_type{score, w[i + 1]};
        to.insert(std::ranges::upper_bound(to, entry), std::move(entry));
    }
    erase_if_empty(w[1], to);
    return number_reply(option.contains("CH") ? changed : added);
}

reply commands::zrem() {
    auto* from = get<sorted_set>(w[1]);
    auto gone = std::int64_t{0};
    for (std::size_t i = 2; from != nullptr && i < w.size(); ++i)
        if (const auto place = place_of(*from, w[i]); place != from->end()) {
            from->erase(place);
            ++gone;
        }
    if (from != nullptr)
        erase_if_empty(w[1], *from);
    return number_reply(gone);
}

commands::entries commands::by_score(sorted_set& in, const std::string& least,
                                     const std::string& most) {
    const auto low = bound_in(least);
    const auto high = bound_in(most);
    const auto first = std::ranges::partition_point(in, [&](const auto& e) {
        return low.is_excluded ? e.first <= low.score : e.first < low.score;
    });
    const auto last = std::partition_point(first, in.end(), [&](const auto& e) {
        return high.is_excluded ? e.first < high.score : e.first <= high.score;
    });
    return {first, last};
}

commands::entries commands::by_rank(sorted_set& in, const std::string& from,
                                    const std::string& to) {
    const auto size = static_cast<std::int64_t>(in.size());
    auto first = integer_in(from);
    auto last = integer_in(to);
    first = std::max<std::int64_t>(0, first < 0 ? first + size : first);
    last = std::min(size - 1, last < 0 ? last + size : last);
    if (first > last)
        return {in.end(), in.end()};
    return {in.begin() + first, in.begin() + last + 1};
}

reply commands::remove(sorted_set* from,
                       entries (*find)(sorted_set&, const std::string&, const std::string&)) {
    auto none = sorted_set{};
    const auto [first, last] = find(from == nullptr ? none : *from, w[2], w[3]);
    const auto gone = last - first;
    if (from != nullptr) {
        from->erase(first, last);
        erase_if_empty(w[1], *from);
    }
    return number_reply(gone);
}
reply commands::zremrangebyscore() {
    return remove(get<sorted_set>(w[1]), by_score);
}
reply commands::zremrangebyrank() {
    return remove(get<sorted_set>(w[1]), by_rank);
}

reply commands::zscore() {
    auto* found = get<sorted_set>(w[1]);
    if (found == nullptr)
        return {};
    const auto place = place_of(*found, w[2]);
    return place == found->end() ? reply{} : text_reply(score_text(place->first));
}

reply commands::zcard() {
    const auto* found = get<sorted_set>(w[1]);
    return number_reply(found == nullptr ? 0 : static_cast<std::int64_t>(found->size()));
}

reply commands::zcount() {
    auto none = sorted_set{};
    auto* found = get<sorted_set>(w[1]);
    const auto [first, last] = by_score(found == nullptr ? none : *found, w[2], w[3]);
    return number_reply(last - first);
}

reply commands::listed(entries of, bool with_scores) {
    auto all = reply{.kind = reply_kind::array};
    for (auto at = of.first; at != of.second; ++at) {
        all.elements.push_back(text_reply(at->second));
        if (with_scores)
            all.elements.push_back(text_reply(score_text(at->first)));
    }
    return all;
}

reply commands::zrange() {
    auto none = sorted_set{};
    auto* found = get<sorted_set>(w[1]);
    return listed(by_rank(found == nullptr ? none : *found, w[2], w[3]),
                  w.size() == 5 && upper(w[4]) == "WITHSCORES");
}

reply commands::zrevrange() {
    auto newest_first = sorted_set{};
    if (const auto* found = get<sorted_set>(w[1]))
        newest_first.assign(found->rbegin(), found->rend());
    return listed(by_rank(newest_first, w[2], w[3]), w.size() == 5 && upper(w[4]) == "WITHSCORES");
}

/// Perhaps with `LIMIT 0 count`.
reply commands::zrangebyscore() {
    auto none = sorted_set{};
    auto* found = get<sorted_set>(w[1]);
    auto [first, last] = by_score(found == nullptr ? none : *found, w[2], w[3]);
    if (w.size() == 7)
        last = first + std::min(last - first, integer_in(w[6]));
    return listed({first, last}, false);
}

} // namespace colimit::test::fake
