// SPDX-License-Identifier: BSL-1.0
//
// Single parts, without sockets: the codec, the arithmetic, the queue of scripts and the in-process
// store. Shows the time of each part of a check, and the effect of a change to one part: in
// nanoseconds, in allocations, and with micro_instructions in instructions, which are reproducible.
//
//     build/benchmark/colimit_micro [--benchmark_filter=REGEX]

#include <colimit/adaptive_limit.hpp>
#include <colimit/limiter.hpp>
#include <core/evaluate.hpp>
#include <hash/fnv1a.hpp>
#include <hash/siphash.hpp>
#include <limiter/limiter_core.hpp>
#include <memory/store.hpp>
#include <policy/policy_data.hpp>
#include <redis/protocol/key.hpp>
#include <redis/protocol/resp.hpp>
#include <redis/script/script_queue.hpp>
#include <redis/script/wire.hpp>
#include <support/allocation_count.hpp>
#include <support/random_key.hpp>
#include <support/rules.hpp>
#include <support/stored_value.hpp>

#include <benchmark/benchmark.h>
#include <boost/asio/io_context.hpp>

#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <string>
#include <string_view>

namespace colimit::benchmark {
namespace {

using ::benchmark::DoNotOptimize;
using ::benchmark::State;

constexpr std::int64_t now = 1'750'000'000'000'000;
constexpr std::size_t batch_size = 96;
constexpr auto hour = std::chrono::hours{1};

/// Computes the cost per item of an iteration.
class tally {
  public:
    explicit tally(State& state, std::size_t items_per_iteration = 1)
        : state_(state), each_(static_cast<double>(items_per_iteration)),
          allocations_(allocation_count()) {}
    ~tally() {
        const auto allocations = static_cast<double>(allocation_count() - allocations_);
        const auto items = each_ * static_cast<double>(state_.iterations());
        state_.SetItemsProcessed(static_cast<std::int64_t>(items));
        state_.counters["allocs"] = items == 0 ? 0 : allocations / items;
        state_.counters["items"] = each_;
    }
    tally(const tally&) = delete;
    tally& operator=(const tally&) = delete;

