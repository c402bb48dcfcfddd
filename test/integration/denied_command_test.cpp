// SPDX-License-Identifier: BSL-1.0
//
// Users that lack one of the commands that scripts need: each of them in turn, for every kind of
// rule. Such a user may be denied much, but a call that ends with an error has changed no balance,
// and no key stays without a TTL.

#include <colimit/bloom_filter.hpp>
#include <support/live_limiter.hpp>
#include <support/readme_acl.hpp>
#include <support/rules_of_every_kind.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(denied_commands)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::live;

/// So long that nothing recovers and no window ends during the test.
constexpr auto period = 24h * 1'800;

[[nodiscard]] std::vector<policy> policies_of_numbers() {
    auto all = std::vector<policy>{};
    for (const auto& r : test::rules_of_every_kind(20, period))
        if (r.kind() != algorithm::calendar)
            all.emplace_back("p" + std::to_string(all.size()), r);
    all.emplace_back("two", gcra(20, period), gcra(30, period).named("more"));
    all.push_back(policy{"cooldown", fixed_window(20, period)}.prevent_duplicate(1us));
    for (const auto& r : {gcra(20, period), fixed_window(20, period), sliding_window(20, period)})
        all.push_back(
            policy{"packed" + std::to_string(all.size()), r}.with_storage(storage::shared_hash));
    return all;
}

