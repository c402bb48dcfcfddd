// SPDX-License-Identifier: BSL-1.0
//
// Nanoseconds of single parts, without sockets: the codec, the arithmetic, the batcher and the
// in-process store. Where the time of a whole check goes, and what a change to one part is worth.
//
//     build/benchmark/colimit_micro [--benchmark_filter=REGEX]

#include <core/evaluate.hpp>
#include <engine/memory_engine.hpp>
#include <memory/store.hpp>
#include <policy_data.hpp>
#include <redis/batcher.hpp>
#include <redis/resp.hpp>
#include <redis/wire.hpp>
#include <support/random_key.hpp>
#include <support/rules.hpp>

#include <benchmark/benchmark.h>
#include <boost/asio/io_context.hpp>

#include <array>
#include <charconv>
#include <cstdint>
#include <deque>
#include <string>

namespace colimit::benchmark {
namespace {

using ::benchmark::DoNotOptimize;
using ::benchmark::State;

constexpr std::int64_t now = 1'750'000'000'000'000;
constexpr std::size_t batch_size = 96;

/// A minute's, an hour's and a day's limit.
[[nodiscard]] policy three_rules() {
    using std::chrono::hours;
    return policy{"bench", gcra(1'000'000, hours{1}).named("a"),
                  gcra(10'000'000, hours{1}).named("b"), gcra(100'000'000, hours{24}).named("c")};
}

/// Of the first batch; one with ten digits, as all that follow it.
constexpr std::uint64_t first_nonce = 1'000'000'000;

/// What a server answers to a batch of one call on each of so many keys, all of them known to it.
[[nodiscard]] std::string reply_to(const policy& p, std::size_t keys) {
    auto state = core::key_state{};
    state.exists = true;
    for (auto i = std::size_t{0}; i < p.size(); ++i)
        state.states[i] = {.t = now - 1'000'000,
                           .debt = p.data()->plan.limits[i].num,
                           .num = p.data()->plan.limits[i].num,
                           .capacity = p.data()->plan.limits[i].capacity};
    const auto value = redis::encode_value(p.data()->plan, state, now + 5'000'000);
    auto reply = std::string{};
    redis::resp::append_array(reply, keys + 1);
    for (auto i = std::size_t{0}; i < keys; ++i)
        redis::resp::append_bulk(reply, value);
    redis::resp::append_bulk(reply, std::to_string(first_nonce) + " 1750000000 0 " +
                                        std::to_string(keys) + " -");
    return reply;
}

void decode_reply(State& state) {
    const auto bytes = reply_to(thousand_an_hour(), batch_size);
    auto reply = redis::resp::decoder{};
    while (state.KeepRunning()) {
        DoNotOptimize(reply.feed(bytes));
        reply.next();
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(batch_size));
}
BENCHMARK(decode_reply);

void encode_keys(State& state) {
    auto out = std::string{};
    while (state.KeepRunning()) {
        out.clear();
        for (auto i = std::size_t{0}; i < batch_size; ++i)
            redis::resp::append_bulk(out, "colimit:{0bx}:bench:k:user:1234567");
        DoNotOptimize(out.data());
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(batch_size));
}
BENCHMARK(encode_keys);

void evaluate(State& state, const policy& p) {
    auto held = core::key_state{};
    auto asked = core::question{.now = now};
    auto answer = decision{};
    while (state.KeepRunning()) {
        asked.now += 20'000;
        DoNotOptimize(core::evaluate(p.data()->plan, held, asked, answer));
        held.exists = true;
        DoNotOptimize(answer);
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(evaluate, one_rule, thousand_an_hour());
BENCHMARK_CAPTURE(evaluate, three_rules, three_rules());

struct plain_operation : detail::operation {
    explicit plain_operation(detail::engine& e) : operation(e, nullptr) {}
};

/// A full batch from the calls to their decisions, in items of one call.
void batch_there_and_back(State& state, const policy& p) {
    auto context = boost::asio::io_context{1};
    auto engine = detail::memory_engine{context.get_executor(), 1};
    auto calls = std::deque<plain_operation>{};
    for (auto i = std::size_t{0}; i < batch_size; ++i)
        calls.emplace_back(engine);
    auto batcher = redis::batcher{{.prefix = "colimit", .first_nonce = first_nonce}};
    auto bytes = reply_to(p, batch_size);
    auto* const nonce_digits = bytes.data() + bytes.rfind(std::to_string(first_nonce));
    auto reply = redis::resp::decoder{};
    auto out = std::string{};
    auto nonce = first_nonce;
    while (state.KeepRunning()) {
        for (auto i = std::uint32_t{0}; i < batch_size; ++i) {
            auto key = std::array<char, 12>{"user:10000"};
            key[8] = static_cast<char>('0' + i / 10);
            key[9] = static_cast<char>('0' + i % 10);
            if (batcher.submit(calls[i], {key.data(), key.size()}, p.data()))
                return state.SkipWithError("a call was not taken");
        }
        out.clear();
        batcher.write(out, 0, 0);
        std::to_chars(nonce_digits, nonce_digits + 10, nonce++);
        (void)reply.feed(bytes);
        if (!batcher.read_reply(reply, bytes))
            return state.SkipWithError("the reply was not taken");
        reply.next();
        while (const auto* done = batcher.done.pop_front())
            if (done->ec || !done->result.allowed())
                return state.SkipWithError("a call was not allowed");
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(batch_size));
}
BENCHMARK_CAPTURE(batch_there_and_back, one_rule, thousand_an_hour());
BENCHMARK_CAPTURE(batch_there_and_back, three_rules, three_rules());

void make_key(State& state) {
    auto keys = random_key{1'000'000, 1};
    while (state.KeepRunning())
        DoNotOptimize(keys.next());
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(make_key);

void store_answer(State& state) {
    auto store = memory::store{1'048'576};
    const auto p = bottomless();
    auto keys = random_key{static_cast<std::uint32_t>(state.range(0)), 1};
    auto asked = core::question{.now = now};
    auto answer = decision{};
    while (state.KeepRunning()) {
        ++asked.now;
        store.answer(keys.next(), *p.data(), asked, answer);
        DoNotOptimize(answer);
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(store_answer)->Arg(1'000)->Arg(1'000'000);

} // namespace
} // namespace colimit::benchmark

BENCHMARK_MAIN();