  private:
    State& state_;
    double each_;
    std::uint64_t allocations_;
};

/// Runs the number of iterations that micro_instructions requests, once; otherwise as many as
/// stable figures need.
void with_repetitions(::benchmark::internal::Benchmark* b) {
    if (const auto* const times = std::getenv("COLIMIT_MICRO_ITERATIONS"))
        b->Iterations(std::strtoll(times, nullptr, 10));
}

/// Returns limits per minute, hour and day.
[[nodiscard]] policy three_rules() {
    using std::chrono::hours;
    return policy{"bench", gcra(1'000'000, hours{1}).named("a"),
                  gcra(10'000'000, hours{1}).named("b"), gcra(100'000'000, hours{24}).named("c")};
}

/// Of the first batch; one with ten digits, as all that follow it.
constexpr std::uint64_t first_nonce = 1'000'000'000;

/// Returns the reply of a server to a batch of one call per key, all of which exist.
[[nodiscard]] std::string reply_to(const policy& p, std::size_t keys) {
    auto state = core::key_state{};
    state.exists = true;
    for (auto i = std::size_t{0}; i < p.size(); ++i)
        state.states[i] = {.t = now - 1'000'000,
                           .debt = detail::access::data(p)->compiled.limits[i].num,
                           .num = detail::access::data(p)->compiled.limits[i].num,
                           .capacity = detail::access::data(p)->compiled.limits[i].capacity};
    const auto value =
        test::encode_value(detail::access::data(p)->compiled, state, now + 5'000'000);
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
    const auto counted = tally{state, batch_size};
    while (state.KeepRunning()) {
        DoNotOptimize(reply.feed(bytes));
        reply.next();
    }
}
BENCHMARK(decode_reply)->Apply(with_repetitions);

void encode_keys(State& state) {
    auto out = std::string{};
    const auto counted = tally{state, batch_size};
    while (state.KeepRunning()) {
        out.clear();
        for (auto i = std::size_t{0}; i < batch_size; ++i)
            redis::resp::append_bulk(out, "colimit:{0bx}:bench:k:user:1234567");
        DoNotOptimize(out.data());
    }
}
BENCHMARK(encode_keys)->Apply(with_repetitions);

/// Measures the digest of a key for the store and the deny cache, and its name on the server.
void digest_key(State& state) {
    const auto p = thousand_an_hour();
    auto key = std::string{"user:1234567"};
    const auto counted = tally{state};
    while (state.KeepRunning()) {
        DoNotOptimize(key.data());
        DoNotOptimize(detail::access::data(p)->digest(key));
    }
}
BENCHMARK(digest_key)->Apply(with_repetitions);

void name_key(State& state) {
    auto key = std::string{"user:1234567"};
    auto out = std::string{};
    auto names = redis::key_names{};
    const auto tags = redis::key_tags{};
    names.start("colimit", "bench", tags.text(0));
    const auto counted = tally{state};
    while (state.KeepRunning()) {
        DoNotOptimize(key.data());
        out.clear();
        names.append(out, key, tags.text(tags.of(key)));
        DoNotOptimize(out.data());
    }
}
BENCHMARK(name_key)->Apply(with_repetitions);

void evaluate(State& state, const policy& p) {
    auto held = core::key_state{};
    auto request = core::call_request{.now = now};
    auto answer = decision{};
    const auto counted = tally{state};
    while (state.KeepRunning()) {
        request.now += 4'000'000; // so that all is within the limits
        DoNotOptimize(core::evaluate(detail::access::data(p)->compiled, held, request, answer));
        held.exists = true;
        DoNotOptimize(answer);
    }
}
BENCHMARK_CAPTURE(evaluate, gcra, thousand_an_hour())->Apply(with_repetitions);
BENCHMARK_CAPTURE(evaluate, cell, cell(999, 1000, hour))->Apply(with_repetitions);
BENCHMARK_CAPTURE(evaluate, token_bucket, token_bucket(1000, 1000, hour))->Apply(with_repetitions);
BENCHMARK_CAPTURE(evaluate, leaky_bucket, leaky_bucket(1000, 1000, hour))->Apply(with_repetitions);
BENCHMARK_CAPTURE(evaluate, stepwise, gcra(1000, hour).stepwise())->Apply(with_repetitions);
BENCHMARK_CAPTURE(evaluate, fixed_window, fixed_window(1000, hour))->Apply(with_repetitions);
BENCHMARK_CAPTURE(evaluate, calendar, calendar(100'000, calendar_unit::day))
    ->Apply(with_repetitions);
BENCHMARK_CAPTURE(evaluate, sliding_window, sliding_window(1000, hour))->Apply(with_repetitions);
BENCHMARK_CAPTURE(evaluate, three_rules, three_rules())->Apply(with_repetitions);

struct plain_operation : detail::operation {
    explicit plain_operation(detail::limiter_core& core) : operation(core, nullptr) {}
};

/// Measures a full batch from the calls to their decisions, per call.
void batch_there_and_back(State& state, const policy& p) {
    auto context = boost::asio::io_context{1};
    auto core = detail::limiter_core{context.get_executor(), config{}, false};
    auto calls = std::deque<plain_operation>{};
    for (auto i = std::size_t{0}; i < batch_size; ++i)
        calls.emplace_back(core);
    auto queue = redis::script_queue{{.prefix = "colimit", .first_nonce = first_nonce}};
    auto bytes = reply_to(p, batch_size);
    auto* const nonce_digits = bytes.data() + bytes.rfind(std::to_string(first_nonce));
    auto reply = redis::resp::decoder{};
    auto out = std::string{};
    auto nonce = first_nonce;
    const auto counted = tally{state, batch_size};
    while (state.KeepRunning()) {
        for (auto i = std::uint32_t{0}; i < batch_size; ++i) {
            auto key = std::array<char, 12>{"user:10000"};
            key[8] = static_cast<char>('0' + i / 10);
            key[9] = static_cast<char>('0' + i % 10);
            if (queue.submit(calls[i], {key.data(), key.size()}, detail::access::data(p)))
                return state.SkipWithError("a call was not taken");
        }
        out.clear();
        queue.write(out, 0, 0);
        std::to_chars(nonce_digits, nonce_digits + 10, nonce++);
        (void)reply.feed(bytes);
        if (!queue.read_reply(reply, bytes))
            return state.SkipWithError("the reply was not taken");
        reply.next();
        while (const auto* done = queue.done.pop_front())
            if (done->ec || !done->result.allowed())
                return state.SkipWithError("a call was not allowed");
    }
}
BENCHMARK_CAPTURE(batch_there_and_back, one_rule, thousand_an_hour())->Apply(with_repetitions);
BENCHMARK_CAPTURE(batch_there_and_back, three_rules, three_rules())->Apply(with_repetitions);

void make_key(State& state) {
    auto keys = random_key{1'000'000, 1};
    const auto counted = tally{state};
    while (state.KeepRunning())
        DoNotOptimize(keys.next());
}
BENCHMARK(make_key)->Apply(with_repetitions);

void store_answer(State& state, const policy& p, std::uint32_t key_count) {
    auto store = memory::store{1'048'576};
    auto keys = random_key{key_count, 1};
    auto request = core::call_request{.now = now};
    auto answer = decision{};
    const auto counted = tally{state};
    while (state.KeepRunning()) {
        ++request.now;
        store.decide(keys.next(), *detail::access::data(p), request, answer);
        DoNotOptimize(answer);
    }
}
BENCHMARK_CAPTURE(store_answer, thousand_keys, bottomless(), 1'000)->Apply(with_repetitions);
BENCHMARK_CAPTURE(store_answer, million_keys, bottomless(), 1'000'000)->Apply(with_repetitions);
/// The kinds whose state is more than numbers are measured in a store, with few keys.
BENCHMARK_CAPTURE(store_answer, sliding_log, sliding_log(100, hour), 10)->Apply(with_repetitions);

/// Measures calls with ids, of which 100,000 are remembered at a time, or are known.
void store_answer_with_id(State& state, std::int64_t us_per_call) {
    auto store = memory::store{1'048'576, std::chrono::seconds{1}};
    auto keys = random_key{1'000, 1};
    auto ids = random_key{9'000'000, 2};
    const auto p = bottomless();
    const auto& data = *detail::access::data(p);
    auto request = core::call_request{.now = now, .has_id = true};
    auto answer = decision{};
    auto number = std::uint32_t{0};
    const auto counted = tally{state};
    while (state.KeepRunning()) {
        request.now += us_per_call;
        request.id = ids.text_of(us_per_call == 0 ? 0 : number++ % 8'000'000);
        const auto key = us_per_call == 0 ? std::string_view{"key"} : keys.next();
        if (store.decide_once(data.digest(key), data, request, answer) != detail::fault::none)
            return state.SkipWithError("a call was refused");
        DoNotOptimize(answer);
    }
}
BENCHMARK_CAPTURE(store_answer_with_id, known, 0)->Apply(with_repetitions);
BENCHMARK_CAPTURE(store_answer_with_id, unknown, 10)->Apply(with_repetitions);

/// Measures calls of a limiter in process, from the verb to the handler, per call.
void limiter_call(State& state, const config& settings) {
    auto context = boost::asio::io_context{1};
    auto limiter = colimit::limiter{context.get_executor(), settings};
    const auto p = bottomless();
    auto keys = random_key{1'000, 1};
    auto allowed = std::size_t{0};
    const auto counted = tally{state, batch_size};
    while (state.KeepRunning()) {
        for (std::size_t i = 0; i < batch_size; ++i)
            limiter.allow(keys.next(), p,
                          [&](error_code, const decision& d) { allowed += d.allowed() ? 1U : 0U; });
        context.restart();
        context.run();
    }
    DoNotOptimize(allowed);
}
BENCHMARK_CAPTURE(limiter_call, plain, config{})->Apply(with_repetitions);

/// Measures an admission and its report, with the steady clock.
void adaptive_call(State& state, adaptive_algorithm algorithm) {
    auto limit = adaptive_limit{{.algorithm = algorithm}};
    const auto counted = tally{state};
    while (state.KeepRunning()) {
        const auto work = limit.try_acquire();
        DoNotOptimize(static_cast<bool>(work));
    }
}
BENCHMARK_CAPTURE(adaptive_call, gradient2, adaptive_algorithm::gradient2)->Apply(with_repetitions);
BENCHMARK_CAPTURE(adaptive_call, brpc, adaptive_algorithm::brpc)->Apply(with_repetitions);

/// With counters per policy.
[[nodiscard]] config counted() {
    auto c = config{};
    c.counted_policies = 100;
    return c;
}
BENCHMARK_CAPTURE(limiter_call, counted, counted())->Apply(with_repetitions);

/// With an audit log of every 1,000th grant.
[[nodiscard]] config audited() {
    auto c = config{};
    c.advanced.audit_sampling.allowed = 1'000;
    c.on_decision = [](const audit_record& r) { DoNotOptimize(r.key_size); };
    return c;
}
BENCHMARK_CAPTURE(limiter_call, audited, audited())->Apply(with_repetitions);

} // namespace
} // namespace colimit::benchmark

BENCHMARK_MAIN();
