// SPDX-License-Identifier: BSL-1.0
//
// The commands on a log, in the order in which the script calls them, so that both leave the same
// events.

#include <base/bytes.hpp>
#include <colimit/limits.hpp>
#include <core/event_log.hpp>
#include <core/rule_kind.hpp>
#include <server_module/event_set.hpp>
#include <server_module/sorted_set.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace colimit::server_module {
namespace {

constexpr std::int64_t max_sum = (std::int64_t{1} << 48) - 1;
constexpr std::int64_t max_weight = core::event_log::max_weight;
constexpr std::size_t sum_bytes = 6;
constexpr std::size_t own_bytes = 4;
constexpr std::size_t span_bytes = 2;
constexpr std::size_t event_bytes = sum_bytes + own_bytes + span_bytes;

[[nodiscard]] std::int64_t limited(std::int64_t number, std::int64_t most) noexcept {
    return std::clamp<std::int64_t>(number, 0, most);
}

[[nodiscard]] std::int64_t read_big_endian(std::string_view bytes) noexcept {
    auto number = std::uint64_t{0};
    for (const auto byte : bytes)
        number = number << 8U | static_cast<unsigned char>(byte);
    return static_cast<std::int64_t>(number);
}

/// Writes the lowest bytes of a number.
char* write_big_endian(char* to, std::size_t size, std::int64_t number) noexcept {
    for (auto left = size; left != 0; --left)
        *to++ = static_cast<char>(static_cast<std::uint64_t>(number) >> 8 * (left - 1));
    return to;
}

} // namespace

event_set::event_set(command_run& run, const core::compiled_policy& rules) noexcept
    : run_(run), rules_(rules), own_longest_(core::log_period(rules)),
      own_span_(core::event_log::span_of(own_longest_)), most_(core::log_capacity(rules)) {}

event_set::event event_set::event_in(const server_reply& reply) noexcept {
    const auto member = reply[0];
    if (!member || member->size() != event_bytes)
        return {};
    return {.sum = read_big_endian(member->substr(0, sum_bytes)),
            .own = read_big_endian(member->substr(sum_bytes, own_bytes)),
            .span =
                static_cast<std::uint16_t>(read_big_endian(member->substr(sum_bytes + own_bytes)))};
}

void event_set::keep_for(std::uint16_t span) noexcept {
    span_ = span;
    longest_ = span > own_span_ ? core::event_log::duration_of(span) : own_longest_;
}

void event_set::open(api::string* name) {
    name_ = name;
    const auto last = read(run_, "ZRANGE", "sccc", name, "-1", "-1", "WITHSCORES");
    const auto found = event_in(last);
    total_ = found.sum;
    exists_ = last[0].has_value();
    expired_.reset();
    newest_ = whole(score_in(last[1].value_or("0")), limits::max_exact_integer);
    found_span_ = found.span;
    keep_for(std::max(found.span, own_span_));
}

/// Keeps the log until its newest event expires.
void event_set::keep_log() {
    run_.keep(name_, static_cast<double>(longest_ - (run_.now() - newest_)));
}

void event_set::add(std::string_view time, const event& what) {
    auto member = std::array<char, event_bytes>{};
    auto* end = write_big_endian(member.data(), sum_bytes, what.sum);
    end = write_big_endian(end, own_bytes, what.own);
    (void)write_big_endian(end, span_bytes, what.span);
    exists_ = true;
    (void)change(run_, "ZADD", "!sbb", name_, time.data(), time.size(), member.data(),
                 member.size());
}

void event_set::add_at_now(const event& what) {
    add(detail::decimal{run_.now()}, what);
}

void event_set::remove(std::string_view member) {
    (void)change(run_, "ZREM", "!sb", name_, member.data(), member.size());
}

void event_set::remove_until(std::int64_t time) {
    (void)change(run_, "ZREMRANGEBYSCORE", "!scl", name_, "-inf", static_cast<long long>(time));
}

void event_set::erase() {
    if (std::exchange(exists_, false))
        (void)change(run_, "DEL", "!s", name_);
    total_ = newest_ = 0;
}

server_reply event_set::event_at(std::int64_t rank) const {
    const auto at = static_cast<long long>(rank);
    return read(run_, "ZRANGE", "sllc", name_, at, at, "WITHSCORES");
}

std::int64_t event_set::count() const {
    return read(run_, "ZCARD", "s", name_).integer();
}

event_set::event event_set::first_after(std::int64_t time) const {
    const auto from = after(time);
    return event_in(read(run_, "ZRANGEBYSCORE", "sbcccc", name_, from.data(), from.size(), "+inf",
                         "LIMIT", "0", "1"));
}

/// Returns the weight of the events that a window of `us` no longer covers.
std::int64_t event_set::weight_before(std::int64_t us) const {
    const auto first = first_after(run_.now() - us);
    return first.sum == 0 ? total_ : first.sum - first.own;
}

