// SPDX-License-Identifier: BSL-1.0
//
// Values of every size and type under every name that a key has. Only calls for this key are
// affected: those for other keys in the same batch succeed, and the connection stays.

#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <colimit/bloom_filter.hpp>
#include <core/log_value.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::foreign_sizes_test {
namespace {

using namespace colimit::test;
using namespace std::chrono_literals;

constexpr std::size_t sizes[] = {0, 1, 43, 44, 45, 368, 369, 65'535, 65'536, 65'537, 1 << 20};
constexpr std::size_t long_size = 1 << 20;

enum class verb { allow, some, peek, charge, refund, reset, block, wait };
constexpr verb verbs[] = {verb::allow,  verb::some,  verb::peek,  verb::charge,
                          verb::refund, verb::reset, verb::block, verb::wait};

/// Names that keys with this word in them have on the server, and fields of hashes.
struct place {
    std::string name;
    std::optional<std::string> field;
};

[[nodiscard]] std::vector<place> places_of(raw_client& look, std::string_view word) {
    auto found = std::vector<place>{};
    for (const auto& name : look.keys()) {
        if (look.must({"TYPE", name}).text == "hash") {
            for (const auto& field : look.must({"HKEYS", name}).elements)
                if (field.text.empty() || field.text.find(word) != std::string::npos)
                    found.push_back({name, field.text});
        } else if (name.find(word) != std::string::npos) {
            found.push_back({name, std::nullopt});
        }
    }
    return found;
}

/// The last one is a string that begins as a log does, with bytes for events.
constexpr std::string_view types[] = {"string", "list", "hash", "set", "zset", "log"};

[[nodiscard]] std::string log_of(std::size_t size) {
    auto bytes = std::string{};
    core::append_log_head(bytes, {.longest = 3'600'000'000});
    return bytes.append(size - size % core::logged_event_bytes, '\1');
}

void plant(raw_client& look, const place& at, std::string_view type, std::size_t size) {
    const auto bytes = std::string(size, 'x');
    if (at.field) {
        look.must({"HSET", at.name, *at.field, bytes});
        return;
    }
    look.must({"DEL", at.name});
    if (type == "string")
        look.must({"SET", at.name, bytes});
    else if (type == "list")
        look.must({"RPUSH", at.name, bytes});
    else if (type == "hash")
        look.must({"HSET", at.name, "field", bytes});
    else if (type == "set")
        look.must({"SADD", at.name, bytes});
    else if (type == "zset")
        look.must({"ZADD", at.name, "-1.5", bytes, "inf", std::string(11, '\xff')});
    else
        look.must({"SET", at.name, log_of(size)});
}

struct results {
    std::vector<std::optional<error_code>> codes;

    explicit results(std::size_t calls) : codes(calls) {}
    auto into(std::size_t i) {
        return [this, i](error_code ec, const auto&...) { codes[i] = ec; };
    }
    void wait(live& l) {
        run_until(l.context, [&] {
            return std::ranges::all_of(codes, [](auto& c) { return c.has_value(); });
        });
    }
};

template<class Handler>
void call(live& l, verb v, std::string_view key, const policy& p, Handler handler) {
    auto& to = l.limiter;
    switch (v) {
    case verb::allow:
        return to.allow(key, p, {.member = "m"}, handler);
    case verb::some:
        return to.allow(key, p, {.cost = 3, .at_least = 1, .member = "m"}, handler);
    case verb::peek:
        return to.peek(key, p, {.member = "m"}, handler);
    case verb::charge:
        return to.charge(key, p, {.cost = 2, .member = "m"}, handler);
    case verb::refund:
        return to.refund(key, p, {.cost = 1}, handler);
    case verb::reset:
        return to.reset(key, p, handler);
    case verb::block:
        return to.block(key, p, 1ms, handler);
    case verb::wait:
        return to.wait(key, p, handler);
    }
}

/// Returns whether the verb is one that the policy has.
[[nodiscard]] bool has(const policy& p, verb v) {
    const auto only_buckets = p.name().find("bucket") != std::string_view::npos;
    if (v == verb::wait)
        return only_buckets && !p.name().starts_with("packed");
    return v != verb::block || !p.name().starts_with("packed");
}

[[nodiscard]] std::vector<policy> every_policy() {
    return {policy{"bucket", gcra(1'000, 1h)},
            policy{"buckets", gcra(1'000, 1h).named("a"), gcra(2'000, 1h).named("b")},
            policy{"window", fixed_window(1'000, 1h)},
            policy{"counter", sliding_window(1'000, 1h)},
            policy{"log", sliding_log(1'000, 1h)},
            policy{"members", distinct(1'000, 1h)},
            policy{"mixed", gcra(1'000, 1h), sliding_log(1'000, 1h).count_denied(),
                   distinct(1'000, 1h)},
            policy{"packed-bucket", gcra(1'000, 1h)}.with_storage(storage::shared_hash),
            policy{"packed-window", fixed_window(1'000, 1h)}.with_storage(storage::shared_hash),
            policy{"packed-counter", sliding_window(1'000, 1h)}.with_storage(storage::shared_hash)};
}

class foreign_values {
  public:
    foreign_values() {
        limiter_.run([&]() -> asio::awaitable<void> { (void)co_await limiter_.ready(); });
        reconnects_ = limiter_.limiter.statistics().reconnects;
    }

    void check(const policy& p, verb v, std::size_t at, std::string_view type, std::size_t size) {
        look_.must({"FLUSHALL"});
        auto first = results{3};
        for (const auto i : {0, 1, 2})
            call(limiter_, verb::allow, keys[i], p, first.into(static_cast<std::size_t>(i)));
        first.wait(limiter_);
        const auto places = places_of(look_, "bad");
        BOOST_REQUIRE(at < places.size());
        plant(look_, places[at], type, size);
        auto got = results{3};
        for (const auto i : {0, 1, 2})
            call(limiter_, v, keys[i], p, got.into(static_cast<std::size_t>(i)));
        got.wait(limiter_);
        const auto text = std::string{p.name()} + " verb " + std::to_string(int(v)) + " place " +
                          std::to_string(at) + " " + std::string{type} + " of " +
                          std::to_string(size);
        for (std::size_t i = 0; i < 3; ++i)
            BOOST_TEST((!*got.codes[i] || (i == 1 && *got.codes[i] == errc::key_conflict)),
                       text << ": " << keys[i] << ": " << got.codes[i]->message());
        BOOST_TEST(limiter_.limiter.statistics().reconnects == reconnects_, text);
        reconnects_ = limiter_.limiter.statistics().reconnects;
    }

    /// Returns how many places the policy has, and whether the first of them is in a hash.
    [[nodiscard]] std::pair<std::size_t, bool> places(const policy& p) {
        look_.must({"FLUSHALL"});
        auto first = results{1};
        call(limiter_, verb::allow, "bad", p, first.into(0));
        first.wait(limiter_);
        const auto found = places_of(look_, "bad");
        return {found.size(), !found.empty() && found.front().field.has_value()};
    }

    [[nodiscard]] raw_client& look() { return look_; }
    [[nodiscard]] live& limiter() { return limiter_; }

  private:
    static constexpr std::string_view keys[] = {"good1", "bad", "good2"};
    redis_server server_;
    raw_client look_ = server_.connect();
    live limiter_{server_.address(), [](config& c) { c.advanced.deny_cache = 0; }};
    std::uint64_t reconnects_ = 0;
};

BOOST_AUTO_TEST_SUITE(foreign_sizes)

BOOST_AUTO_TEST_CASE(a_string_of_any_size_concerns_its_key_alone) {
    auto f = foreign_values{};
    for (const auto& p : every_policy())
        for (std::size_t at = 0; at < f.places(p).first; ++at)
            for (const auto v : verbs)
                for (const auto size : sizes)
                    if (has(p, v))
                        f.check(p, v, at, "string", size);
}

BOOST_AUTO_TEST_CASE(a_long_value_of_any_type_concerns_its_key_alone) {
    auto f = foreign_values{};
    for (const auto& p : every_policy()) {
        const auto [places, in_hash] = f.places(p);
        for (std::size_t at = 0; at < places && !in_hash; ++at)
            for (const auto v : verbs)
                for (const auto type : types)
                    if (has(p, v))
                        f.check(p, v, at, type, long_size);
    }
}

BOOST_AUTO_TEST_CASE(twenty_long_values_do_not_make_a_long_reply) {
    auto f = foreign_values{};
    const auto p = policy{"bucket", gcra(1'000, 1h)};
    for (const auto v : {verb::peek, verb::allow}) {
        f.look().must({"FLUSHALL"});
        for (const auto again : {false, true}) {
            auto got = results{40};
            for (std::size_t i = 0; i < 40; ++i)
                call(f.limiter(), again ? v : verb::allow, "k" + std::to_string(i), p, got.into(i));
            got.wait(f.limiter());
            for (const auto& code : got.codes)
                BOOST_TEST(!*code, code->message());
            for (const auto& at : places_of(f.look(), "k"))
                plant(f.look(), at, "string", 60'000);
        }
    }
}

BOOST_AUTO_TEST_CASE(all_or_nothing_reads_a_long_value_as_no_state) {
    auto f = foreign_values{};
    const auto bucket = policy{"bucket", gcra(5, 1h)};
    const auto log = policy{"log", sliding_log(5, 1h)};
    for (const auto size : sizes) {
        f.look().must({"FLUSHALL"});
        for (int round = 0; round < 2; ++round) {
            auto checks = std::vector<check_item>{{.key = "bad", .policy = bucket},
                                                  {.key = "good", .policy = log}};
            auto got = results{1};
            f.limiter().limiter.allow_all(checks, got.into(0));
            got.wait(f.limiter());
            BOOST_TEST(!*got.codes[0], got.codes[0]->message());
            BOOST_TEST(checks[0].result.remaining == 4);
            BOOST_TEST(checks[1].result.remaining == 4 - round);
            plant(f.look(), places_of(f.look(), "bad").at(0), "string", size);
        }
    }
}

/// Without scripts: a sorted set that is not a log answers with its members.
BOOST_AUTO_TEST_CASE(a_transaction_reads_long_members_and_goes_on) {
    const redis_server server;
    auto look = server.connect();
    auto l = live{server.address(), [](config& c) { c.advanced.mode = execution_mode::multi; }};
    l.run([&]() -> asio::awaitable<void> { (void)co_await l.ready(); });
    const auto p = policy{"log", sliding_log(5, 1h), sliding_log(9, 1h).named("b")};
    constexpr std::string_view keys[] = {"good1", "bad", "good2"};
    for (const auto v : {verb::peek, verb::allow, verb::charge, verb::refund, verb::reset})
        for (const auto type : types)
            for (const auto size : {std::size_t{65'536}, std::size_t{65'537}, long_size}) {
                look.must({"FLUSHALL"});
                auto first = results{1};
                call(l, verb::allow, "bad", p, first.into(0));
                first.wait(l);
                plant(look, places_of(look, "bad").at(0), type, size);
                auto got = results{3};
                for (std::size_t i = 0; i < 3; ++i)
                    call(l, v, keys[i], p, got.into(i));
                got.wait(l);
                for (std::size_t i = 0; i < 3; ++i)
                    BOOST_TEST((!*got.codes[i] || (i == 1 && *got.codes[i] == errc::key_conflict)),
                               type << " of " << size << ": " << got.codes[i]->message());
            }
    BOOST_TEST(l.limiter.statistics().reconnects == 0U);
}

BOOST_AUTO_TEST_CASE(an_id_and_a_filter_know_any_value_from_theirs) {
    auto f = foreign_values{};
    const auto filter = bloom_filter{"filter", {.capacity = 1'000}};
    const auto ask = [&](auto what) {
        auto got = results{2};
        what(got);
        got.wait(f.limiter());
        return *got.codes[1];
    };
    const auto once = [&](results& got) {
        f.limiter().limiter.once("other", 1h, got.into(0));
        f.limiter().limiter.once("bad", 1h, got.into(1));
    };
    const auto seen = [&](results& got) {
        f.limiter().limiter.seen("other", filter, got.into(0));
        f.limiter().limiter.seen("bad", filter, got.into(1));
    };
    for (const auto type : types)
        for (const auto size : sizes)
            for (const auto with_filter : {false, true}) {
                f.look().must({"FLUSHALL"});
                (void)(with_filter ? ask(seen) : ask(once));
                for (const auto& at : places_of(f.look(), with_filter ? "filter" : "bad"))
                    plant(f.look(), at, type, size);
                const auto ec = with_filter ? ask(seen) : ask(once);
                const auto is_string = type == "string" || type == "log";
                BOOST_TEST((is_string ? !ec : ec == errc::key_conflict),
                           type << " of " << size << ": " << ec.message());
                BOOST_TEST(f.limiter().limiter.statistics().reconnects == 0U);
            }
}

BOOST_AUTO_TEST_SUITE_END()

/// Sketches that begin as one: PFADD takes them, and PFCOUNT, or both, raise an error.
[[nodiscard]] std::vector<std::string> damaged_sketches() {
    const auto head = std::string{"HYLL\1\0\0\0\0\0\0\0\0\0\0\x80", 16};
    return {head + "\x7e\x7f",         // 16,000 registers of 16,384
            head + "\x7f\xff\x7f\xff", // too many
            head,                      // none
            std::string{"HYLL"},       // a part of a head
            "HYLL\7" + head.substr(5), // an unknown encoding
            std::string{"HYLL\0\0\0\0\0\0\0\0\0\0\0\x80 dense", 22}};
}

BOOST_AUTO_TEST_SUITE(damaged_sketch)

BOOST_AUTO_TEST_CASE(a_damaged_sketch_fails_the_calls_for_its_key_alone) {
    auto f = foreign_values{};
    auto& l = f.limiter();
    const auto p = policy{"members", distinct(5, 24h), gcra(5, 24h)};
    for (const auto& damage : damaged_sketches())
        for (const auto v : {verb::allow, verb::peek, verb::charge, verb::refund, verb::block}) {
            f.look().must({"FLUSHALL"});
            auto names = std::set<std::string>{};
            auto first = results{20};
            for (std::size_t i = 0; i < 20; ++i)
                l.limiter.allow("k" + std::to_string(i) + ".", p, {.member = "x"}, first.into(i));
            first.wait(l);
            for (const auto& at : places_of(f.look(), "k10."))
                if (f.look().get(at.name)->starts_with("HYLL"))
                    f.look().must({"SET", at.name, damage, "KEEPTTL"});
            const auto before = places_of(f.look(), "k10.");
            auto pictures = std::vector<std::optional<std::string>>{};
            for (const auto& at : before)
                pictures.push_back(f.look().get(at.name));
            auto got = results{20};
            for (std::size_t i = 0; i < 20; ++i)
                if (i == 10)
                    call(l, v, "k10.", p, got.into(i));
                else
                    l.limiter.allow("k" + std::to_string(i) + ".", p, {.member = "y"}, got.into(i));
            got.wait(l);
            for (std::size_t i = 0; i < 20; ++i) {
                const auto counts = v != verb::refund && v != verb::block;
                const auto fails = i == 10 && counts;
                BOOST_TEST((fails ? *got.codes[i] == errc::key_conflict : !*got.codes[i]),
                           i << " verb " << int(v) << ": " << got.codes[i]->message());
                if (!fails || i != 10)
                    continue;
                for (std::size_t j = 0; j < before.size(); ++j)
                    BOOST_TEST((f.look().get(before[j].name) == pictures[j])); // nothing is charged
            }
            // A reset gets rid of it.
            auto last = results{2};
            call(l, verb::reset, "k10.", p, last.into(0));
            call(l, verb::allow, "k10.", p, last.into(1));
            last.wait(l);
            BOOST_TEST((!*last.codes[0] && !*last.codes[1]));
        }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace colimit::foreign_sizes_test
