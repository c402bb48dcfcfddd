// SPDX-License-Identifier: BSL-1.0
//
// Passes calls to the nodes, and collects what they report.

#include <async/post_preallocated.hpp>
#include <core/verb_traits.hpp>
#include <limiter/limiter_core.hpp>
#include <limiter/redis_backend.hpp>
#include <limiter/reservation.hpp>

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

namespace colimit::detail {
namespace {

/// Calls of one iteration share a reading of the clock as long as that changes their deadlines by
/// less than one part in `precision` of the timeout.
constexpr std::int64_t precision = 20;

/// Receives the reply to a reservation that was cancelled in flight, and releases it.
void release_orphan(operation* base, bool invoke) {
    const auto self = std::unique_ptr<reservation_call>{static_cast<reservation_call*>(base)};
    if (invoke && !self->ec && self->result.allowed())
        self->owner->release(self->entry, self->request.cost, self->result);
}

} // namespace

redis_backend::redis_backend(limiter_core& core, const config& settings, std::string password)
    : core_(core), life_(core.weak_from_this()), reports_(core, settings, std::move(password)),
      timeout_(in_us(settings.timeout)) {}

redis_node::redis_node(redis_backend& of, node_settings settings)
    : backend(of), calls(std::move(settings.calls)),
      connection(of.core_.own_executor(), of.core_.lock(), std::move(settings.connection), *calls,
                 of.reports_.problems(), *this, of.life_),
      ticks(of.timeout_ / precision) {}

void redis_node::on_events() {
    backend.serve(*this);
}

/// Full servers and those without replicas or snapshots still decide denials and peeks, so the
/// breaker stays closed.
health_state redis_node::state() const noexcept {
    const auto state = connection.state();
    return state == health_state::ready && refuses_writes ? health_state::degraded : state;
}

// Calls

stage_result redis_backend::submit(redis_node& to, operation& op, std::string_view key,
                                   const policy_pointer* policy) {
    schedule_flush(to);
    auto& connection = to.connection;
    // An earlier handler of this iteration may have run for long.
    const auto has_ticked = to.ticks.poll();
    if (!std::exchange(to.is_clock_read, true) || has_ticked)
        connection.read_clock();
    now_ = connection.now();
    op.deadline = now_ + timeout_;
    if (!connection.may_serve_by(op.deadline))
        return ended(op, connection.error());
    const auto ec = op.kind == call_kind::all ? to.calls->submit_checks(op)
                                              : to.calls->submit(op, key, *policy);
    if (ec)
        return ended(op, ec);
    if (to.calls->is_full() && connection.may_write() && !core_.lock().is_needed()) {
        connection.flush();
        take_events(to);
    }
    return stage_result::kept;
}

void redis_backend::cancel(operation& op, error_code why) {
    if (op.kind == call_kind::ready) {
        waiting_for_ready_.remove(op);
        op.is_held = false;
        return core_.complete(op, why);
    }
    if (op.request.verb == verb::reserve && redis::call_queue::is_sent(op) &&
        leave_reservation_behind(op))
        return core_.complete(op, why);
    auto& calls = *op.batch->queue;
    calls.withdraw(op, why);
    core_.note_ended(calls.done, now_);
    core_.complete_all(calls.done);
}

bool redis_backend::leave_reservation_behind(operation& op) noexcept {
    try {
        auto* orphan = new reservation_call{core_, static_cast<const reservation&>(*op.attached),
                                            &release_orphan};
        orphan->request = op.request;
        orphan->key_digest = op.key_digest;
        orphan->denial = op.denial;
        op.batch->queue->substitute(op, *orphan);
        return true;
    } catch (const std::bad_alloc&) { // the reservation lapses
        return false;
    }
}

void redis_backend::shutdown(error_code why) noexcept {
    const auto now = !core_.lock().is_needed() || core_.is_abandoned();
    close(now);
    for (auto& n : nodes_) {
        if (!core_.is_abandoned()) { // otherwise the context has no sockets any more
            n.calls->end_unsent(why);
            n.connection.flush_last(now);
        }
        n.connection.close(now);
        n.calls->fail_all(why);
        core_.complete_all(n.calls->done);
    }
    end_ready(why);
}

stage_result redis_backend::start_ready(operation& op) {
    if (try_ready())
        return stage_result::ended;
    if (const auto why = refusal())
        return ended(op, *why);
    op.is_held = true;
    waiting_for_ready_.push_back(op);
    return stage_result::kept;
}

void redis_backend::end_ready(error_code ec) noexcept {
    while (auto* op = waiting_for_ready_.pop_front()) {
        op->is_held = false;
        core_.complete(*op, ec);
    }
}

void redis_backend::update_ready() noexcept {
    if (waiting_for_ready_.empty())
        return;
    if (try_ready())
        end_ready({});
    else if (const auto why = refusal())
        end_ready(*why);
}

// Iterations of the event loop

void redis_backend::schedule_flush(redis_node& to) noexcept {
    if (to.is_running_handlers || std::exchange(to.is_flush_scheduled, true))
        return;
    try {
        post_preallocated(core_.own_executor(), to.flush_memory,
                          [life = life_.lock(), this, &to] { flush(to); });
    } catch (const std::bad_alloc&) {
        to.is_flush_scheduled = false; // the next call tries again
    }
}

void redis_backend::flush(redis_node& to) {
    const std::lock_guard guard{core_.lock()};
    to.is_flush_scheduled = to.is_clock_read = false;
    to.connection.flush();
    take_events(to);
}

/// Called by the executor after an event of a connection. Calls that the handlers make are sent
/// when all handlers have run, without another iteration; threads do not wait for each other's
/// handlers.
void redis_backend::serve(redis_node& of) {
    note_events(of);
    if (!of.calls->done.empty())
        run_ended(of);
    of.connection.flush();
    take_events(of);
}

void redis_backend::take_events(redis_node& of) {
    note_events(of);
    core_.complete_all(of.calls->done);
    wait(of);
}

void redis_backend::run_ended(redis_node& of) {
    if (core_.lock().is_needed())
        return core_.complete_all(of.calls->done);
    of.is_running_handlers = true;
    of.is_clock_read = false;
    try {
        core_.run(std::move(of.calls->done));
    } catch (...) {
        of.is_running_handlers = false;
        schedule_flush(of);
        throw;
    }
    of.is_running_handlers = false;
    of.is_clock_read = false;
}

// The nodes

/// Every call that the queue has taken is noted in the deny cache, however it ended.
void redis_backend::note_events(redis_node& of) {
    const auto happened = of.connection.take_events();
    auto& ended = of.calls->done;
    now_ = std::max(now_, of.connection.now());
    if (happened.ready) {
        of.refuses_writes = false; // it may be another server
        reports_.on_ready(of.connection.denied_commands(), happened.lost);
        update_ready();
    }
    if (happened.answered)
        note_answers(of);
    if (!ended.empty())
        core_.note_ended(ended, now_);
    if (!happened.lost)
        return;
    core_.complete_all(ended);
    if (happened.was_ready)
        reports_.on_lost();
    update_ready();
    on_loss(of);
}

void redis_backend::note_answers(redis_node& of) noexcept {
    auto is_decided = false;
    for (const auto& op : of.calls->done) {
        is_decided = is_decided || !op.ec;
        const auto& traits = core::traits_of(op.request.verb);
        if (op.ec == errc::server_error)
            of.refuses_writes = true;
        else if (!op.ec && (traits.charges_always || (traits.takes_grant && op.result.granted > 0)))
            of.refuses_writes = false;
    }
    if (is_decided)
        reports_.on_decision(now_);
}

/// Its state may have changed.
void redis_backend::wait(redis_node& of) noexcept {
    if (const auto state = of.state();
        std::exchange(of.known_state, state) != state || rejections_ != nullptr)
        core_.track_state();
    if (of.connection.is_breaker_open())
        on_open_breaker(of);
    if (reports_.sends_events())
        send_reports(of.connection.now());
    of.connection.wait(reports_.next_event());
}

void redis_backend::send_reports(std::int64_t now) noexcept {
    auto scripts_loaded = std::uint64_t{0};
    auto is_breaker_open = rejections_ != nullptr && rejections_->is_any_open();
    for (const auto& n : nodes_) {
        scripts_loaded += n.calls->counted.scripts_loaded + n.connection.scripts_loaded();
        is_breaker_open = is_breaker_open || n.connection.is_breaker_open();
    }
    reports_.send_due(
        {.now = now, .scripts_loaded = scripts_loaded, .is_breaker_open = is_breaker_open});
}

void redis_backend::on_fallback(const operation& op, error_code why) noexcept {
    reports_.on_fallback({.why = why,
                          .began_at = op.deadline != 0 ? op.deadline - timeout_ : now_,
                          .now = now_,
                          .reached = nodes_.front().connection.reached()});
}

void redis_backend::add_statistics(colimit::statistics& to) const {
    auto connections = std::uint64_t{0};
    auto used = std::uint64_t{0};
    for (const auto& n : nodes_) {
        const auto& sent = n.calls->counted;
        const auto& c = n.connection;
        to.batches += sent.batches;
        to.batch_calls += sent.calls;
        to.batch_keys += sent.keys;
        to.module_calls += sent.module_calls;
        to.module_connections += c.is_ready() && n.calls->uses_module() ? 1U : 0U;
        to.largest_batch = std::max(to.largest_batch, sent.largest);
        to.merged += sent.merged;
        to.script_loads += sent.script_loads + c.script_loads();
        to.bytes_out += c.bytes_out();
        to.bytes_in += c.bytes_in();
        connections += c.connections();
        used += c.connections() != 0 ? 1U : 0U;
        to.breaker_openings += c.breaker_openings();
    }
    to.breaker_openings += rejections_ != nullptr ? rejections_->open_count() : 0;
    to.reconnects += connections - used;
}

} // namespace colimit::detail
