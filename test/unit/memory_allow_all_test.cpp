// SPDX-License-Identifier: BSL-1.0
//
// Calls for several keys in a full store: all are charged or none, and after a denial everything is
// as it was.

#include <support/all_or_nothing.hpp>
#include <support/live_limiter.hpp>
#include <support/rules_of_every_kind.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(memory_allow_all)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using core::verb;

constexpr std::int64_t start = 1'700'000'000'000'000;

/// The process secret decides in which rounds calls are denied together. So many rounds are enough
/// for three of them.
constexpr int most_rounds = 10'000;

namespace asio = boost::asio;
using test::answer_and_check;
using test::ask;
using test::peek_all;

[[nodiscard]] std::vector<policy> policies_of_every_kind() {
    auto all = std::vector<policy>{};
    for (const auto& r : test::rules_of_every_kind(3, 1h))
        all.emplace_back("kind" + std::to_string(all.size()), r);
    all.emplace_back("log", sliding_log(3, 1h));
    all.emplace_back("counting", sliding_log(3, 1h).count_denied());
    all.emplace_back("members", distinct(3, 1h));
    all.emplace_back("three", distinct(2, 1h), distinct(5, 24h).named("day"), gcra(4, 1h));
    all.emplace_back("all", distinct(3, 1h), sliding_log(4, 1h), fixed_window(3, 1h));
    all.push_back(policy("gap", gcra(5, 1h)).prevent_duplicate(1min));
    return all;
}

/// Random calls on a few hundred keys of policies of every kind.
class random_calls {
  public:
    random_calls(std::size_t states, std::uint64_t seed) : store_(states), random_(seed) {}

    void make_one() {
        now_ += number(0, 9) == 0 ? number(-2'000'000, 600'000'000) : 0;
        if (number(0, 3) == 0)
            return change_one();
        auto checks = std::vector<check_item>{};
        const auto count = number(1, 4) == 1 ? number(30, 64) : number(1, 6);
        for (std::int64_t i = 0; i < count; ++i)
            add(checks);
        granted_ += answer_and_check(store_, checks, now_) ? 1 : 0;
        ++made_;
    }

    [[nodiscard]] int granted() const noexcept { return granted_; }
    [[nodiscard]] int denied() const noexcept { return made_ - granted_; }

  private:
    [[nodiscard]] std::int64_t number(std::int64_t least, std::int64_t most) {
        return std::uniform_int_distribution{least, most}(random_);
    }
    template<class Range>
    [[nodiscard]] const auto& any_of(const Range& r) {
        return r[static_cast<std::size_t>(number(0, std::ssize(r) - 1))];
    }

    void add(std::vector<check_item>& checks) {
        const auto& key = any_of(keys_);
        const auto& p = any_of(policies_);
        const auto is_same = [&](const check_item& c) {
            return c.key == key && c.policy.name() == p.name();
        };
        if (std::ranges::any_of(checks, is_same))
            return;
        auto options = check_options{.cost = number(0, 3) == 0 ? 2 : 1};
        if (detail::access::data(p)->compiled.has_distinct) {
            options.cost = 1;
            options.member = any_of(keys_);
        }
        checks.push_back({.key = key, .policy = p, .options = options});
    }

    void change_one() {
        auto one = std::vector<check_item>{};
        add(one);
        const auto verbs = std::array{verb::allow, verb::charge, verb::refund, verb::reset};
        auto q = detail::make_request(any_of(verbs), one.front().options);
        if (q.verb == verb::refund || q.verb == verb::reset) {
            q.has_member = false;
            q.member = "";
        }
        q.now = now_;
        (void)ask(store_, q, one.front().key, one.front().policy);
    }

    [[nodiscard]] static std::vector<std::string> some_keys() {
        auto keys = std::vector<std::string>{};
        for (int i = 0; i < 300; ++i)
            keys.push_back("key" + std::to_string(i));
        return keys;
    }

    memory::store store_;
    std::mt19937_64 random_;
    std::vector<std::string> keys_ = some_keys();
    std::vector<policy> policies_ = policies_of_every_kind();
    std::int64_t now_ = start;
    int granted_ = 0;
    int made_ = 0;
};

} // namespace

