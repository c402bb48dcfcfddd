// SPDX-License-Identifier: BSL-1.0
//
// A slot is in the list from its grant until it is released, so that its handle can be told that it
// is lost.

#include <base/clocks.hpp>
#include <core/rule_kind.hpp>
#include <core/verb_traits.hpp>
#include <hash/process_secret.hpp>
#include <limiter/limiter_core.hpp>
#include <limiter/slot_keeper.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

namespace colimit::detail {
namespace {

/// A store in this process takes 5 us for the renewal of a slot.
constexpr int most_at_once = 1'000;

/// Returns the pause after an error.
[[nodiscard]] std::int64_t pause_of(const held_slot& of) noexcept {
    return std::min<std::int64_t>(of.lease / 12, 1'000'000);
}

/// Returns whether a slot is due, or is to be renewed so soon that it is renewed with others.
[[nodiscard]] bool is_due(const held_slot& of, std::int64_t now) noexcept {
    const auto may_be_early = of.state == slot_state::held && of.due < of.ends;
    return of.due <= now || (may_be_early && of.due - pause_of(of) / 4 <= now);
}

[[nodiscard]] std::int64_t end_of_lease(const held_slot& of) noexcept {
    return of.asked_at + of.lease - of.lease / 1'000;
}

/// Returns the slots that are free after a grant; other rules may have less left.
[[nodiscard]] std::int64_t free_slots(const core::compiled_policy& rules,
                                      const decision& granted) noexcept {
    auto left = limits::max_concurrent;
    for (std::size_t i = 0; i < granted.rules.size(); ++i)
        if (core::has_slots(rules.limits[i]))
            left = std::min(left, granted.rules[i].remaining());
    return left;
}

} // namespace

acquisition::~acquisition() {
    if (slot)
        give_back(*slot);
}

void give_back(held_slot& of) noexcept {
    const std::lock_guard guard{of.pool->lock};
    if (of.state != slot_state::ended)
        of.core->slots().release(of);
}

slot_keeper::slot_keeper(limiter_core& core)
    : core_(core), secret_(hash::draw_secret()),
      timer_(core.own_executor(), core.lock(), [this] { wake(); }) {}

void slot_keeper::begin(operation& op, const call& c) {
    auto made = std::make_shared<held_slot>();
    made->pool = core_.calls();
    made->core = &core_;
    made->key = c.key;
    made->policy = *c.policy;
    made->now = op.request.now;
    made->began = steady_now();
    for (const auto& l : (*c.policy)->compiled.rules())
        if (core::has_slots(l))
            made->lease = l.period;
    auto hash = hash::key_hash{secret_};
    hash.add(++asked_);
    const auto random = hash.finish({});
    static_assert(sizeof random >= sizeof made->holder);
    std::memcpy(made->holder.data(), &random, made->holder.size());
    op.request.member = made->id();
    op.attached = std::make_unique<acquisition>(std::move(made));
}

void slot_keeper::note_asked(const operation& op) noexcept {
    acquisition::slot_of(op).asked_at = steady_now();
}

/// A later denial does not say that an earlier question, whose answer was lost, got no slot:
/// another rule may have denied it, as it was charged by the first one.
void slot_keeper::note_answer(const operation& op) noexcept {
    if (op.attached == nullptr)
        return;
    auto& slot = acquisition::slot_of(op);
    // It may have waited for its connection for longer than the lease.
    slot.asked_at = std::max(slot.asked_at, op.sent_at);
    if (op.ec == condition::maybe_charged || op.ec == errc::corrupt_state)
        slot.may_be_held = true;
}

void slot_keeper::note_cancelled(const operation& op) noexcept {
    acquisition::slot_of(op).may_be_held = true;
}

void slot_keeper::end(const operation& op) noexcept {
    if (op.attached == nullptr)
        return;
    auto& slot = acquisition::slot_of(op);
    slot.ends = end_of_lease(slot);
    const auto is_granted = !op.ec && op.result.allowed();
    if (core_.is_closed() || (!is_granted && !slot.may_be_held)) {
        slot.state = slot_state::ended;
    } else if (is_granted) {
        ++acquired_;
        ++held_;
        slot.turn =
            core_.queues().turn_of(op.key_digest, free_slots(slot.policy->compiled, op.result));
        slot.due = slot.asked_at + slot.lease / 3;
        keep(slot, slot_state::held);
    } else {
        slot.due = steady_now();
        slot.ends = slot.due + slot.lease; // when it was sent is not known
        keep(slot, slot_state::releasing);
    }
}

void slot_keeper::keep(held_slot& of, slot_state as) noexcept {
    of.state = as;
    of.kept = of.shared_from_this();
    slots_.insert(of);
    set_timer();
}

void slot_keeper::schedule(held_slot& of, std::int64_t due) noexcept {
    slots_.erase(slots_.iterator_to(of));
    of.due = due;
    slots_.insert(of);
}

/// Removes a slot from the list. Its caller keeps it alive.
void slot_keeper::drop(held_slot& of) noexcept {
    slots_.erase(slots_.iterator_to(of));
    of.state = slot_state::ended;
    of.kept.reset();
}

void slot_keeper::release(held_slot& of) noexcept {
    if (of.state == slot_state::held) {
        --held_;
        ++(of.renewal || steady_now() < end_of_lease(of) ? released_ : lost_);
    } else if (of.state != slot_state::lost) { // a renewal whose reply was lost may have kept it
        return;
    }
    of.state = slot_state::releasing;
    const auto now = steady_now();
    // The last renewal may have been granted, also just now.
    of.ends = of.renewal ? now + of.lease : end_of_lease(of);
    serve(of, now);
    core_.queues().wake_queues(of.policy->digest(of.key), of.turn);
}

void slot_keeper::watch(held_slot& of, asio::cancellation_signal& signal,
                        asio::cancellation_type type) noexcept {
    of.signal = &signal;
    of.signal_type = type;
    if (of.state == slot_state::lost) {
        schedule(of, steady_now());
        set_timer();
    }
}

void slot_keeper::close() noexcept {
    held_ = 0;
    if (slots_.empty())
        return;
    while (!slots_.empty()) {
        const auto first = slots_.begin()->shared_from_this();
        drop(*first);
    }
    timer_.clear();
}

void slot_keeper::lose(held_slot& of) noexcept {
    --held_;
    ++lost_;
    of.state = slot_state::lost;
    schedule(of, steady_now());
}

/// Makes a call about the slot, which then lives until it has ended.
void slot_keeper::send(held_slot& of, std::optional<slot_call>& by, verb v) noexcept {
    const auto passed = of.now == store_clock ? 0 : steady_now() - of.began;
    auto& call = by.emplace(core_, of.shared_from_this(), &slot_keeper::finish);
    core_.start_locked(
        call, {.kind = call_kind::release,
               .key = of.key,
               .policy = &of.policy,
               .request = make_request(v, of.id(), std::min(of.now + passed, limits::max_time))});
}

void slot_keeper::finish(operation* base, bool invoke) {
    const auto slot = std::move(static_cast<slot_call*>(base)->slot);
    const auto pool = slot->pool;
    const std::lock_guard guard{pool->lock};
    const auto is_renewal = base->request.verb == verb::renew;
    const auto why = base->ec;
    const auto is_granted = base->result.allowed();
    (is_renewal ? slot->renewal : slot->release).reset();
    if (!invoke || slot->state == slot_state::ended)
        return;
    auto& all = slot->core->slots();
    if (is_renewal)
        all.end_renewal(*slot, why, is_granted);
    else
        all.end_release(*slot, why);
    all.set_timer();
}

void slot_keeper::end_renewal(held_slot& of, error_code why, bool is_granted) noexcept {
    if (of.state != slot_state::held)
        return;
    if (steady_now() >= of.ends) // `lost` has said so
        return lose(of);
    if (why)
        return schedule(of, std::min(steady_now() + pause_of(of), of.ends));
    if (!is_granted)
        return lose(of);
    ++renewed_;
    of.ends = end_of_lease(of);
    schedule(of, of.asked_at + of.lease / 3);
}

void slot_keeper::end_release(held_slot& of, error_code why) noexcept {
    const auto now = steady_now();
    if (!why || why == condition::permanent || now >= of.ends)
        return drop(of);
    schedule(of, now + pause_of(of));
}

/// Does what is due for a slot.
void slot_keeper::serve(held_slot& of, std::int64_t now) noexcept {
    switch (of.state) {
    case slot_state::held:
        if (now >= of.ends)
            return lose(of);
        BOOST_ASSERT(!of.renewal); // while there is one, the slot is due only when its lease ends
        of.asked_at = now;
        send(of, of.renewal, verb::renew);
        return schedule(of, of.ends);
    case slot_state::releasing:
        BOOST_ASSERT(!of.release);
        send(of, of.release, verb::release);
        return schedule(of, held_slot::never);
    default:
        BOOST_ASSERT(of.state == slot_state::lost);
        schedule(of, held_slot::never);
    }
}

void slot_keeper::wake() {
    const auto now = steady_now();
    for (auto served = 0;; ++served) {
        auto* signal = static_cast<asio::cancellation_signal*>(nullptr);
        auto type = asio::cancellation_type::none;
        {
            const std::lock_guard guard{core_.lock()};
            if (slots_.empty() || !is_due(*slots_.begin(), now) || served == most_at_once)
                return set_timer();
            auto& first = *slots_.begin();
            serve(first, now);
            // After all that was due with it, as what the signal calls may take long.
            if (first.state == slot_state::lost && first.due == held_slot::never)
                signal = std::exchange(first.signal, nullptr);
            if (signal == nullptr)
                continue;
            type = first.signal_type;
            set_timer(); // what the signal calls may throw
        }
        signal->emit(type);
    }
}

void slot_keeper::set_timer() noexcept {
    if (slots_.empty() || slots_.begin()->due == held_slot::never)
        timer_.clear();
    else
        timer_.set(slots_.begin()->due, core_.shared_from_this());
}

void slot_keeper::add_statistics(colimit::statistics& to) const noexcept {
    to.slots_held = held_;
    to.slots_acquired = acquired_;
    to.slots_renewed = renewed_;
    to.slots_released = released_;
    to.slots_lost = lost_;
}

} // namespace colimit::detail
