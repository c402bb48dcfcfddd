// SPDX-License-Identifier: BSL-1.0
//
// A server over its `maxmemory` refuses commands that need memory, also after commands that it
// accepts: with every verb and every kind of state nothing grows, calls that would grow it fail,
// and those that return quota succeed.

#include <support/function_library.hpp>
#include <support/live_limiter.hpp>
#include <support/rules_of_every_kind.hpp>
#include <support/server_module.hpp>
#include <support/unit_test.hpp>

#include <colimit/bloom_filter.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

// Not an anonymous one: GCC warns where coroutines of data test cases capture its types.
namespace colimit::full_server_test {

using namespace colimit::test;
using namespace std::chrono_literals;

/// The memory of a server's keys, and their number.
struct data_size {
    std::int64_t keys = 0;
    std::int64_t bytes = 0;
};

[[nodiscard]] data_size size_of(raw_client& look) {
    auto size = data_size{};
    for (const auto& name : look.keys()) {
        ++size.keys;
        size.bytes += look.must({"MEMORY", "USAGE", name, "SAMPLES", "0"}).integer;
    }
    return size;
}

void fill(raw_client& look) {
    look.must({"CONFIG", "SET", "maxmemory", "1"});
}
void empty(raw_client& look) {
    look.must({"CONFIG", "SET", "maxmemory", "0"});
}

enum class way { script, function, server_module };
constexpr auto every_way = {way::script, way::function, way::server_module};

std::ostream& operator<<(std::ostream& out, way w) {
    return out << (w == way::script ? "script" : w == way::function ? "function" : "module");
}

/// A server, with the library or the module if calls use it, and limiters on it.
struct tested_server {
    explicit tested_server(way calls)
        : by(calls), server(calls == way::server_module
                                ? redis_server_options{.arguments = with_server_module()}
                                : redis_server_options{}) {
        if (by == way::function)
            load_function_library(look);
    }
    [[nodiscard]] std::unique_ptr<live> open() const {
        auto l = std::make_unique<live>(server.address(), [this](config& c) {
            c.advanced.deny_cache = 0;
            c.advanced.mode =
                by == way::function ? execution_mode::function : execution_mode::script;
            c.advanced.server_module =
                by == way::server_module ? module_use::required : module_use::never;
        });
        l->run([&]() -> asio::awaitable<void> { (void)co_await l->ready(); });
        return l;
    }

    way by;
    redis_server server;
    raw_client look = server.connect();
};

using result = std::optional<error_code>;

/// Makes calls in one event-loop iteration and waits for all of them.
class calls {
  public:
    explicit calls(live& l) : live_(l) {}

    auto next() {
        got_.emplace_back(std::make_shared<result>());
        return [to = got_.back()](error_code ec, const auto&...) { *to = ec; };
    }
    [[nodiscard]] std::vector<error_code> wait() {
        run_until(live_.context, [&] {
            return std::ranges::all_of(got_, [](auto& r) { return r->has_value(); });
        });
        auto codes = std::vector<error_code>{};
        for (const auto& r : got_)
            codes.push_back(**r);
        return codes;
    }

