// SPDX-License-Identifier: BSL-1.0
//
// A queue acts in rounds: some of its calls ask, and when all of them are decided it sleeps, or
// begins the next round.

#include <base/clocks.hpp>
#include <core/rule_kind.hpp>
#include <limiter/key_queues.hpp>
#include <limiter/limiter_core.hpp>
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

/// How long a call waits at most before it asks again for a slot, which another process may release
/// at any time.
constexpr std::int64_t longest_pause = 100'000;

/// How long a process passes slots on among its own calls, if others may wait for them, and how
/// long it gives way then: each other one asks again meanwhile, also if its request takes a while.
constexpr std::int64_t longest_turn = 2'000'000;
constexpr std::int64_t time_to_give_way = longest_pause + longest_pause / 2;

/// Returns when a denied call is to ask again. If a slot may be released until its deadline, that
/// is not after it.
[[nodiscard]] std::int64_t time_to_ask(const waiter& w, const decision& d) noexcept {
    const auto now = steady_now();
    const auto& rules = w.policy->compiled;
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
    return wait > longest_pause || now >= w.deadline ? due : std::min(due, w.deadline);
}

/// Returns whether a call is to ask again only because a slot may be released at any time.
[[nodiscard]] bool is_polling(const waiter& w, std::int64_t now) noexcept {
    return w.slot != nullptr && w.due - now <= time_to_give_way;
}

/// Returns since when the first call of a queue has waited.
[[nodiscard]] std::int64_t began(const key_queue& queue) noexcept {
    return queue.waiters.front().began;
}

/// Returns how many of the `remaining` tokens or slots a call takes.
[[nodiscard]] std::int64_t taken_by(const waiter& w) noexcept {
    return std::max<std::int64_t>(w.op.request.cost, w.slot ? 1 : 0);
}

} // namespace

waiter::waiter(operation& of, const call& c)
    : op(of), key(c.key), member(of.request.member), policy(*c.policy), now(of.request.now),
      began(steady_now()),
      deadline(began + (of.request.verb == verb::acquire ? c.max_wait : of.request.at_least)) {
    if (of.request.verb == verb::reserve)
        of.request.verb = verb::allow;
    of.request.at_least = of.request.cost;
    of.request.member = member;
}

key_queues::key_queues(limiter_core& core)
    : core_(core), timer_(core.own_executor(), core.lock(), [this] { wake(); }) {}

key_queues::~key_queues() {
    queues_.clear_and_dispose([](key_queue* queue) {
        queue->waiters.clear();
        queue->by_deadline.clear();
        delete queue;
    });
}

key_queue& key_queues::queue_of(const waiter& w) {
    const auto& p = *w.policy;
    const auto wanted = key_queue{w.op.key_digest, p.fingerprint};
    if (const auto found = queues_.find(wanted); found != queues_.end())
        return *found;
    return *queues_.insert(*std::make_unique<key_queue>(wanted.key, wanted.rules).release()).first;
}

stage_result key_queues::join(operation& op) {
    auto& w = waiter_of(op);
    auto& queue = queue_of(w);
    queue.waiters.push_back(w);
    queue.by_deadline.insert(w);
    w.queue = &queue;
    if (queue.sleeps() && queue.wakes_at > w.deadline) {
        if (!is_polling(queue.waiters.front(), steady_now())) {
            deny(w, queue.wakes_at);
            return stage_result::ended;
        }
        interrupt(queue);
    } else if (!queue.sleeps() && queue.asking == 0) {
        next_round(queue);
    }
    return stage_result::kept;
}