// Keys without a place fall on 1,024 shared states: two of them on one now and then.
BOOST_AUTO_TEST_CASE(two_newcomers_on_one_shared_state_are_both_charged_or_neither) {
    const policy other{"other", gcra(1, 24h)};
    const auto policies =
        std::vector{policy{"window", fixed_window(1, 24h * 365)},
                    policy{"bucket", gcra(1, 24h * 365)}, policy{"log", sliding_log(1, 24h * 365)},
                    policy{"refused", sliding_log(1, 24h * 365).count_denied()}};
    for (const auto& p : policies) {
        auto denied_together = 0;
        for (int round = 0; round < 40; ++round) {
            auto s = memory::store{round % 2 == 0 ? 1U : 20U}; // some get a place there
            (void)ask(s, {.now = start}, "full", other);
            auto names = std::vector<std::string>{};
            for (int i = 0; i < 64; ++i)
                names.push_back(std::to_string(round) + "/" + std::to_string(i));
            auto checks = std::vector<check_item>{};
            for (const auto& n : names)
                checks.push_back({.key = n, .policy = p});
            denied_together += answer_and_check(s, checks, start) ? 0 : 1;
            // Each on its own is allowed: nothing was charged, or none of them is.
            const auto after = peek_all(s, checks, start);
            const auto allowed = std::ranges::count_if(after, &decision::allowed);
            BOOST_TEST((allowed == 0 || allowed == 64));
        }
        BOOST_TEST(denied_together > 10);
    }
}

BOOST_AUTO_TEST_CASE(members_for_whom_there_is_no_room_together_are_all_denied) {
    const policy members{"members", distinct(5, 1h)};
    for (std::size_t states = 1; states <= 8; ++states) {
        auto s = memory::store{states};
        auto checks = std::array{
            check_item{.key = "a", .policy = members, .options = {.member = "ann"}},
            check_item{.key = "b", .policy = members, .options = {.member = "ann"}},
            check_item{.key = "c", .policy = members, .options = {.member = "ann"}},
        };
        BOOST_TEST(answer_and_check(s, checks, start) == (states >= 6)); // two each
        BOOST_TEST(s.statistics().states == (states >= 6 ? 6U : 0U));
    }
}

BOOST_AUTO_TEST_CASE(a_newcomer_does_not_take_the_room_of_another_keys_first_member) {
    const policy before{"grows", gcra(5, 1h)};
    const policy grown{"grows", gcra(5, 1h), distinct(5, 1h).named("members")};
    const policy other{"other", gcra(1, 24h)};
    auto s = memory::store{3};
    (void)ask(s, {.now = start}, "taken", other);
    (void)ask(s, {.now = start}, "k", before);
    auto checks = std::array{check_item{.key = "new", .policy = other},
                             check_item{.key = "k", .policy = grown, .options = {.member = "ann"}}};
    BOOST_TEST(answer_and_check(s, checks, start));
}

/// A shared state may be blocked, of which a key's own state has a copy.
BOOST_AUTO_TEST_CASE(newcomers_that_share_blocks_leave_others_less_room) {
    constexpr std::int64_t hour = 3'600'000'000;
    const auto blocked = policy{"blocked", gcra(5, 1h)}.shadow();
    const policy year{"year", gcra(1, 24h * 365)};
    auto denied_together = 0;
    for (int round = 0; round < 20 || (denied_together < 3 && round < most_rounds); ++round) {
        auto s = memory::store{64};
        for (int i = 0; i < 64; ++i)
            (void)ask(s, {.now = start}, "taken" + std::to_string(i), year);
        auto names = std::vector<std::string>{};
        for (int i = 0; i < 64; ++i)
            names.push_back(std::to_string(round) + "/" + std::to_string(i));
        auto checks = std::vector<check_item>{};
        for (std::size_t i = 0; i < 64; ++i)
            checks.push_back({.key = names[i], .policy = i < 32 ? blocked : year});
        for (std::size_t i = 0; i < 32; ++i)
            (void)ask(s, {.verb = verb::block, .cost = hour, .at_least = 0, .now = start}, names[i],
                      blocked);
        for (int i = 0; i < 64; ++i)
            (void)ask(s, {.verb = verb::reset, .now = start}, "taken" + std::to_string(i), year);
        BOOST_TEST(s.statistics().states == 0U);
        denied_together += answer_and_check(s, checks, start) ? 0 : 1;
    }
    BOOST_TEST(denied_together > 2);
}