  private:
    live& live_;
    std::vector<std::shared_ptr<result>> got_;
};

[[nodiscard]] std::vector<policy> every_policy() {
    auto all = std::vector<policy>{};
    for (const auto& r : rules_of_every_kind(5, 1h))
        all.emplace_back("numbers", r);
    all.emplace_back("buckets", gcra(5, 1h).named("a"), gcra(6, 1h).named("b"));
    all.emplace_back("log", sliding_log(5, 24h));
    all.emplace_back("counting", sliding_log(5, 24h).count_denied());
    all.emplace_back("members", distinct(500, 24h));
    all.emplace_back("two-sketches", distinct(500, 24h).named("a"), distinct(600, 1h).named("b"));
    all.emplace_back("mixed", gcra(5, 1h), sliding_log(5, 1h), distinct(500, 1h));
    for (const auto& r : {gcra(5, 1h), fixed_window(5, 1h), sliding_window(5, 1h)})
        all.push_back(policy{"packed", r}.with_storage(storage::shared_hash));
    all.push_back(
        policy{"packed-buckets", gcra(5, 1h).named("a"), gcra(6, 1h).named("b")}.with_storage(
            storage::shared_hash));
    return all;
}

[[nodiscard]] bool is_packed(const policy& p) {
    return p.name().starts_with("packed");
}

/// A call that needs memory: what it does with a new key.
using growing = std::function<void(live&, const std::string&, const policy&, calls&)>;

[[nodiscard]] std::vector<growing> every_growing_verb(const policy& p) {
    auto all =
        std::vector<growing>{[](live& l, const std::string& key, const policy& with, calls& c) {
                                 l.limiter.allow(key, with, {.member = "m"}, c.next());
                             },
                             [](live& l, const std::string& key, const policy& with, calls& c) {
                                 l.limiter.allow(key, with, {.cost = 2, .member = "m"}, c.next());
                             },
                             [](live& l, const std::string& key, const policy& with, calls& c) {
                                 l.limiter.charge(key, with, {.cost = 2, .member = "m"}, c.next());
                             }};
    if (!is_packed(p))
        all.emplace_back([](live& l, const std::string& key, const policy& with, calls& c) {
            l.limiter.block(key, with, 1h, c.next());
        });
    return all;
}

BOOST_AUTO_TEST_SUITE(full_server)

BOOST_DATA_TEST_CASE(no_verb_of_any_kind_adds_a_key, every_way) {
    auto tested = tested_server{sample};
    auto& look = tested.look;
    for (const auto& p : every_policy()) {
        const auto opened = tested.open();
        auto& l = *opened;
        for (const auto& verb : every_growing_verb(p)) {
            look.must({"FLUSHALL"});
            fill(look);
            auto made = calls{l};
            for (int i = 0; i < 20; ++i)
                verb(l, "k" + std::to_string(i), p, made);
            for (const auto& ec : made.wait())
                BOOST_TEST((ec == errc::server_error), p.name() << ": " << ec.message());
            BOOST_TEST(look.dbsize() == 0, p.name());
            empty(look);
        }
    }
}

/// Also where an old log or sketch is found, of a window that has ended.
BOOST_DATA_TEST_CASE(a_refused_call_changes_no_ttl, every_way) {
    auto tested = tested_server{sample};
    auto& look = tested.look;
    constexpr auto begin = time_point{1'000'000h};
    const auto ends = [&look] {
        auto out = std::string{};
        for (const auto& name : look.keys())
            out += name + ' ' + std::to_string(look.must({"PEXPIRETIME", name}).integer) + '\n';
        return out;
    };
    for (const auto& p : every_policy()) {
        const auto opened = tested.open();
        auto& l = *opened;
        look.must({"FLUSHALL"});
        auto before = calls{l};
        l.limiter.charge("k", p, {.cost = 2, .member = "m", .now = begin}, before.next());
        BOOST_TEST(!before.wait().front(), p.name());
        const auto found = ends();
        for (const auto later : {1h, 30h}) {
            fill(look);
            auto made = calls{l};
            l.limiter.allow("k", p, {.member = "n", .now = begin + later + 30min}, made.next());
            BOOST_TEST((made.wait().front() == errc::server_error), p.name());
            BOOST_TEST(ends() == found, p.name());
            empty(look);
        }
    }
}

/// The removals of some keys come before the growth of others, in one batch.
BOOST_DATA_TEST_CASE(nothing_grows_behind_what_shrinks, every_way) {
    auto tested = tested_server{sample};
    auto& look = tested.look;
    for (const auto& p : every_policy()) {
        const auto opened = tested.open();
        auto& l = *opened;
        for (const auto& verb : every_growing_verb(p)) {
            look.must({"FLUSHALL"});
            auto before = calls{l};
            for (const auto* key : {"reset", "refund", "grow"})
                for (int i = 0; i < 3; ++i)
                    l.limiter.charge(key, p, {.member = "m" + std::to_string(i)}, before.next());
            for (const auto& ec : before.wait())
                BOOST_TEST(!ec, p.name() << ": " << ec.message());
            const auto size = size_of(look);
            fill(look);
            auto made = calls{l};
            l.limiter.reset("reset", p, made.next());
            l.limiter.refund("refund", p, {.cost = 2}, made.next());
            verb(l, "grow", p, made);
            for (int i = 0; i < 20; ++i)
                verb(l, "k" + std::to_string(i), p, made);
            const auto codes = made.wait();
            BOOST_TEST(!codes[0], p.name() << " reset: " << codes[0].message());
            BOOST_TEST(!codes[1], p.name() << " refund: " << codes[1].message());
            for (std::size_t i = 2; i < codes.size(); ++i)
                BOOST_TEST((codes[i] == errc::server_error),
                           p.name() << " " << i << ": " << codes[i].message());
            const auto after = size_of(look);
            BOOST_TEST(after.keys <= size.keys, p.name());
            BOOST_TEST(after.bytes <= size.bytes, p.name());
            empty(look);
            // Failed calls have charged nothing, successful ones have refunded.
            l.run([&]() -> asio::awaitable<void> {
                for (const auto& [key, used] :
                     {std::pair{"reset", 0}, {"refund", 1}, {"grow", 3}}) {
                    const auto [ec, d] = co_await l.limiter.peek(key, p, {.cost = 0},
                                                                 asio::as_tuple(asio::deferred));
                    BOOST_TEST(!ec);
                    for (const auto& r : d.rules) {
                        // A refund gives no member back.
                        const auto owed =
                            std::string_view{key} == "refund" && r.limit >= 500 ? 3 : used;
                        BOOST_TEST(r.balance == r.limit - owed, p.name() << " " << key);
                    }
                }
            });
        }
    }
}

/// The error says that nothing was charged, and so it is.
BOOST_DATA_TEST_CASE(a_check_of_several_keys_fails_as_a_whole, every_way) {
    auto tested = tested_server{sample};
    const auto opened = tested.open();
    auto& l = *opened;
    fill(tested.look);
    for (const auto& p : every_policy()) {
        if (is_packed(p))
            continue;
        auto items = std::vector<check_item>{};
        for (const auto* key : {"a", "b", "c"})
            items.push_back({.key = key, .policy = p, .options = {.member = "m"}});
        items.push_back({.key = "d", .policy = policy{"last", gcra(5, 1h)}});
        auto made = calls{l};
        l.limiter.allow_all(items, made.next());
        for (const auto& ec : made.wait())
            BOOST_TEST((ec == errc::server_error), p.name() << ": " << ec.message());
        BOOST_TEST(tested.look.dbsize() == 0, p.name());
    }
}

BOOST_DATA_TEST_CASE(a_filter_makes_no_block, every_way) {
    auto tested = tested_server{sample};
    auto& look = tested.look;
    const auto filter = bloom_filter{"ids", {.capacity = 1'000'000}};
    const auto opened = tested.open();
    auto& l = *opened;
    fill(look);
    auto made = calls{l};
    for (int i = 0; i < 50; ++i)
        l.limiter.seen("id" + std::to_string(i), filter, made.next());
    for (const auto& ec : made.wait())
        BOOST_TEST((ec == errc::server_error), ec.message());
    BOOST_TEST(look.dbsize() == 0);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colimit::full_server_test