bool key_queues::try_enqueue(operation& op) {
    auto& w = waiter_of(op);
    if (w.queue == nullptr)
        return false;
    auto& queue = *w.queue;
    w.is_asking = false;
    --queue.asking;
    // What a failure mode decides without a store is no reason to ask again.
    const auto is_decided = !op.ec && op.result.source != decision_source::fail_closed;
    const auto is_denied = is_decided && op.result.outcome == outcome::denied;
    if (is_denied && w.is_cancelled)
        op.ec = boost::asio::error::operation_aborted;
    else if (is_denied && core_.is_closed())
        op.ec = errc::closed;
    else if (is_denied)
        w.due = time_to_ask(w, op.result);
    if (is_denied)
        queue.denial = op.result;
    const auto stays = is_denied && !op.ec && w.due <= w.deadline;
    if (!stays) {
        if (!is_decided)
            queue.has_failed = queue.has_failed || op.ec != boost::asio::error::operation_aborted;
        else if (!is_denied)
            queue.remaining = op.result.remaining;
        remove(w);
        if (is_denied && !op.ec && !is_polling(w, steady_now()))
            deny_expired(queue, w.due, &w);
    }
    if (queue.asking == 0)
        next_round(queue);
    return stays;
}

void key_queues::remove(waiter& w) noexcept {
    w.order_hook::unlink();
    w.deadline_hook::unlink();
    w.queue = nullptr;
}

void key_queues::close_if_empty(key_queue& queue) noexcept {
    if (!queue.waiters.empty())
        return;
    if (queue.sleeps())
        sleeping_.erase(sleeping_.iterator_to(queue));
    if (sleeping_.empty())
        timer_.clear();
    queues_.erase_and_dispose(queues_.iterator_to(queue), std::default_delete<key_queue>{});
}

void key_queues::next_round(key_queue& queue) noexcept {
    if (queue.waiters.empty() || core_.is_closed())
        return close_if_empty(queue);
    auto& first = queue.waiters.front();
    if (std::exchange(queue.slot_was_released, false))
        first.due = 0;
    const auto now = steady_now();
    const auto turn = turns_.find(queue.key);
    const auto gives_way =
        first.slot != nullptr && turn != turns_.end() ? turn->second.gives_way : 0;
    first.due = std::max(first.due, gives_way);
    const auto earliest = queue.by_deadline.begin()->deadline;
    // Before any of them is too late. Those whose time ends while the process gives way are denied,
    // if a denial is known: as long as each of them asks, an overloaded process takes all it
    // leaves.
    const auto denies_expired = !queue.denial.rules.empty();
    const auto next_poll = denies_expired ? std::max(earliest, gives_way) : earliest;
    const auto due = is_polling(first, now) ? std::min(first.due, next_poll) : first.due;
    if (due > now) {
        deny_expired(queue, due, nullptr);
        return sleep(queue, due);
    }
    auto left = queue.has_failed ? limits::max_exact_integer : queue.remaining;
    queue.has_failed = false;
    queue.remaining = 0;
    for (auto& w : queue.waiters) {
        left = std::max<std::int64_t>(left - taken_by(w), -1);
        // Meanwhile a call of a queue without a denial asks only when its own wait ends.
        const auto is_covered = gives_way <= now && (left >= 0 || &w == &first);
        if (!is_covered && earliest > now)
            break;
        if (is_covered || w.deadline <= now)
            ask(w);
    }
}

void key_queues::ask(waiter& w) noexcept {
    w.is_asking = true;
    ++w.queue->asking;
    const auto passed = w.now == store_clock ? 0 : steady_now() - w.began;
    w.op.request.now = std::min(w.now + passed, limits::max_time);
    w.op.ec = {};
    w.op.result = {};
    try {
        if (core_.ask(w.op, w.key, w.policy) == stage_result::kept)
            return;
    } catch (const std::bad_alloc&) {
        w.op.ec = make_error_code(boost::system::errc::not_enough_memory);
    }
    core_.complete(w.op);
}

void key_queues::sleep(key_queue& queue, std::int64_t until) noexcept {
    queue.wakes_at = until;
    sleeping_.insert(queue);
    timer_.set(sleeping_.begin()->wakes_at, core_.shared_from_this());
}

/// Begins the next round of a queue that sleeps.
void key_queues::interrupt(key_queue& queue) noexcept {
    sleeping_.erase(sleeping_.iterator_to(queue));
    next_round(queue);
}

