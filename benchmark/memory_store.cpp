// SPDX-License-Identifier: BSL-1.0
//
// How many decisions a second does one core make in process, by plain calls? memory_hot: a thousand
// keys, all in the cache. memory_prepared: the same keys, each prepared once, as the connections of
// a server would. memory_uniform: a million, where each call waits for memory.

#include <questions.hpp>
#include <support/meter.hpp>
#include <support/random_key.hpp>
#include <support/rules.hpp>

#include <colimit/local_limiter.hpp>
#include <colimit/prepared_key.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace colimit::benchmark {
namespace {

using std::chrono::steady_clock;

/// How many calls are made between two looks at the clock.
constexpr std::uint64_t row = 1024;

constexpr std::uint32_t hot_keys = 1'000;

[[nodiscard]] std::string name_of(std::uint32_t number) {
    return "user:" + std::to_string(random_key::first + number);
}

/// @param allow makes one call
template<class Allow>
[[nodiscard]] std::uint64_t refused_in_a_row(const Allow& allow) {
    auto refused = std::uint64_t{0};
    for (auto i = std::uint64_t{0}; i < row; ++i)
        refused += allow().allowed() ? 0U : 1U;
    return refused;
}

/// @param make_calls makes such a function of the limiter, the policy and the draws
template<class MakeCalls>
[[nodiscard]] measurement measure(std::uint32_t key_count, const conditions& c,
                                  const MakeCalls& make_calls) {
    auto asked = local_limiter{};
    const auto p = bottomless();
    // Drawn at random, the last of a million keys would come after fourteen million calls.
    for (auto i = std::uint32_t{0}; i < key_count; ++i)
        (void)asked.allow(name_of(i), p);
    auto keys = random_key{key_count, 1};
    const auto allow = make_calls(asked, p, keys);
    auto refused = std::uint64_t{0};
    for (auto done = std::uint64_t{0}; done < c.warm_up; done += row)
        refused += refused_in_a_row(allow);

    const auto spent = meter{};
    const auto end = steady_clock::now() + std::chrono::duration<double>{c.seconds};
    auto checks = std::uint64_t{0};
    for (; steady_clock::now() < end; checks += row)
        refused += refused_in_a_row(allow);
    const auto m = spent.read(checks);

    const auto s = asked.statistics();
    if (refused != 0 || s.overflowed != 0 || s.states != key_count)
        throw std::runtime_error{std::to_string(refused) + " refused, " +
                                 std::to_string(s.overflowed) + " without a state, " +
                                 std::to_string(s.states) + " states"};
    return m;
}

[[nodiscard]] auto plain_calls(local_limiter& asked, const policy& p, random_key& keys) {
    return [&] { return asked.allow(keys.next(), p); };
}

[[nodiscard]] auto prepared_calls(local_limiter& asked, const policy& p, random_key& keys) {
    auto prepared = std::vector<prepared_key>{};
    for (auto i = std::uint32_t{0}; i < hot_keys; ++i)
        prepared.emplace_back(name_of(i), p);
    return
        [&, prepared = std::move(prepared)] { return asked.allow(prepared[keys.next_number()]); };
}

} // namespace

measurement memory_uniform(const conditions& c) {
    return measure(1'000'000, c, plain_calls);
}

measurement memory_hot(const conditions& c) {
    return measure(hot_keys, c, plain_calls);
}

measurement memory_prepared(const conditions& c) {
    return measure(hot_keys, c, prepared_calls);
}

} // namespace colimit::benchmark
