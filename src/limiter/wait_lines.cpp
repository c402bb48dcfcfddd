// SPDX-License-Identifier: BSL-1.0
//
// A line acts in rounds: some of its calls ask, and when all of them are decided it sleeps, or
// begins the next round.

#include <base/clocks.hpp>
#include <core/rule_kind.hpp>
#include <limiter/limiter_core.hpp>
#include <limiter/wait_lines.hpp>
#include <limiter/wait_queue.hpp>

#include <boost/asio/error.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

namespace colimit::detail {
namespace {

/// How long a call waits at most before it asks again for a place, which another process may give
/// back at any time.
constexpr std::int64_t longest_pause = 100'000;

/// How long a process passes places on among its own calls, if others may wait for them, and how
/// long it gives way then: each other one asks again meanwhile, also if its request takes a while.
constexpr std::int64_t longest_turn = 2'000'000;
constexpr std::int64_t time_to_give_way = longest_pause + longest_pause / 2;

/// Returns when a denied call is to ask again. If a place may be given back until `latest`, that is
/// not after it.
[[nodiscard]] std::int64_t time_to_ask(const line_place& place, const decision& d) noexcept {
    const auto now = steady_now();
    const auto& rules = place.policy->compiled;
    if (!rules.has_slots || d.reason != denial_reason::rule)
        return now + d.retry_after.count();
    auto wait = std::int64_t{0};
    for (std::size_t i = 0; i < d.rules.size(); ++i) {
        const auto& l = rules.limits[i];
        const auto of_rule = d.rules[i].retry_after.count();
        if (!l.shadow)
            wait = std::max(wait, core::has_slots(l) ? std::min(of_rule, longest_pause) : of_rule);
    }
    const auto due = now + wait;
    return wait > longest_pause || now >= place.latest ? due : std::min(due, place.latest);
}

/// Returns whether a call is to ask again only because a place may be given back at any time.
[[nodiscard]] bool only_looks(const line_place& place, std::int64_t now) noexcept {
    return place.slot != nullptr && place.due - now <= time_to_give_way;
}

/// Returns since when the first call of a line has waited.
[[nodiscard]] std::int64_t began(const waiting_line& line) noexcept {
    return line.places.front().began;
}

/// Returns how many of the `remaining` tokens or places a call takes.
[[nodiscard]] std::int64_t taken_by(const line_place& place) noexcept {
    return std::max<std::int64_t>(place.op.request.cost, place.slot ? 1 : 0);
}

} // namespace

line_place::line_place(operation& of, const call& c)
    : op(of), key(c.key), member(of.request.member), policy(*c.policy), now(of.request.now),
      began(steady_now()),
      latest(began + (of.request.verb == verb::acquire ? c.max_wait : of.request.at_least)) {
    if (of.request.verb == verb::reserve)
        of.request.verb = verb::allow;
    of.request.at_least = of.request.cost;
    of.request.member = member;
}

wait_lines::wait_lines(limiter_core& core)
    : core_(core), timer_(core.own_executor(), core.lock(), [this] { wake(); }) {}

wait_lines::~wait_lines() {
    lines_.clear_and_dispose([](waiting_line* line) {
        line->places.clear();
        line->in_order_of_latest.clear();
        delete line;
    });
}

waiting_line& wait_lines::line_of(const line_place& place) {
    const auto& p = *place.policy;
    const auto wanted = waiting_line{p.digest(place.key), p.fingerprint};
    if (const auto found = lines_.find(wanted); found != lines_.end())
        return *found;
    return *lines_.insert(*std::make_unique<waiting_line>(wanted.key, wanted.rules).release())
                .first;
}

stage_result wait_lines::join(operation& op) {
    auto& place = place_of(op);
    auto& line = line_of(place);
    line.places.push_back(place);
    line.in_order_of_latest.insert(place);
    place.line = &line;
    if (line.sleeps() && line.wakes_at > place.latest) {
        if (!only_looks(line.places.front(), steady_now())) {
            deny(place, line.wakes_at);
            return stage_result::ended;
        }
        interrupt(line);
    } else if (!line.sleeps() && line.asking == 0) {
        next_round(line);
    }
    return stage_result::kept;
}

bool wait_lines::try_enqueue(operation& op) {
    auto& place = place_of(op);
    if (place.line == nullptr)
        return false;
    auto& line = *place.line;
    place.is_asking = false;
    --line.asking;
    // What a failure mode decides without a store is no reason to ask again.
    const auto is_decided = !op.ec && op.result.source != decision_source::fail_closed;
    const auto is_denied = is_decided && op.result.outcome == outcome::denied;
    if (is_denied && place.is_cancelled)
        op.ec = boost::asio::error::operation_aborted;
    else if (is_denied && core_.is_closed())
        op.ec = errc::closed;
    else if (is_denied)
        place.due = time_to_ask(place, op.result);
    if (is_denied)
        line.denial = op.result;
    const auto stays = is_denied && !op.ec && place.due <= place.latest;
    if (!stays) {
        if (!is_decided)
            line.has_failed = line.has_failed || op.ec != boost::asio::error::operation_aborted;
        else if (!is_denied)
            line.remaining = op.result.remaining;
        leave(place);
        if (is_denied && !op.ec && !only_looks(place, steady_now()))
            deny_late(line, place.due, &place);
    }
    if (line.asking == 0)
        next_round(line);
    return stays;
}

void wait_lines::leave(line_place& place) noexcept {
    place.order_hook::unlink();
    place.latest_hook::unlink();
    place.line = nullptr;
}

void wait_lines::close_if_empty(waiting_line& line) noexcept {
    if (!line.places.empty())
        return;
    if (line.sleeps())
        sleeping_.erase(sleeping_.iterator_to(line));
    if (sleeping_.empty())
        timer_.clear();
    lines_.erase_and_dispose(lines_.iterator_to(line), std::default_delete<waiting_line>{});
}

void wait_lines::next_round(waiting_line& line) noexcept {
    if (line.places.empty() || core_.is_closed())
        return close_if_empty(line);
    auto& first = line.places.front();
    if (std::exchange(line.has_news, false))
        first.due = 0;
    const auto now = steady_now();
    const auto turn = turns_.find(line.key);
    const auto gives_way =
        first.slot != nullptr && turn != turns_.end() ? turn->second.gives_way : 0;
    first.due = std::max(first.due, gives_way);
    const auto earliest = line.in_order_of_latest.begin()->latest;
    // Before any of them is too late. Those whose time ends while the process gives way are denied,
    // if a denial is known: as long as each of them asks, an overloaded process takes all it
    // leaves.
    const auto denies_late = !line.denial.rules.empty();
    const auto look = denies_late ? std::max(earliest, gives_way) : earliest;
    const auto due = only_looks(first, now) ? std::min(first.due, look) : first.due;
    if (due > now) {
        deny_late(line, due, nullptr);
        return sleep(line, due);
    }
    auto left = line.has_failed ? limits::max_exact_integer : line.remaining;
    line.has_failed = false;
    line.remaining = 0;
    for (auto& place : line.places) {
        left = std::max<std::int64_t>(left - taken_by(place), -1);
        // Meanwhile a call of a line without a denial asks only when its own wait ends.
        const auto is_covered = gives_way <= now && (left >= 0 || &place == &first);
        if (!is_covered && earliest > now)
            break;
        if (is_covered || place.latest <= now)
            ask(place);
    }
}

void wait_lines::ask(line_place& place) noexcept {
    place.is_asking = true;
    ++place.line->asking;
    const auto passed = place.now == store_clock ? 0 : steady_now() - place.began;
    place.op.request.now = std::min(place.now + passed, limits::max_time);
    place.op.ec = {};
    place.op.result = {};
    try {
        if (core_.ask(place.op, place.key, place.policy) == stage_result::kept)
            return;
    } catch (const std::bad_alloc&) {
        place.op.ec = make_error_code(boost::system::errc::not_enough_memory);
    }
    core_.complete(place.op);
}

void wait_lines::sleep(waiting_line& line, std::int64_t until) noexcept {
    line.wakes_at = until;
    sleeping_.insert(line);
    timer_.set(sleeping_.begin()->wakes_at, core_.shared_from_this());
}

/// Begins the next round of a line that sleeps.
void wait_lines::interrupt(waiting_line& line) noexcept {
    sleeping_.erase(sleeping_.iterator_to(line));
    next_round(line);
}

/// Denies the calls that cannot be admitted in time if none is admitted before `due`.
/// @param denied only calls that need at least what this one did; null: all
void wait_lines::deny_late(waiting_line& line, std::int64_t due,
                           const line_place* denied) noexcept {
    const auto needs_as_much = [denied](const line_place& place) {
        return denied == nullptr ||
               (place.op.request.cost >= denied->op.request.cost && place.member == denied->member);
    };
    auto& places = line.in_order_of_latest;
    for (auto next = places.begin(); next != places.end() && next->latest < due;) {
        auto& place = *next++;
        if (!place.is_asking && needs_as_much(place)) {
            deny(place, due);
            core_.complete(place.op);
        }
    }
}

/// Denies a call that has not asked, with the last denial of its line as it is now.
void wait_lines::deny(line_place& place, std::int64_t due) noexcept {
    const auto& denial = place.line->denial;
    place.op.result = denial;
    const auto left = std::chrono::microseconds{due - steady_now()};
    pass_time(place.op.result, denial.retry_after - left);
    leave(place);
}

bool wait_lines::cancel(operation& op) noexcept {
    auto& place = place_of(op);
    if (place.line == nullptr)
        return false;
    place.is_cancelled = place.is_asking;
    if (place.is_asking)
        return false;
    auto& line = *place.line;
    const auto was_first = &place == &line.places.front();
    leave(place);
    if (line.sleeps() && was_first) // the next one may fit
        interrupt(line);
    return true;
}

std::int64_t wait_lines::turn_of(const hash::digest& key, std::int64_t free_places) noexcept {
    const auto now = steady_now();
    const auto turn = turns_.find(key);
    if (turn == turns_.end() || now - turn->second.released_at > time_to_give_way)
        return now;
    if (free_places == 0)
        return std::min(turn->second.since, now);
    turns_.erase(turn);
    return now;
}

/// Notes that a place of a turn was given back. What was given back so long ago that others have
/// looked since is forgotten.
void wait_lines::end_turn(const hash::digest& key, std::int64_t since) noexcept {
    const auto now = steady_now();
    const auto is_over = [now](const auto& t) {
        return now - t.second.released_at > time_to_give_way;
    };
    if (turns_.size() >= turns_to_sweep_) {
        std::erase_if(turns_, is_over);
        turns_to_sweep_ = std::max<std::size_t>(2 * turns_.size(), 64);
    }
    try {
        const auto [found, is_new] = turns_.try_emplace(key, place_turn{since, now});
        auto& turn = found->second;
        // What was held while it gave way belongs to the turn after that.
        since = std::max(since, turn.gives_way);
        turn.since = is_new || is_over(*found) ? since : std::min(turn.since, since);
        turn.released_at = now;
        if (turn.gives_way <= now && now - turn.since >= longest_turn)
            turn.gives_way = turn.since = now + time_to_give_way;
    } catch (const std::bad_alloc&) { // it does not give way this time
    }
}

void wait_lines::wake_line(const hash::digest& key, std::int64_t since) noexcept {
    if (core_.has_server())
        end_turn(key, since);
    const auto first = waiting_line{key, 0};
    auto* oldest = static_cast<waiting_line*>(nullptr);
    for (auto next = lines_.lower_bound(first); next != lines_.end() && next->key == key; ++next) {
        next->has_news = true;
        if (next->sleeps() && !next->places.empty() &&
            (oldest == nullptr || began(*next) < began(*oldest)))
            oldest = &*next;
    }
    if (oldest == nullptr)
        return;
    interrupt(*oldest);
    for (auto next = lines_.lower_bound(first); next != lines_.end() && next->key == key;)
        if (auto& line = *next++; line.sleeps() && !line.places.empty()) // its round may close it
            interrupt(line);
}

operation_list wait_lines::take_all() noexcept {
    auto all = operation_list{};
    for (auto line = lines_.begin(); line != lines_.end();) {
        auto& one = *line++;
        for (auto next = one.places.begin(); next != one.places.end();) {
            auto& place = *next++;
            if (place.is_asking)
                continue;
            leave(place);
            all.push_back(place.op);
        }
        close_if_empty(one);
    }
    timer_.clear();
    return all;
}

void wait_lines::wake() {
    const std::lock_guard guard{core_.lock()};
    const auto now = steady_now();
    while (!sleeping_.empty() && sleeping_.begin()->wakes_at <= now)
        interrupt(*sleeping_.begin());
    if (!sleeping_.empty())
        timer_.set(sleeping_.begin()->wakes_at, core_.shared_from_this());
}

} // namespace colimit::detail
