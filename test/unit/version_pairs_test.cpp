// SPDX-License-Identifier: BSL-1.0
//
// P16: two versions of a policy that are asked in any order admit together no more than the more
// generous one alone, for kinds and numbers of all sorts: periods that divide each other and
// periods that do not, calendars, and stores that are full. (test/store/versions_test.cpp holds
// fewer of them against every store.)

#include <colimit/local_limiter.hpp>
#include <colimit/policy.hpp>
#include <colimit/rule.hpp>
#include <support/rounds.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(version_pairs)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using std::chrono::microseconds;

__extension__ using wide = __int128;

constexpr std::int64_t second = 1'000'000;
constexpr std::int64_t day = 86'400 * second;
constexpr std::int64_t start = 1'699'999'200 * second; // an hour begins

enum class shape : std::uint8_t {
    bucket,
    stepwise,
    aligned,
    window,
    from_first,
    calendar,
    counter,
    log
};

struct version {
    shape kind;
    std::int64_t capacity;
    std::int64_t count;
    std::int64_t period; ///< microseconds
    int offset = 0;      ///< of a calendar, in minutes

    [[nodiscard]] bool is_bucket() const { return kind <= shape::aligned; }
    /// Tokens that come back at one time, and not little by little.
    [[nodiscard]] std::int64_t step() const {
        return kind == shape::bucket || kind == shape::log ? 0 : count;
    }
    [[nodiscard]] std::int64_t most() const { return is_bucket() ? capacity : count; }
    [[nodiscard]] std::int64_t in(std::int64_t length) const {
        return static_cast<std::int64_t>((wide{count} * length + period - 1) / period);
    }
};

[[nodiscard]] rule rule_of(const version& v) {
    const auto period = microseconds{v.period};
    switch (v.kind) {
    case shape::bucket:
        return token_bucket(v.capacity, v.count, period).named("r");
    case shape::stepwise:
        return token_bucket(v.capacity, v.count, period).stepwise().named("r");
    case shape::aligned:
        return token_bucket(v.capacity, v.count, period).aligned().named("r");
    case shape::window:
        return fixed_window(v.count, period).named("r");
    case shape::from_first:
        return fixed_window(v.count, period).from_first().named("r");
    case shape::calendar:
        return calendar(v.count, v.period == day ? calendar_unit::day : calendar_unit::week,
                        std::chrono::minutes{v.offset})
            .named("r");
    case shape::counter:
        return sliding_window(v.count, period).named("r");
    case shape::log:
        return sliding_log(v.count, period).named("r");
    }
    return gcra(1, 1s);
}

[[nodiscard]] std::string text_of(const version& v) {
    return "kind " + std::to_string(static_cast<int>(v.kind)) + ", " + std::to_string(v.capacity) +
           " and " + std::to_string(v.count) + " per " + std::to_string(v.period) + " us, offset " +
           std::to_string(v.offset);
}

/// Returns how much both may admit in any closed interval of a length. Windows keep their ends: if
/// these differ, each version may repay its limit once within a moment, and their rates add up.
[[nodiscard]] std::int64_t bound(const version& a, const version& b, std::int64_t length) {
    const auto most = std::max(a.most(), b.most());
    const auto has_same_windows = a.kind == b.kind && a.period == b.period && a.offset == b.offset;
    if (!a.is_bucket() && a.kind != shape::log && !has_same_windows)
        return most + a.in(length) + b.in(length) + a.step() + b.step();
    return most + std::max(a.in(length), b.in(length)) + std::max(a.step(), b.step());
}

/// What calls ask for, and when.
enum class manner : std::uint8_t {
    mixed,
    greedy, ///< all that is left, and most often where a period ends
};

class history {
  public:
    history(std::uint64_t seed, std::size_t states, manner how)
        : random_(seed), how_(how), store_(states) {
        if (states == 1) // full: all keys share states
            store_.allow("other", policy{"other", gcra(1, 24h)}, {.now = at(start)});
    }

    [[nodiscard]] std::int64_t up_to(std::int64_t most) {
        return std::uniform_int_distribution<std::int64_t>{0, most}(random_);
    }
    [[nodiscard]] bool percent(std::int64_t p) { return up_to(99) < p; }

    [[nodiscard]] version draw(std::span<const shape> kinds) {
        const std::array periods{second,      2 * second,     7 * second,
                                 10 * second, 45 * second,    60 * second,
                                 90 * second, 3'600 * second, second + 3'000 + up_to(40) * 10'000,
                                 day};
        auto v = version{};
        v.kind = kinds[static_cast<std::size_t>(up_to(std::ssize(kinds) - 1))];
        v.count = 1 + up_to(percent(50) ? 30 : 5);
        v.capacity = percent(30) ? v.count : 1 + up_to(30);
        v.period = periods[static_cast<std::size_t>(up_to(std::ssize(periods) - 1))];
        if (v.kind == shape::calendar) {
            v.period = percent(50) ? day : 7 * day;
            v.offset = static_cast<int>(15 * (up_to(4) - 2));
        }
        return v;
    }

