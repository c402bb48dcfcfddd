// SPDX-License-Identifier: BSL-1.0
//
// How many decisions per second does one core make in process, by plain calls? memory_hot: a
// thousand keys, all in the cache. memory_uniform: a million, where each call waits for memory.

#include <scenarios.hpp>
#include <support/meter.hpp>
#include <support/random_key.hpp>
#include <support/rules.hpp>

#include <colimit/local_limiter.hpp>

#include <chrono>
#include <stdexcept>
#include <string>

namespace colimit::benchmark {
namespace {

using std::chrono::steady_clock;

/// The number of calls between two readings of the clock.
constexpr std::uint64_t in_a_row = 1024;

constexpr std::uint32_t hot_keys = 1'000;

[[nodiscard]] std::string name_of(std::uint32_t number) {
    return "user:" + std::to_string(random_key::first + number);
}

[[nodiscard]] measurement measure(std::uint32_t key_count, const conditions& c) {
    auto limited = local_limiter{};
    const auto p = bottomless();
    // Drawn at random, the last of a million keys would come after fourteen million calls.
    for (auto i = std::uint32_t{0}; i < key_count; ++i)
        (void)limited.allow(name_of(i), p);
    auto keys = random_key{key_count, 1};
    auto refused = std::uint64_t{0};
    const auto ask_in_a_row = [&] {
        for (auto i = std::uint64_t{0}; i < in_a_row; ++i)
            refused += limited.allow(keys.next(), p).allowed() ? 0U : 1U;
    };
    for (auto done = std::uint64_t{0}; done < c.warm_up; done += in_a_row)
        ask_in_a_row();

    const auto spent = meter{};
    const auto end = steady_clock::now() + std::chrono::duration<double>{c.seconds};
    auto checks = std::uint64_t{0};
    for (; steady_clock::now() < end; checks += in_a_row)
        ask_in_a_row();
    const auto m = spent.read(checks);

    const auto s = limited.statistics();
    if (refused != 0 || s.overflowed != 0 || s.states != key_count)
        throw std::runtime_error{std::to_string(refused) + " refused, " +
                                 std::to_string(s.overflowed) + " without a state, " +
                                 std::to_string(s.states) + " states"};
    return m;
}

} // namespace

measurement memory_uniform(const conditions& c) {
    return measure(1'000'000, c);
}

measurement memory_hot(const conditions& c) {
    return measure(hot_keys, c);
}

} // namespace colimit::benchmark
