// SPDX-License-Identifier: BSL-1.0
//
// The steps are those of the script, so that both leave the same bytes.

#include <colimit/limits.hpp>
#include <core/event_log.hpp>
#include <core/rule_kind.hpp>
#include <server_module/stored_log.hpp>
#include <server_module/string_value.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

namespace colimit::server_module {
namespace {

constexpr std::int64_t max_weight = core::event_log::max_weight;
constexpr std::int64_t latest = limits::max_exact_integer; ///< of all times; room is later
constexpr std::size_t first_part = 4096;                   ///< bytes
constexpr std::int64_t block = 64;                         ///< events
constexpr double spare = 1.125; ///< a log's key gets more than the TTL that it needs
constexpr std::int64_t spare_second = 1'000'000 - 1'000;

/// A command may name the log as something else, too.
constexpr auto has_changed = std::string_view{"ERR the log was changed by the same command"};

/// Returns for how many more events a log of so many gets room: a quarter, or as many up to four.
[[nodiscard]] std::int64_t room_for(std::int64_t events) noexcept {
    return events > 1 ? std::max(events / 4, std::min<std::int64_t>(events, 4)) : 0;
}

[[nodiscard]] std::size_t offset_of(std::int64_t i) noexcept {
    return core::log_head_bytes + core::logged_event_bytes * static_cast<std::size_t>(i);
}

} // namespace

stored_log::stored_log(command_run& run, const core::compiled_policy& rules,
                       bool finds_again) noexcept
    : run_(run), rules_(rules), own_longest_(core::log_period(rules)),
      most_(core::log_capacity(rules)), finds_again_(finds_again) {}

void stored_log::clear() noexcept {
    from_ = kept_ = before_ = total_ = newest_ = 0;
    tail_.clear();
}

void stored_log::open(api::string* name) {
    name_ = name;
    found_ = {};
    room_ = ends_ = noted_ = 0;
    longest_ = own_longest_;
    is_changed_ = is_cut_ = is_whole_ = false;
    clear();
    const auto value = string_value{run_, name};
    if (value.is_foreign())
        throw call_failure{std::string{wrong_type}};
    const auto bytes = value.read().value_or("");
    size_ = bytes.size();
    part_ = bytes.substr(0, first_part);
    part_at_ = 0;
    read_head();
}

void stored_log::read_head() {
    const auto events = core::events_in(size_);
    const auto head = core::read_log_head(part_);
    if (events == 0 || !head || head->first >= events)
        return;
    room_ = kept_ = events;
    ends_ = first_after(run_.now(), head->first, events);
    if (ends_ < room_ && at(ends_).t <= latest)
        ends_ = first_after(latest, ends_, room_);
    kept_ = ends_;
    if (ends_ == head->first)
        return clear();
    found_ = *head;
    found_.longest = std::min(found_.longest, std::int64_t{limits::max_recovery.count()});
    from_ = found_.first;
    before_ = found_.before;
    const auto last = at(ends_ - 1);
    newest_ = last.t;
    total_ = last.sum;
    // What the newest event has made forgotten does not come back if the clock is set back, or for
    // a version with a longer period.
    if (is_ahead() || found_.longest < own_longest_)
        forget(newest_ - found_.longest);
    longest_ = std::max(found_.longest, own_longest_);
    noted_ = found_.longest;
}

/// Reads some events from an index on.
void stored_log::read_part(std::int64_t i) {
    part_at_ = offset_of(i);
    const auto bytes = string_value{run_, name_}.read().value_or("");
    if (bytes.size() != size_)
        throw call_failure{std::string{has_changed}};
    part_ = bytes.substr(part_at_, core::logged_event_bytes * block);
}

stored_log::event stored_log::at(std::int64_t i) {
    if (i >= kept_)
        return tail_[static_cast<std::size_t>(i - kept_)];
    const auto at = offset_of(i);
    if (at < part_at_ || at + core::logged_event_bytes > part_at_ + part_.size())
        read_part(i - i % block);
    return core::read_event(&part_[at - part_at_]);
}

/// Returns the first event after a time.
std::int64_t stored_log::first_after(std::int64_t time, std::int64_t first, std::int64_t last) {
    while (first < last) {
        const auto middle = (first + last) / 2;
        if (at(middle).t <= time)
            first = middle + 1;
        else
            last = middle;
    }
    return first;
}

/// Returns the first event from `first` to `last` up to which all weigh at least `sum`.
std::int64_t stored_log::first_with(std::int64_t sum, std::int64_t first, std::int64_t last) {
    while (first < last) {
        const auto middle = (first + last) / 2;
        if (at(middle).sum >= sum)
            last = middle;
        else
            first = middle + 1;
    }
    return first;
}

std::int64_t stored_log::weight_before(std::int64_t i) {
    return i == from_ ? before_ : at(i - 1).sum;
}

/// Forgets the events up to a time.
void stored_log::forget(std::int64_t until) {
    const auto first = first_after(until, from_, end());
    before_ = weight_before(first);
    from_ = first;
}

/// Replaces the events from `i` on by one.
void stored_log::put(std::int64_t i, event e) {
    kept_ = std::min(kept_, i);
    tail_.resize(static_cast<std::size_t>(i - kept_));
    tail_.push_back(e);
    newest_ = e.t;
    total_ = e.sum;
    is_changed_ = true;
}

void stored_log::erase() noexcept {
    clear();
    is_changed_ = true;
}

void stored_log::move_to_now() {
    if (!is_ahead())
        return;
    put(first_after(run_.now(), from_, end()), {.t = run_.now(), .sum = total_});
    is_cut_ = true;
}

/// Returns when so many of the oldest events will have left the window that `over` more fits; 0 if
/// it does now.
/// @param position of the first event in the window
std::int64_t stored_log::fits_at(const core::compiled_rule& l, std::int64_t used,
                                 std::int64_t position, std::int64_t over) {
    const auto now = run_.now();
    if (over <= 0)
        return 0;
    if (over > used)
        return now + l.period;
    // An event weighs at least 1.
    const auto last = std::min(position + over, end()) - 1;
    const auto found = first_with(weight_before(position) + over, position, last);
    return std::min(at(found).t, now) + l.period;
}

void stored_log::report(std::int64_t amount, std::int64_t denied,
                        std::span<core::rule_state> states) {
    for (std::uint32_t i = 0; i < rules_.size; ++i) {
        const auto& l = rules_.limits[i];
        if (!core::is_log(l))
            continue;
        const auto position = first_after(run_.now() - l.period, from_, end());
        const auto used = std::clamp<std::int64_t>(total_ - weight_before(position), 0, max_weight);
        auto& s = states[i] = {};
        s.debt = used;
        s.t = used == 0 ? 0 : std::min(newest_, run_.now());
        if (amount > l.debt_limit)
            continue;
        const auto over = used + amount - l.debt_limit;
        s.capacity = fits_at(l, used, position, over);
        s.num = rules_.counts_denied ? fits_at(l, used, position, over + denied) : 0;
    }
}

/// Lets sums begin anew with the weight that counts.
void stored_log::rebase() {
    auto events = std::vector<event>{};
    for (auto i = from_; i < end(); ++i) {
        const auto e = at(i);
        events.push_back({.t = e.t, .sum = std::max<std::int64_t>(0, e.sum - before_)});
    }
    const auto weight = total_ - before_;
    clear();
    tail_ = std::move(events);
    total_ = weight;
    is_whole_ = true;
}

/// Keeps at most `most_` events. Beyond that the oldest are merged into one event with the time of
/// the last of them: an eighth at a time, so that few calls do this.
void stored_log::merge_oldest() noexcept {
    const auto events = end() - from_;
    if (events <= most_)
        return;
    from_ += std::min(events - most_ + most_ / 8, events - 1);
    is_cut_ = true;
}

void stored_log::record(std::int64_t cost) {
    forget(run_.now() - longest_);
    const auto used = std::max<std::int64_t>(0, total_ - before_);
    const auto weight = std::min(cost, max_weight - used);
    if (weight <= 0)
        return;
    if (run_.is_full())
        throw call_failure{std::string{over_maxmemory}};
    if (used == 0) {
        clear();
        longest_ = own_longest_;
        is_whole_ = true;
    } else if (total_ + weight > core::max_log_sum) {
        rebase();
    }
    noted_ = longest_;
    put(end(), {.t = run_.now(), .sum = total_ + weight});
    merge_oldest();
}

void stored_log::refund(std::int64_t weight) {
    if (weight == 0 || total_ == 0)
        return;
    forget(run_.now() - longest_);
    const auto target = total_ - weight;
    if (target <= before_)
        return erase();
    const auto i = first_with(target, from_, end() - 1);
    put(i, {.t = std::min(at(i).t, run_.now()), .sum = target});
    noted_ = longest_;
    is_cut_ = true;
}

std::string stored_log::head(double expires, std::int64_t first) const {
    auto bytes = std::string{};
    core::append_log_head(
        bytes, {.expires = expires, .longest = noted_, .before = before_, .first = first});
    return bytes;
}

/// Writes the events behind the stored ones that are kept, over others.
void stored_log::write_tail(double kept_for, bool has_ttl) {
    auto expires = found_.expires;
    if (!has_ttl) {
        run_.keep(name_, kept_for);
        expires = static_cast<double>(run_.expiry_after(kept_for).promised_us);
    }
    auto bytes = std::string{};
    for (const auto& e : tail_)
        core::append_event(bytes, e);
    core::append_room(bytes, std::max<std::int64_t>(0, ends_ - end()));
    auto value = string_value{run_, name_};
    if (is_cut_ || noted_ != found_.longest || expires != found_.expires)
        value.change_part(0, head(expires, from_));
    value.change_part(offset_of(kept_), bytes);
}

void stored_log::write_all(double kept_for) {
    auto when = run_.expiry_after(kept_for);
    const auto promised = static_cast<double>(when.promised_us);
    if (finds_again_) { // a TTL that has passed would delete it
        run_.keep(name_, kept_for);
        when = run_.expiry_in(limits::max_recovery.count() / 1'000);
    }
    auto value = string_value{run_, name_};
    auto bytes = head(promised, 0);
    if (kept_ > from_) {
        const auto first = offset_of(from_);
        bytes += value.read().value_or("").substr(first, offset_of(kept_) - first);
    }
    for (auto i = std::max(from_, kept_); i < end(); ++i)
        core::append_event(bytes, at(i));
    core::append_room(bytes, run_.is_full() ? 0 : room_for(end() - from_));
    value.write(bytes, when);
}

void stored_log::save() {
    if (!std::exchange(is_changed_, false))
        return;
    if (auto value = string_value{run_, name_};
        value.is_foreign() || value.read().value_or("").size() != size_)
        throw call_failure{std::string{has_changed}};
    else if (end() == from_)
        return size_ > 0 ? value.erase() : void();
    const auto now = run_.now();
    const auto matters = longest_ - (now - newest_);
    const auto is_supplied = run_.clock().source == clock_source::caller;
    const auto has_ttl = !is_supplied && found_.expires >= static_cast<double>(now + matters) &&
                         found_.expires < static_cast<double>(now + 2 * matters + spare_second);
    const auto written = static_cast<std::size_t>(std::max(end(), ends_) - kept_);
    const auto is_long = size_ >= first_part;
    const auto keeps_ttl = has_ttl || (is_long ? end() - from_ > from_ : is_supplied);
    const auto kept_for = static_cast<double>(matters) * spare;
    if (!is_whole_ && !run_.is_full() && end() <= room_ && keeps_ttl &&
        written * core::logged_event_bytes <= first_part)
        write_tail(kept_for, has_ttl);
    else
        write_all(kept_for);
}

} // namespace colimit::server_module