/// Denies the calls that cannot be admitted in time if none is admitted before `due`.
/// @param denied only calls that need at least what this one did; null: all
void key_queues::deny_expired(key_queue& queue, std::int64_t due, const waiter* denied) noexcept {
    const auto needs_as_much = [denied](const waiter& w) {
        return denied == nullptr ||
               (w.op.request.cost >= denied->op.request.cost && w.member == denied->member);
    };
    auto& waiters = queue.by_deadline;
    for (auto next = waiters.begin(); next != waiters.end() && next->deadline < due;) {
        auto& w = *next++;
        if (!w.is_asking && needs_as_much(w)) {
            deny(w, due);
            core_.complete(w.op);
        }
    }
}

/// Denies a call that has not asked, with the last denial of its queue as it is now.
void key_queues::deny(waiter& w, std::int64_t due) noexcept {
    const auto& denial = w.queue->denial;
    w.op.result = denial;
    const auto left = std::chrono::microseconds{due - steady_now()};
    pass_time(w.op.result, denial.retry_after - left);
    remove(w);
}

bool key_queues::cancel(operation& op) noexcept {
    auto& w = waiter_of(op);
    if (w.queue == nullptr)
        return false;
    w.is_cancelled = w.is_asking;
    if (w.is_asking)
        return false;
    auto& queue = *w.queue;
    const auto was_first = &w == &queue.waiters.front();
    remove(w);
    if (queue.sleeps() && was_first) // the next one may fit
        interrupt(queue);
    return true;
}

std::int64_t key_queues::turn_of(const hash::digest& key, std::int64_t free_slots) noexcept {
    const auto now = steady_now();
    const auto turn = turns_.find(key);
    if (turn == turns_.end() || now - turn->second.released_at > time_to_give_way)
        return now;
    if (free_slots == 0)
        return std::min(turn->second.since, now);
    turns_.erase(turn);
    return now;
}

/// Notes that a slot of a turn was released. What was released so long ago that others have asked
/// since is forgotten.
void key_queues::end_turn(const hash::digest& key, std::int64_t since) noexcept {
    const auto now = steady_now();
    const auto is_over = [now](const auto& t) {
        return now - t.second.released_at > time_to_give_way;
    };
    if (turns_.size() >= turns_to_sweep_) {
        std::erase_if(turns_, is_over);
        turns_to_sweep_ = std::max<std::size_t>(2 * turns_.size(), 64);
    }
    try {
        const auto [found, is_new] = turns_.try_emplace(key, slot_turn{since, now});
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

void key_queues::wake_queues(const hash::digest& key, std::int64_t since) noexcept {
    if (core_.has_server())
        end_turn(key, since);
    const auto first = key_queue{key, 0};
    auto* oldest = static_cast<key_queue*>(nullptr);
    for (auto next = queues_.lower_bound(first); next != queues_.end() && next->key == key;
         ++next) {
        next->slot_was_released = true;
        if (next->sleeps() && !next->waiters.empty() &&
            (oldest == nullptr || began(*next) < began(*oldest)))
            oldest = &*next;
    }
    if (oldest == nullptr)
        return;
    interrupt(*oldest);
    for (auto next = queues_.lower_bound(first); next != queues_.end() && next->key == key;)
        if (auto& queue = *next++;
            queue.sleeps() && !queue.waiters.empty()) // its round may close it
            interrupt(queue);
}

operation_list key_queues::take_all() noexcept {
    auto all = operation_list{};
    for (auto queue = queues_.begin(); queue != queues_.end();) {
        auto& one = *queue++;
        for (auto next = one.waiters.begin(); next != one.waiters.end();) {
            auto& w = *next++;
            if (w.is_asking)
                continue;
            remove(w);
            all.push_back(w.op);
        }
        close_if_empty(one);
    }
    timer_.clear();
    return all;
}

void key_queues::wake() {
    const std::lock_guard guard{core_.lock()};
    const auto now = steady_now();
    while (!sleeping_.empty() && sleeping_.begin()->wakes_at <= now)
        interrupt(*sleeping_.begin());
    if (!sleeping_.empty())
        timer_.set(sleeping_.begin()->wakes_at, core_.shared_from_this());
}

} // namespace colimit::detail