BOOST_AUTO_TEST_CASE(newcomers_whose_room_is_taken_by_first_members_are_all_charged_or_none) {
    const policy before{"grows", gcra(5, 1h)};
    const policy grown{"grows", gcra(5, 1h), distinct(5, 1h).named("members")};
    const policy other{"other", gcra(1, 24h)};
    constexpr std::size_t existing = 40;
    constexpr std::size_t newcomers = 21;
    auto denied_together = 0;
    for (int round = 0; round < 60 || (denied_together < 3 && round < most_rounds); ++round) {
        auto s = memory::store{existing + 2 * newcomers};
        auto names = std::vector<std::string>{};
        for (std::size_t i = 0; i < existing + newcomers; ++i)
            names.push_back(std::to_string(round) + "/" + std::to_string(i));
        auto checks = std::vector<check_item>{};
        for (std::size_t i = 0; i < existing; ++i) {
            (void)ask(s, {.now = start}, names[i], before);
            checks.push_back({.key = names[i], .policy = grown, .options = {.member = "ann"}});
        }
        for (auto i = existing; i < names.size(); ++i)
            checks.push_back({.key = names[i], .policy = other});
        denied_together += answer_and_check(s, checks, start) ? 0 : 1;
    }
    BOOST_TEST(denied_together > 2);
}

