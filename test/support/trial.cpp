// SPDX-License-Identifier: BSL-1.0
//
// The effect of each verb on its key: 10 tokens, 4 of them used before, and each verb leaves
// another number of them.

#include <support/trial.hpp>

#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <ostream>
#include <stdexcept>
#include <utility>

namespace colimit::test {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

constexpr std::int64_t whole = 10;
constexpr std::int64_t used_before = 4;
constexpr std::int64_t blocked = -1;

/// One place an hour: a reservation more is an hour more.
const policy& line() {
    static const auto one = policy{"line", gcra(1, 1h).burst(1)};
    return one;
}

/// A window that does not end while a test runs.
const policy& window() {
    static const auto one = policy{"window", fixed_window(whole, 8760h)};
    return one;
}

/// Places, and a charge that stays.
const policy& places() {
    static const auto one =
        policy{"places", concurrent(whole).lease(24h), fixed_window(whole, 8760h)};
    return one;
}

const bloom_filter& filter() {
    static const auto one = bloom_filter{"filter", {.capacity = 50'000, .error_rate = 0.000001}};
    return one;
}

[[nodiscard]] bool asks_a_filter(kind_of_call k) noexcept {
    return k == kind_of_call::seen || k == kind_of_call::probably_seen ||
           k == kind_of_call::filter_status || k == kind_of_call::seen_many ||
           k == kind_of_call::probably_seen_many;
}

[[nodiscard]] bool asks_members(kind_of_call k) noexcept {
    return k == kind_of_call::count_distinct || k == kind_of_call::charge_members;
}

const policy& members() {
    static const auto one = policy{"members", distinct(10, 8760h)};
    return one;
}

constexpr auto two_members = std::array<std::string_view, 2>{"a", "b"};

[[nodiscard]] bool asks_checks(kind_of_call k) noexcept {
    return k == kind_of_call::allow_many || k == kind_of_call::allow_all;
}

/// Tokens left when the call was made, of those before it.
[[nodiscard]] std::int64_t left_by(kind_of_call k) noexcept {
    constexpr auto before = whole - used_before;
    switch (k) {
    case kind_of_call::allow:
    case kind_of_call::wait_in_line:
    case kind_of_call::acquire:
    case kind_of_call::allow_many:
    case kind_of_call::allow_all:
        return before - 1;
    case kind_of_call::charge:
        return before - 2;
    case kind_of_call::refund:
        return before + 2;
    case kind_of_call::reset:
        return whole;
    case kind_of_call::block:
        return blocked;
    default:
        return before;
    }
}

} // namespace

std::ostream& operator<<(std::ostream& out, kind_of_call kind) {
    constexpr auto names = std::array{"allow",          "peek",
                                      "charge",         "refund",
                                      "reset",          "block",
                                      "wait",           "wait_in_line",
                                      "acquire",        "once",
                                      "seen",           "probably_seen",
                                      "seen_many",      "probably_seen_many",
                                      "filter_status",  "count_distinct",
                                      "charge_members", "allow_many",
                                      "allow_all",      "ready"};
    static_assert(names.size() == every_kind.size());
    return out << names.at(static_cast<std::size_t>(kind));
}

std::ostream& operator<<(std::ostream& out, trace t) {
    constexpr auto names = std::array{"none", "made", "held", "strange"};
    return out << names.at(static_cast<std::size_t>(t));
}

trial::trial(limiter& l, kind_of_call kind, std::string key, policy rules)
    : limiter_(l), kind_(kind), key_(std::move(key)), other_key_(key_ + " too"),
      rules_(kind == kind_of_call::wait_in_line ? window() : std::move(rules)) {
    if (asks_checks(kind_))
        checks_ = {{.key = key_, .policy = rules_}, {.key = other_key_, .policy = rules_}};
    if (asks_a_filter(kind_) && has_parts(kind_))
        ids_ = {{.id = key_}, {.id = other_key_}};
}

bool trial::has_failed_part() const noexcept {
    const auto failed = [](const auto& part) { return !!part.ec; };
    return code_ || std::ranges::any_of(checks_, failed) || std::ranges::any_of(ids_, failed);
}

std::size_t trial::size() const noexcept {
    return asks_checks(kind_) || has_parts(kind_) ? 2 : kind_ == kind_of_call::ready ? 0 : 1;
}

asio::awaitable<void> trial::prepare() {
    if (kind_ == kind_of_call::wait) {
        (void)co_await limiter_.allow(key_, line());
        co_return;
    }
    if (asks_a_filter(kind_)) { // or the server would not know the script yet
        (void)co_await limiter_.seen(key_ + " of before", filter());
        co_return;
    }
    if (asks_members(kind_))
        co_return;
    if (kind_ == kind_of_call::acquire) {
        (void)co_await limiter_.acquire(key_, places(), {.cost = used_before});
        (void)co_await limiter_.peek(key_, places()); // whose reply comes after that to the release
        co_return;
    }
    const auto options = charge_options{.cost = used_before};
    (void)co_await limiter_.charge(key_, rules_, options);
    if (asks_checks(kind_))
        (void)co_await limiter_.charge(other_key_, rules_, options);
}

void trial::start() {
    switch (kind_) {
    case kind_of_call::allow:
        return limiter_.allow(key_, rules_, handler());
    case kind_of_call::peek:
        return limiter_.peek(key_, rules_, handler());
    case kind_of_call::charge:
        return limiter_.charge(key_, rules_, {.cost = 2}, handler());
    case kind_of_call::refund:
        return limiter_.refund(key_, rules_, {.cost = 2}, handler());
    case kind_of_call::reset:
        return limiter_.reset(key_, rules_, handler());
    case kind_of_call::block:
        return limiter_.block(key_, rules_, 1h, handler());
    case kind_of_call::wait:
        return limiter_.wait(key_, line(), {.max_wait = 48h}, handler());
    case kind_of_call::wait_in_line:
        return limiter_.wait(key_, rules_, {.max_wait = 48h}, handler());
    case kind_of_call::acquire:
        return limiter_.acquire(key_, places(), handler());
    case kind_of_call::once:
        return limiter_.once(key_, 1h, handler());
    case kind_of_call::seen:
        return limiter_.seen(key_, filter(), handler());
    case kind_of_call::probably_seen:
        return limiter_.probably_seen(key_, filter(), handler());
    case kind_of_call::seen_many:
        return limiter_.seen_many(ids_, filter(), handler());
    case kind_of_call::probably_seen_many:
        return limiter_.probably_seen_many(ids_, filter(), handler());
    case kind_of_call::filter_status:
        return limiter_.filter_status(filter(), handler());
    case kind_of_call::count_distinct:
        return limiter_.count_distinct(key_, members(), handler());
    case kind_of_call::charge_members:
        return limiter_.charge_members(key_, members(), two_members, handler());
    case kind_of_call::allow_many:
        return limiter_.allow_many(checks_, handler());
    case kind_of_call::allow_all:
        return limiter_.allow_all(checks_, handler());
    case kind_of_call::ready:
        return limiter_.ready(handler());
    }
}

void trial::start_neighbour(std::function<void()> on_answer) {
    const auto key = key_ + " of a neighbour";
    const auto then = [tell = std::move(on_answer)](error_code ec, const auto&... /*results*/) {
        if (ec)
            throw std::runtime_error{"the neighbour has no answer: " + ec.message()};
        tell();
    };
    if (kind_ == kind_of_call::wait)
        limiter_.allow(key, line(), then);
    else if (kind_ == kind_of_call::acquire)
        limiter_.peek(key, places(), then);
    else if (kind_ == kind_of_call::once)
        limiter_.once(key, 1h, then);
    else if (asks_a_filter(kind_))
        limiter_.seen(key, filter(), then);
    else if (asks_members(kind_))
        limiter_.allow(key, members(), {.member = "neighbour"}, then);
    else
        limiter_.allow(key, rules_, then);
}

asio::awaitable<std::int64_t> trial::left(std::string key) {
    const auto d = co_await limiter_.peek(key, rules_);
    co_return d.reason == denial_reason::block ? blocked : d.remaining;
}

asio::awaitable<trace> trial::look_at_ids() {
    const auto is_known = co_await limiter_.probably_seen(key_, filter());
    if (!ids_.empty()) {
        const auto is_other_known = co_await limiter_.probably_seen(other_key_, filter());
        if (is_other_known != is_known)
            co_return trace::strange;
    }
    co_return is_known ? trace::made : trace::none;
}

asio::awaitable<trace> trial::look_at_place() {
    const auto d = co_await limiter_.peek(key_, places(), check_options{.cost = 0});
    const auto is_held = d.rules[0].balance == whole - 1;
    const auto left = d.rules[1].balance;
    if (d.rules[0].balance != whole && !is_held)
        co_return trace::strange;
    if (left == left_by(kind_))
        co_return is_held ? trace::held : trace::made;
    co_return left == whole - used_before && !is_held ? trace::none : trace::strange;
}

asio::awaitable<trace> trial::look() {
    if (asks_a_filter(kind_)) {
        const auto found = co_await look_at_ids();
        co_return found;
    }
    if (kind_ == kind_of_call::acquire) {
        const auto found = co_await look_at_place();
        co_return found;
    }
    auto untouched = std::int64_t{0};
    auto touched = std::int64_t{1};
    auto found = std::int64_t{0};
    if (kind_ == kind_of_call::once) {
        const auto d = co_await limiter_.once(key_, 1h);
        found = d.allowed() ? untouched : touched;
    } else if (asks_members(kind_)) {
        touched = static_cast<std::int64_t>(two_members.size());
        found = co_await limiter_.count_distinct(key_, members());
    } else if (kind_ == kind_of_call::wait) {
        const auto options = check_options{.cost = 0};
        const auto d = co_await limiter_.peek(key_, line(), options);
        untouched = 1;
        touched = 2;
        found = std::chrono::ceil<std::chrono::hours>(d.reset_after).count();
    } else {
        untouched = whole - used_before;
        touched = left_by(kind_);
        found = co_await left(key_);
        if (asks_checks(kind_)) {
            const auto second = co_await left(other_key_);
            if (second != found)
                co_return trace::strange;
        }
    }
    co_return found == untouched ? trace::none : found == touched ? trace::made : trace::strange;
}

} // namespace colimit::test
