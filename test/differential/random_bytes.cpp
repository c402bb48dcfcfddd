// SPDX-License-Identifier: BSL-1.0
//
// The first field of a value, until when its key surely lives, always promises nothing: a false
// promise of another client would be kept, and then a true state would be lost.

#include "random_bytes.hpp"

#include <colimit/limits.hpp>
#include <core/rule_kind.hpp>
#include <core/state_encoding.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

namespace colimit::differential {
namespace {

constexpr auto most = static_cast<double>(limits::max_exact_integer);

struct slot {
    std::uint32_t tag;
    double numbers[4]; ///< t debt num capacity
};

template<class T>
void append(std::string& out, T value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    out.append(bytes, sizeof value);
}

[[nodiscard]] double promise_of_nothing(test::rng& d) {
    constexpr double values[] = {0, -1, 0.5, std::numeric_limits<double>::quiet_NaN(),
                                 std::numeric_limits<double>::infinity()};
    return d.pick(values);
}

[[nodiscard]] double no_number(test::rng& d) {
    constexpr double values[] = {-1,
                                 -0.0,
                                 0,
                                 0.5,
                                 most,
                                 most + 1,
                                 1e300,
                                 -1e300,
                                 5e-324,
                                 most - 0.5,
                                 std::numeric_limits<double>::quiet_NaN(),
                                 std::numeric_limits<double>::infinity()};
    return d.pick(values);
}

[[nodiscard]] slot random_slot(test::rng& d, const core::compiled_rule& b, std::int64_t now) {
    const auto length = b.kind == core::kind::calendar ? 86'400'000'000 : b.period * b.unit;
    const auto ends = b.period != 0 && d.percent(50); // a window that has not ended
    const auto t = ends            ? now + d.between(0, 2 * length)
                   : d.percent(60) ? std::max<std::int64_t>(0, now - d.magnitude(1'000'000'000))
                   : d.percent(50)
                       ? now
                       : std::min(limits::max_exact_integer, now + d.magnitude(1LL << 50));
    const auto debt =
        d.percent(70) ? d.between(0, b.debt_limit) : d.magnitude(limits::max_exact_integer);
    const auto same = d.percent(60);
    const auto own = b.kind == core::kind::counter ? length : b.num;
    const auto num = same ? own : d.magnitude(limits::max_exact_integer);
    const auto capacity =
        same || d.percent(50) ? b.capacity : d.magnitude(limits::max_exact_integer);
    const auto as_double = [](std::int64_t n) { return static_cast<double>(n); };
    return {b.tag, {as_double(t), as_double(debt), as_double(num), as_double(capacity)}};
}

[[nodiscard]] slot random_block(test::rng& d, std::int64_t now) {
    const auto longest = limits::max_recovery.count();
    const auto length = d.percent(50) ? longest + d.between(-1, 1) : d.magnitude(2 * longest);
    return {core::block_tag, {static_cast<double>(now), static_cast<double>(length), 1, 1}};
}

[[nodiscard]] std::vector<slot> random_slots(test::rng& d, const core::compiled_policy& rules,
                                             std::int64_t now) {
    auto slots = std::vector<slot>{};
    for (const auto& b : rules.all())
        slots.push_back(random_slot(d, b, now));
    const auto some = [&]() -> slot& { return slots[d.below(slots.size())]; };
    if (d.percent(50)) // as one call leaves them
        for (auto& s : slots)
            s.numbers[0] = slots.front().numbers[0];
    if (d.percent(10)) // until when the key is blocked, or no longer than that can be
        slots.push_back(random_block(d, now));
    if (d.percent(40))
        some().numbers[d.below(4)] = no_number(d);
    if (d.percent(5)) // together a whole number
        for (auto& number : std::span{some().numbers}.first(2))
            number += 0.5;
    if (d.percent(15))
        some().tag = d.percent(50) ? some().tag : static_cast<std::uint32_t>(d.bits());
    if (d.percent(15))
        slots.push_back(some());
    if (d.percent(5)) // as many as a value may have, one more or one less
        slots.resize(core::max_states + d.below(3), slot{some()});
    if (d.percent(5))
        slots.clear();
    else if (d.percent(15))
        slots.pop_back();
    if (d.percent(15))
        d.shuffle(slots);
    return slots;
}

} // namespace

std::string random_bytes(test::rng& d, const core::compiled_policy& rules, std::int64_t now) {
    auto out = std::string{};
    if (d.percent(20)) {
        for (auto left = d.below(400); left > 0; --left)
            out += static_cast<char>(d.bits());
        return out;
    }
    const auto slots = random_slots(d, rules, now);
    if (rules.packed && !slots.empty() && d.percent(60)) { // brief, or it would be
        append(out, slots.front().numbers[0]);
        append(out, slots.front().numbers[1]);
        return out;
    }
    append(out, promise_of_nothing(d));
    for (const auto& s : slots) {
        append(out, s.tag);
        for (const auto number : std::span{s.numbers}.last(2))
            append(out, number);
    }
    for (const auto& s : slots)
        for (const auto number : std::span{s.numbers}.first(2))
            append(out, number);
    if (d.percent(5))
        out += '\0';
    if (d.percent(10))
        out.resize(out.size() - std::min(out.size(), d.below(50)));
    if (d.percent(10) && out.size() > 8)
        out[8 + d.below(out.size() - 8)] ^= static_cast<char>(1U << d.below(8));
    return out;
}

} // namespace colimit::differential