/// A denial moves states from the future as a released place does, but releases nothing, whatever
/// the cost of the check.
BOOST_AUTO_TEST_CASE(a_denial_after_the_clock_was_set_back_gives_nothing_back) {
    const policy fast{"fast", gcra(1'000'000, 1s)};
    const policy slow{"slow", gcra(1, 24h)};
    auto s = memory::store{10};
    (void)ask(s, {.cost = 500, .at_least = 500, .now = 2'000}, "k", fast);
    (void)ask(s, {.now = 100}, "used", slow);
    auto checks = std::array{check_item{.key = "k", .policy = fast, .options = {.cost = 600}},
                             check_item{.key = "used", .policy = slow}};
    BOOST_TEST(!answer_and_check(s, checks, 100)); // what is owed is repaid at 600
    BOOST_TEST(ask(s, {.verb = verb::peek, .now = 100}, "k", fast).remaining == 999'500);
}

BOOST_AUTO_TEST_CASE(a_denial_makes_no_key) {
    const policy members{"members", distinct(5, 1h), token_bucket(10, 1, 1s).initially(3)};
    const policy slow{"slow", gcra(1, 24h)};
    auto s = memory::store{10};
    (void)ask(s, {.now = start}, "used", slow);
    auto checks =
        std::array{check_item{.key = "k", .policy = members, .options = {.member = "ann"}},
                   check_item{.key = "used", .policy = slow}};
    BOOST_TEST(!answer_and_check(s, checks, start));
    BOOST_TEST(s.statistics().states == 1U);
}

BOOST_AUTO_TEST_CASE(a_key_that_has_recovered_is_not_evicted_for_another_key_of_its_call) {
    const policy quick{"quick", fixed_window(1, 1s)};
    const policy slow{"slow", fixed_window(1, 24h)};
    auto s = memory::store{2};
    (void)ask(s, {.now = start}, "old", quick);
    (void)ask(s, {.now = start}, "taken", slow);
    auto checks = std::array{check_item{.key = "new", .policy = slow},
                             check_item{.key = "old", .policy = quick}};
    BOOST_TEST(answer_and_check(s, checks, start + 10'000'000));
    BOOST_TEST(s.statistics().evicted == 0U);
    // A denial leaves it as it was: it can be evicted for others.
    auto again = std::array{check_item{.key = "taken", .policy = slow},
                            check_item{.key = "old", .policy = quick}};
    BOOST_TEST(!answer_and_check(s, again, start + 20'000'000));
    // One key in 1,024 shares a state with "new" and is denied without a place; not ten of them.
    auto granted = false;
    for (auto n = 0; n < 10 && !granted; ++n)
        granted = ask(s, {.now = start + 20'000'000}, "newer" + std::to_string(n), slow).allowed();
    BOOST_TEST(granted);
    BOOST_TEST(s.statistics().evicted == 1U);
}

BOOST_AUTO_TEST_CASE(all_or_nothing_whatever_the_rules_and_however_few_places) {
    for (const std::size_t states : {1U, 2U, 3U, 4U, 10U, 40U, 150U, 600U}) {
        auto granted = 0;
        auto denied = 0;
        for (std::uint64_t seed = 1; seed <= 4; ++seed) {
            auto calls = random_calls{states, seed};
            for (int i = 0; i < 300; ++i)
                calls.make_one();
            granted += calls.granted();
            denied += calls.denied();
        }
        BOOST_TEST(granted > 20);
        BOOST_TEST(denied > 20);
    }
}

/// Keys that are there get their first members, which takes the cells that new keys counted on.
class first_members {
  public:
    explicit first_members(std::uint64_t seed) : random_(seed) {}

    /// Returns whether the call was granted.
    [[nodiscard]] bool make_one() {
        constexpr int places = 64;
        auto s = memory::store{places};
        const auto with_members = number(1, 20);
        const auto others = number(2, 25);
        auto used = 0;
        auto names = std::vector<std::string>{};
        auto checks = std::vector<check_item>{};
        for (auto i = 0; i < with_members + others; ++i)
            names.push_back(std::to_string(number(0, 1'000'000)) + '/' + std::to_string(i));
        for (auto i = 0; i < with_members; ++i) {
            const auto& name = names[static_cast<std::size_t>(i)];
            if (number(0, 3) != 0) {
                (void)ask(s, {.now = start}, name, before_);
                ++used;
            }
            checks.push_back({.key = name, .policy = grown_, .options = {.member = "ann"}});
        }
        for (auto i = with_members; i < with_members + others; ++i)
            checks.push_back({.key = names[static_cast<std::size_t>(i)], .policy = other_});
        const auto left = others + number(-2, 2) + 3 * (with_members - used) * number(0, 1);
        for (auto i = used; i < places - left; ++i)
            (void)ask(s, {.now = start}, "taken" + std::to_string(i), other_);
        if (number(0, 1) == 0)
            std::ranges::shuffle(checks, random_);
        return answer_and_check(s, checks, start);
    }

  private:
    [[nodiscard]] int number(int least, int most) {
        return std::uniform_int_distribution{least, most}(random_);
    }

    std::mt19937_64 random_;
    policy before_{"grows", gcra(5, 1h)};
    policy grown_{"grows", gcra(5, 1h), distinct(5, 1h).named("members")};
    policy other_{"other", gcra(1, 1h)};
};

BOOST_AUTO_TEST_CASE(a_denial_changes_no_key_where_others_get_their_first_members) {
    auto calls = first_members{1};
    auto granted = 0;
    for (auto i = 0; i < 1'000; ++i)
        granted += calls.make_one() ? 1 : 0;
    BOOST_TEST(granted > 20);
    BOOST_TEST(granted < 980);
}

/// With the verb, in process and instead of an unavailable server.
BOOST_AUTO_TEST_CASE(allow_all_charges_all_keys_or_none_in_a_full_store) {
    const policy year{"year", fixed_window(1, 24h * 365)};
    for (const std::string server : {"memory:", "unix:/there/is/no/server"}) {
        auto l = test::live{server, [](config& c) {
                                c.advanced.local_max_states = 1;
                                c.timeout = 20ms;
                                c.on_failure = failure_mode::local;
                            }};
        auto denied = 0;
        l.run([&]() -> asio::awaitable<void> {
            (void)co_await l.limiter.allow("full", year);
            for (int round = 0; round < 6; ++round) {
                auto names = std::vector<std::string>{};
                for (int i = 0; i < 64; ++i)
                    names.push_back(std::to_string(round) + "/" + std::to_string(i));
                auto checks = std::vector<check_item>{};
                for (const auto& n : names)
                    checks.push_back({.key = n, .policy = year});
                const auto all = co_await l.limiter.allow_all(checks);
                denied += all.allowed() ? 0 : 1;
                for (const auto& c : checks)
                    BOOST_TEST(c.result.granted == (all.allowed() ? 1 : 0));
            }
        });
        BOOST_TEST(denied > 0);
    }
}

BOOST_AUTO_TEST_SUITE_END()