[[nodiscard]] std::vector<policy> policies_with_sketches() {
    auto all = std::vector<policy>{};
    all.emplace_back("members", distinct(20, period));
    all.emplace_back("both", distinct(20, period), distinct(30, period).named("more"));
    all.emplace_back("mixed", fixed_window(20, period), distinct(20, period));
    all.emplace_back("log", sliding_log(20, period));
    all.emplace_back("long-log", sliding_log(2'000, period));
    all.emplace_back("mixed-log", fixed_window(20, period), sliding_log(20, period));
    return all;
}

[[nodiscard]] live client(const std::string& address) {
    return live{address, [](config& c) {
                    c.advanced.deny_cache = 0;
                    c.timeout = 20s;
                }};
}

/// A server, an administrator and a user, and what the administrator sees.
class scene {
  public:
    /// Makes the user anew, without this command.
    live set(std::string_view denied) {
        denied_ = denied;
        look_.must({"FLUSHALL"});
        auto rules = test::readme_acl("script");
        std::erase(rules, "+" + denied_);
        test::set_user(look_, "app", rules);
        auto user = client("unix://app:pw@" + server_.socket());
        user.run([&]() -> asio::awaitable<void> {
            const auto ec = co_await user.ready();
            is_ready_ = !ec;
        });
        return user;
    }

    [[nodiscard]] bool is_ready() const { return is_ready_; }

    /// Calls as the user, and checks what the administrator sees afterwards.
    template<class Start>
    error_code check(live& user, std::string_view step, std::string_view key, const policy& p,
                     std::optional<time_point> now, Start start) {
        const auto before = balances(key, p, now);
        const auto ec = outcome_of(user, start);
        const auto where = "without " + denied_ + ", " + std::string{step} + " of " +
                           std::string{p.name()} + (now ? ", supplied" : ", own clock");
        const auto after = balances(key, p, now);
        BOOST_TEST((!ec || ec == errc::auth_failed || ec == errc::outcome_unknown),
                   where << ": " << ec.message());
        BOOST_TEST((!ec || after == before),
                   where << ": " << ec.message() << ", but " << before << " became " << after);
        BOOST_TEST(lasting_key().empty(), where << " left " << lasting_key());
        return ec;
    }

    template<class Start>
    static error_code outcome_of(live& user, Start start) {
        auto code = std::optional<error_code>{};
        start(user.limiter, [&](error_code ec, const auto&...) { code = ec; });
        test::run_until(user.context, [&] { return code.has_value(); });
        return *code;
    }

    [[nodiscard]] std::string balances(std::string_view key, const policy& p,
                                       std::optional<time_point> now) {
        auto found = std::optional<decision>{};
        admin_.limiter.peek(key, p, {.cost = 1, .member = "none", .now = now},
                            [&](error_code ec, const decision& d) {
                                BOOST_TEST(!ec, "without " << denied_ << ": " << ec.message());
                                found = d;
                            });
        test::run_until(admin_.context, [&] { return found.has_value(); });
        auto text = std::string{to_string(found->outcome)};
        for (const auto& rule : found->rules)
            text += " " + std::to_string(rule.balance);
        return text;
    }

    /// Returns the name of a key without a TTL, or ''.
    [[nodiscard]] std::string lasting_key() {
        return look_
            .must({"EVAL",
                   "for _, k in ipairs(redis.call('KEYS', '*')) do "
                   "if redis.call('PTTL', k) == -1 then return k end end return ''",
                   "0"})
            .text;
    }

    /// Returns how many there were.
    std::int64_t evict_sketches() {
        return look_
            .must({"EVAL",
                   "local n = 0 for _, k in ipairs(redis.call('KEYS', '*')) do "
                   "if redis.call('TYPE', k).ok == 'string' and "
                   "redis.call('GETRANGE', k, 0, 3) == 'HYLL' then "
                   "redis.call('DEL', k) n = n + 1 end end return n",
                   "0"})
            .integer;
    }

    [[nodiscard]] live& admin() { return admin_; }

  private:
    test::redis_server server_;
    test::raw_client look_ = server_.connect();
    live admin_ = client(server_.address());
    std::string denied_;
    bool is_ready_ = false;
};

/// The commands on data that src/tool/README.md lists, and none of them.
[[nodiscard]] std::vector<std::string> commands() {
    auto all = std::vector<std::string>{"none"};
    for (const auto& rule : test::readme_acl("data"))
        if (rule.front() == '+')
            all.push_back(rule.substr(1));
    return all;
}

/// Supplied clocks, as of replays: keys get a TTL instead of a time.
[[nodiscard]] std::optional<time_point> clock(bool supplied, int step) {
    if (!supplied)
        return std::nullopt;
    return time_point{1'700'000'000s} + step * 1s;
}

/// Whatever such a call charges: an id is charged once, also if it is repeated after an error.
void check_id(scene& s, live& user, std::string_view key, const policy& p,
              std::optional<time_point> now, bool gives) {
    const auto start = [&](auto& limiter, auto handler) {
        const auto options = charge_options{
            .cost = 1, .member = "id", .request = gives ? "give" : "take", .now = now};
        if (gives)
            limiter.refund(key, p, options, std::move(handler));
        else
            limiter.charge(key, p, options, std::move(handler));
    };
    if (!s.check(user, gives ? "refund by id" : "charge by id", key, p, now, start))
        return;
    const auto before = s.balances(key, p, now);
    const auto ec = s.outcome_of(s.admin(), start);
    BOOST_TEST(!ec, ec.message());
    if (s.balances(key, p, now) == before && !gives)
        BOOST_ERROR("a repeated charge of " << p.name() << " had no effect: " << before);
}

void check_verbs(scene& s, live& user, std::string_view key, const policy& p, bool supplied) {
    auto step = 1;
    const auto check = [&](std::string_view name, auto start) {
        const auto now = clock(supplied, ++step);
        s.check(user, name, key, p, now,
                [&](auto& limiter, auto handler) { start(limiter, now, std::move(handler)); });
    };
    for (const auto* member : {"m1", "m2"})
        check("allow", [&](auto& limiter, auto now, auto handler) {
            limiter.allow(key, p, {.cost = 1, .member = member, .now = now}, std::move(handler));
        });
    check("charge", [&](auto& limiter, auto now, auto handler) {
        limiter.charge(key, p, {.cost = 5, .member = "x", .now = now}, std::move(handler));
    });
    check("refund", [&](auto& limiter, auto now, auto handler) {
        limiter.refund(key, p, {.cost = 2, .now = now}, std::move(handler));
    });
    check_id(s, user, key, p, clock(supplied, ++step), false);
    check_id(s, user, key, p, clock(supplied, ++step), true);
    check("large allow", [&](auto& limiter, auto now, auto handler) {
        limiter.allow(key, p, {.cost = 20, .member = "y", .now = now}, std::move(handler));
    });
    check("refund of all", [&](auto& limiter, auto now, auto handler) {
        limiter.refund(key, p, {.cost = 20, .now = now}, std::move(handler));
    });
    check("allow again", [&](auto& limiter, auto now, auto handler) {
        limiter.allow(key, p, {.cost = 1, .member = "m1", .now = now}, std::move(handler));
    });
    if (!p.name().starts_with("packed")) // their states may not last that long
        check("block", [&](auto& limiter, auto now, auto handler) {
            limiter.block(key, p, 24h, {.now = now}, std::move(handler));
        });
    check("reset", [&](auto& limiter, auto now, auto handler) {
        limiter.reset(key, p, {.now = now}, std::move(handler));
    });
}

void check_policies(const std::vector<policy>& policies) {
    auto s = scene{};
    for (const auto& command : commands()) {
        auto user = s.set(command);
        if (!s.is_ready()) // without a command that every check needs
            continue;
        for (const auto& p : policies)
            for (const auto supplied : {false, true}) {
                const auto name = std::string{supplied ? "supplied" : "own"};
                check_verbs(s, user, name, p, supplied);
                // A key that has a state, with a TTL that a larger debt needs longer.
                const auto old = "old" + name;
                (void)s.outcome_of(s.admin(), [&](auto& limiter, auto handler) {
                    limiter.allow(old, p, {.member = "m0", .now = clock(supplied, 1)},
                                  std::move(handler));
                });
                check_verbs(s, user, old, p, supplied);
            }
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(a_failed_call_under_rules_of_numbers_charges_nothing) {
    check_policies(policies_of_numbers());
}

BOOST_AUTO_TEST_CASE(a_failed_call_under_rules_with_sketches_charges_nothing) {
    check_policies(policies_with_sketches());
}

/// A call whose count does not stay has made the sketch anew.
BOOST_AUTO_TEST_CASE(a_failed_call_under_an_evicted_sketch_leaves_no_lasting_key) {
    const auto both = policy{"both", distinct(20, period), fixed_window(1, period)};
    auto s = scene{};
    auto evicted = std::int64_t{0};
    for (const auto& command : commands()) {
        auto user = s.set(command);
        if (!s.is_ready()) // without a command that every check needs
            continue;
        for (const auto supplied : {false, true})
            for (const auto* verb : {"peek", "allow"}) {
                const auto key = std::string{verb} + (supplied ? "supplied" : "own");
                const auto now = clock(supplied, 1);
                (void)s.outcome_of(s.admin(), [&](auto& limiter, auto handler) {
                    limiter.allow(key, both, {.member = "m0", .now = now}, std::move(handler));
                });
                evicted += s.evict_sketches();
                s.check(user, verb, key, both, now, [&](auto& limiter, auto handler) {
                    const auto options = check_options{.member = "m1", .now = now};
                    if (std::string_view{verb} == "peek")
                        limiter.peek(key, both, options, std::move(handler));
                    else
                        limiter.allow(key, both, options, std::move(handler));
                });
            }
    }
    BOOST_TEST(evicted > 4);
}

BOOST_AUTO_TEST_CASE(a_failed_acquire_takes_no_place) {
    const auto alone = policy{"places", concurrent(2).lease(1h)};
    const auto beside = policy{"beside", concurrent(3).lease(1h), fixed_window(20, period)};
    auto s = scene{};
    for (const auto& command : commands()) {
        auto user = s.set(command);
        if (!s.is_ready()) // without a command that every check needs
            continue;
        for (const auto* p : {&alone, &beside})
            for (const auto supplied : {false, true}) {
                const auto* key = supplied ? "supplied" : "own";
                auto held = std::vector<slot>{};
                for (auto step = 1; step <= 3; ++step) {
                    const auto now = clock(supplied, step);
                    s.check(user, "acquire", key, *p, now, [&](auto& limiter, auto handler) {
                        limiter.acquire(key, *p, {.now = now},
                                        [&held, handler](error_code ec, slot place) mutable {
                                            held.push_back(std::move(place));
                                            handler(ec);
                                        });
                    });
                }
                held.clear();
                for (const auto* verb : {"peek", "reset"}) {
                    const auto now = clock(supplied, 4);
                    s.check(user, verb, key, *p, now, [&](auto& limiter, auto handler) {
                        if (std::string_view{verb} == "peek")
                            limiter.peek(key, *p, {.now = now}, std::move(handler));
                        else
                            limiter.reset(key, *p, {.now = now}, std::move(handler));
                    });
                }
            }
    }
}

BOOST_AUTO_TEST_CASE(an_id_of_a_filter_whose_call_failed_is_not_recorded) {
    const auto own = bloom_filter{"own", {.capacity = 1'000, .ttl = 1h}};
    const auto replayed = bloom_filter{"replayed", {.capacity = 1'000, .ttl = 1h}};
    const auto back = clock(true, 0);
    auto s = scene{};
    for (const auto& command : commands()) {
        auto user = s.set(command);
        if (!s.is_ready())
            continue;
        auto n = 0;
        for (const auto& now : {clock(false, 0), back, clock(true, 9'000), back})
            for (auto i = 0; i < 2; ++i) {
                const auto id = std::to_string(++n);
                const auto& filter = now ? replayed : own;
                const auto ec = s.outcome_of(user, [&](auto& limiter, auto handler) {
                    limiter.seen(id, filter, {.now = now}, std::move(handler));
                });
                auto known = std::optional<bool>{};
                s.admin().limiter.probably_seen(id, filter, {.now = now},
                                                [&](error_code, bool seen) { known = seen; });
                test::run_until(s.admin().context, [&] { return known.has_value(); });
                BOOST_TEST(*known == !ec, "without " << command << ": " << ec.message());
                BOOST_TEST(s.lasting_key().empty(), "without " << command);
            }
    }
}

BOOST_AUTO_TEST_CASE(a_failed_check_of_several_policies_charges_none) {
    const auto first = policy{"first", gcra(20, period)};
    const auto second = policy{"second", fixed_window(20, period), distinct(20, period)};
    const auto third = policy{"third", distinct(20, period)};
    auto s = scene{};
    for (const auto& command : commands()) {
        auto user = s.set(command);
        if (!s.is_ready()) // without a command that every check needs
            continue;
        for (const auto* member : {"m1", "m2"}) {
            auto items = std::vector<check_item>{{.key = "k", .policy = first},
                                                 {.key = "k", .policy = second},
                                                 {.key = "k", .policy = third}};
            items[1].options.member = items[2].options.member = member;
            const auto before = s.balances("k", first, {});
            const auto ec =
                s.check(user, "allow_all", "k", second, {}, [&](auto& limiter, auto handler) {
                    limiter.allow_all(items, std::move(handler));
                });
            const auto may_be_charged = !ec || ec == errc::outcome_unknown;
            BOOST_TEST((may_be_charged || s.balances("k", first, {}) == before),
                       "without " << command << ": " << ec.message());
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