    /// By how much calls of both exceed their bound at worst.
    [[nodiscard]] std::int64_t excess(const version& a, const version& b) {
        const std::array versions{policy{"p", rule_of(a)}, policy{"p", rule_of(b)}};
        auto now = start + up_to(10) * second;
        auto granted = std::vector<std::pair<std::int64_t, std::int64_t>>{};
        for (int i = 0; i < 150; ++i) {
            now += next_wait(a, b, now);
            const auto most = std::max(a.most(), b.most());
            const auto is_greedy = how_ == manner::greedy;
            const auto cost = is_greedy ? most : percent(70) ? 1 : 1 + up_to(most);
            const auto least = is_greedy || percent(30) ? 1 : cost;
            const auto& p = versions[percent(50) ? 0 : 1];
            const auto d = store_.allow("k", p, {.cost = cost, .at_least = least, .now = at(now)});
            if (d.granted != 0)
                granted.emplace_back(now, d.granted);
        }
        auto worst = std::int64_t{0};
        for (std::size_t i = 0; i < granted.size(); ++i) {
            auto sum = std::int64_t{0};
            for (auto j = i; j < granted.size(); ++j) {
                sum += granted[j].second;
                worst = std::max(worst, sum - bound(a, b, granted[j].first - granted[i].first));
            }
        }
        return worst;
    }

  private:
    [[nodiscard]] static time_point at(std::int64_t us) { return time_point{microseconds{us}}; }

    /// Often none, and often up to the end of a period, where states change.
    [[nodiscard]] std::int64_t next_wait(const version& a, const version& b, std::int64_t now) {
        const auto period = (percent(50) ? a : b).period;
        if (percent(50))
            return 0;
        if (how_ == manner::mixed && percent(50))
            return up_to(2 * period / std::min(a.count, b.count));
        if (how_ == manner::mixed && percent(50))
            return up_to(2 * period);
        const auto is_idle = how_ == manner::greedy && percent(30);
        const auto from = now + (is_idle ? up_to(4 * std::max(a.period, b.period)) : 0);
        return (from / period + 1) * period - now - up_to(1);
    }

    std::mt19937_64 random_;
    manner how_;
    local_limiter store_;
};

constexpr std::array buckets{shape::bucket, shape::stepwise, shape::aligned};
constexpr std::array windows{shape::window, shape::from_first, shape::calendar};
constexpr std::array counters{shape::counter};
constexpr std::array logs{shape::log};

/// Kinds that read each other's states.
constexpr std::array<std::span<const shape>, 4> families{buckets, windows, counters, logs};

void check(std::size_t states, std::uint64_t histories, manner how = manner::mixed) {
    for (std::uint64_t seed = 1; seed <= test::rounds(histories); ++seed) {
        auto told = history{seed, states, how};
        const auto kinds = families[seed % families.size()];
        const auto a = told.draw(kinds);
        auto b = told.draw(kinds);
        if (how == manner::greedy && told.percent(70)) { // so they differ in their times only
            b.kind = a.kind;
            b.capacity = a.capacity;
            b.count = a.count;
            b.period = b.kind == shape::calendar ? a.period : b.period;
            b.offset = b.kind == shape::calendar ? b.offset : 0;
        }
        const auto worst = told.excess(a, b);
        BOOST_TEST(worst == 0, "seed " << seed << ": " << text_of(a) << "; " << text_of(b) << ": "
                                       << worst << " too many");
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(P16_holds_for_any_kinds_and_periods) {
    check(1'000, 20'000);
}

BOOST_AUTO_TEST_CASE(P16_holds_for_callers_who_take_all_that_there_is_where_a_period_ends) {
    check(1'000, 20'000, manner::greedy);
}

BOOST_AUTO_TEST_CASE(P16_holds_where_the_store_is_full) {
    check(1, 10'000);
}

/// A shorter window that spans the end of a longer one: were it forgotten at that end, the two
/// versions could grant their limits in turns, without end.
BOOST_AUTO_TEST_CASE(windows_that_do_not_divide_each_other_admit_no_more_in_one_instant) {
    const auto now = time_point{microseconds{start + 1'001 * second}};
    for (const auto kind : {shape::window, shape::counter})
        for (const auto& [a, b] :
             {std::pair{version{kind, 5, 5, 10 * second}, version{kind, 5, 5, 7 * second}},
              std::pair{version{kind, 60, 60, 60 * second}, version{kind, 60, 60, 45 * second}},
              std::pair{version{kind, 60, 60, 60 * second},
                        version{kind, 100, 100, 90 * second}}}) {
            for (std::int64_t shift = 0; shift < 90; ++shift) {
                auto store = local_limiter{100};
                const std::array versions{policy{"p", rule_of(a)}, policy{"p", rule_of(b)}};
                auto granted = std::int64_t{0};
                for (std::size_t i = 0; i < 1'000; ++i)
                    granted += store.allow("k", versions[i % 2], {.now = now + shift * 1s}).granted;
                BOOST_TEST(granted <= std::max(a.count, b.count));
            }
        }
}

BOOST_AUTO_TEST_SUITE_END()