void event_set::move_to_now() {
    if (!is_ahead())
        return;
    expired_.reset();
    const auto first = first_after(run_.now());
    newest_ = run_.now();
    if (total_ > 0)
        add_at_now({.sum = total_,
                    .own = limited(total_ - (first.sum - first.own), max_weight),
                    .span = found_span_});
    const auto from = after(run_.now());
    (void)change(run_, "ZREMRANGEBYSCORE", "!sbc", name_, from.data(), from.size(), "+inf");
    keep_log();
}

/// Returns the first rank from `from` to `to` up to which the events weigh at least `sum`.
std::int64_t event_set::rank_of(std::int64_t sum, std::int64_t from, std::int64_t to) const {
    while (from < to) {
        const auto middle = (from + to) / 2;
        if (event_in(event_at(middle)).sum >= sum)
            to = middle;
        else
            from = middle + 1;
    }
    return from;
}

/// Returns when so many of the oldest events will have left the window that `over` more fits; 0 if
/// it does now.
std::int64_t event_set::fits_at(const core::compiled_rule& l, std::int64_t used, std::int64_t gone,
                                std::int64_t over) const {
    const auto now = run_.now();
    if (over <= 0)
        return 0;
    if (over > used)
        return now + l.period;
    const auto from =
        read(run_, "ZCOUNT", "scl", name_, "-inf", static_cast<long long>(now - l.period))
            .integer();
    // An event weighs at least 1.
    const auto rank = rank_of(gone + over, from, std::min(from + over, count()) - 1);
    const auto found = event_at(rank);
    const auto time = found[1];
    return (time ? whole(score_in(*time), now) : now) + l.period;
}

void event_set::report(std::int64_t amount, std::int64_t denied,
                       std::span<core::rule_state> states) {
    for (std::uint32_t i = 0; i < rules_.size; ++i) {
        const auto& l = rules_.limits[i];
        if (!core::is_log(l))
            continue;
        const auto gone = total_ == 0 ? 0 : weight_before(l.period);
        if (l.period == longest_)
            expired_ = gone;
        const auto used = limited(total_ - gone, max_weight);
        auto& s = states[i] = {};
        s.debt = used;
        s.t = used == 0 ? 0 : std::min(newest_, run_.now());
        if (amount > l.full)
            continue;
        const auto over = used + amount - l.full;
        s.capacity = fits_at(l, used, gone, over);
        s.num = rules_.counts_denied ? fits_at(l, used, gone, over + denied) : 0;
    }
}

/// Keeps at most `most_` events. Beyond that the oldest are merged into one event with the time of
/// the last of them: an eighth at a time, so that few calls do this.
void event_set::merge_oldest() {
    const auto surplus = count() - most_;
    if (surplus <= 0)
        return;
    const auto rank = surplus + most_ / 8;
    const auto oldest = event_in(event_at(0));
    const auto last = event_at(rank);
    const auto merged = event_in(last);
    const auto weight = merged.sum - (oldest.sum - oldest.own);
    (void)change(run_, "ZREMRANGEBYRANK", "!sll", name_, 0LL, static_cast<long long>(rank - 1));
    if (weight <= merged.own || weight > max_weight)
        return;
    add(last[1].value_or(""), {.sum = merged.sum, .own = weight, .span = merged.span});
    remove(last[0].value_or(""));
}

void event_set::record(std::int64_t cost) {
    const auto expired = total_ == 0 ? 0 : expired_ ? *expired_ : weight_before(longest_);
    const auto used = total_ - expired;
    expired_.reset();
    auto weight = std::min(cost, max_weight - used);
    if (weight <= 0)
        return;
    if (run_.is_full())
        throw call_failure{std::string{over_maxmemory}};
    if (total_ + weight > max_sum) { // everything that counts is merged into this event
        erase();
        weight = used + weight;
    } else if (used == 0) {
        erase();
        keep_for(own_span_);
    } else {
        remove_until(run_.now() - longest_);
    }
    total_ += weight;
    newest_ = run_.now();
    add_at_now({.sum = total_, .own = weight, .span = span_});
    if (used + weight > most_) // an event weighs at least 1
        merge_oldest();
    keep_log();
}

/// It begins with a removal, which a full server accepts, and then also the rest.
void event_set::refund(std::int64_t weight) {
    if (weight == 0 || total_ == 0)
        return;
    expired_.reset();
    remove_until(run_.now() - longest_);
    const auto target = total_ - weight;
    if (target <= weight_before(longest_))
        return erase();
    const auto rank = rank_of(target, 0, count() - 1);
    const auto found = event_at(rank);
    const auto time = found[1];
    if (!time)
        return;
    const auto last = event_in(found);
    (void)change(run_, "ZREMRANGEBYRANK", "!sll", name_, rank + 1LL, -1LL);
    // Added before the removal: an empty set would lose its TTL.
    if (last.sum > target || last.span != span_) {
        add(*time, {.sum = target, .own = last.own - (last.sum - target), .span = span_});
        remove(found[0].value_or(""));
    }
    total_ = target;
    newest_ = whole(score_in(*time), limits::max_exact_integer);
    keep_log();
}

} // namespace colimit::server_module
