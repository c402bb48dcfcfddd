// SPDX-License-Identifier: BSL-1.0
//
// Moves calls into the queue, and out of it.

#include <async/post_preallocated.hpp>
#include <limiter/limiter_core.hpp>
#include <limiter/redis_backend.hpp>
#include <limiter/redis_settings.hpp>
#include <limiter/reservation.hpp>

#include <mutex>
#include <new>
#include <utility>
#include <vector>

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

redis_backend::redis_backend(limiter_core& core, const config& settings,
                             const redis::address& where)
    : redis_backend(core, settings, where, make_tls(settings, where)) {}

redis_backend::redis_backend(limiter_core& core, const config& settings,
                             const redis::address& where, const shared_tls& tls)
    : core_(core), where_(where), reports_(core, settings, where.password),
      calls_(make_queue(settings, where)),
      connection_(core.own_executor(), core.lock(), connection_settings_of(settings, where, tls),
                  *calls_, reports_.problems(), *this),
      finder_(make_finder(settings, tls)), timeout_(in_us(settings.timeout)),
      ticks_(timeout_ / precision) {
    calls_->report_to(reports_.problems());
}

std::unique_ptr<redis::master_finder> redis_backend::make_finder(const config& settings,
                                                                 const shared_tls& tls) {
    if (where_.kind != redis::address::kind::sentinel)
        return nullptr;
    auto made = std::vector<redis::sentinel_settings>{};
    for (const auto& s : where_.sentinels)
        made.push_back({.connection = sentinel_settings_of(settings, where_, s, tls),
                        .problems = sentinels_.emplace_back(reports_.problems(), "Sentinel", s)});
    return std::make_unique<redis::master_finder>(core_.own_executor(), core_.lock(),
                                                  std::move(made), where_.master,
                                                  static_cast<redis::finder_owner&>(*this));
}

std::shared_ptr<void> redis_backend::keep_alive() {
    return core_.shared_from_this();
}

// Calls

void redis_backend::start(operation& op, std::string_view key, const policy_pointer* policy) {
    if (op.kind == call_kind::ready)
        return start_ready(op);
    if (const auto ec = submit(op, key, policy); ec)
        core_.complete(op, ec);
}

error_code redis_backend::submit(operation& op, std::string_view key,
                                 const policy_pointer* policy) {
    schedule_flush();
    // An earlier handler of this iteration may have run for long.
    const auto has_moved_on = ticks_.has_moved_on();
    if (!std::exchange(is_clock_read_, true) || has_moved_on)
        connection_.read_clock();
    op.deadline = connection_.now() + timeout_;
    if (!connection_.may_serve_by(op.deadline))
        return connection_.error();
    if (op.kind == call_kind::all)
        return calls_->submit_checks(op);
    if (const auto ec = calls_->submit(op, key, *policy); ec)
        return ec;
    if (calls_->is_full() && !core_.lock().is_needed())
        connection_.flush();
    return {};
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
    calls_->withdraw(op, why);
    complete_ended();
}

bool redis_backend::leave_reservation_behind(operation& op) noexcept {
    try {
        auto* orphan = new reservation_call{core_, static_cast<const reservation&>(*op.attached),
                                            &release_orphan};
        orphan->request = op.request;
        orphan->denied_at = op.denied_at;
        calls_->substitute(op, *orphan);
        return true;
    } catch (const std::bad_alloc&) { // the reservation lapses
        return false;
    }
}

void redis_backend::shutdown(error_code why) noexcept {
    const auto now = !core_.lock().is_needed() || core_.is_abandoned();
    connection_.close(now);
    if (finder_)
        finder_->close(now);
    calls_->fail_all(why);
    core_.complete_all(calls_->done);
    end_ready(why);
}

/// Every call that the queue has taken is noted in the deny cache, however it ended.
void redis_backend::complete_ended() noexcept {
    core_.note_ended(calls_->done);
    core_.complete_all(calls_->done);
}

void redis_backend::start_ready(operation& op) {
    if (connection_.is_ready())
        return core_.complete(op, {});
    if (connection_.is_refused())
        return core_.complete(op, connection_.error());
    op.is_held = true;
    waiting_for_ready_.push_back(op);
}

void redis_backend::end_ready(error_code ec) noexcept {
    while (auto* op = waiting_for_ready_.pop_front()) {
        op->is_held = false;
        core_.complete(*op, ec);
    }
}

// Iterations of the event loop

void redis_backend::schedule_flush() noexcept {
    if (std::exchange(is_flush_scheduled_, true))
        return;
    try {
        post_preallocated(core_.own_executor(), flush_memory_,
                          [to = keep_alive(), this] { flush(); });
    } catch (const std::bad_alloc&) {
        is_flush_scheduled_ = false; // the next call tries again
    }
}

void redis_backend::flush() {
    const std::lock_guard guard{core_.lock()};
    is_flush_scheduled_ = is_clock_read_ = false;
    connection_.flush();
    connection_.wait();
}

/// Calls that the handlers make are sent when all handlers have run, without another iteration;
/// threads do not wait for each other's handlers.
void redis_backend::on_ended() {
    core_.note_ended(calls_->done);
    if (core_.lock().is_needed()) {
        core_.complete_all(calls_->done);
    } else {
        const auto posted = std::exchange(is_flush_scheduled_, true);
        is_clock_read_ = false;
        try {
            core_.run(std::move(calls_->done));
        } catch (...) {
            is_flush_scheduled_ = posted;
            schedule_flush();
            throw;
        }
        is_flush_scheduled_ = posted;
        is_clock_read_ = false;
    }
    connection_.flush();
    connection_.wait();
}

// The connection

void redis_backend::on_ready() {
    reports_.on_ready(connection_.denied_commands());
    end_ready({});
}

void redis_backend::on_lost(bool was_ready) {
    if (was_ready)
        reports_.on_lost();
    complete_ended();
    if (connection_.is_refused())
        end_ready(connection_.error());
    if (finder_)
        finder_->ask();
}

void redis_backend::on_answer() noexcept {
    if (!calls_->done.front()->ec)
        reports_.on_decision(connection_.now());
}

void redis_backend::on_wait() noexcept {
    core_.track_state();
    reports_.send_due(
        {.now = connection_.now(),
         .scripts_loaded = calls_->counted.scripts_loaded + connection_.scripts_loaded(),
         .is_breaker_open = connection_.is_breaker_open()});
}

void redis_backend::on_fallback(const operation& op, error_code why) noexcept {
    const auto now = connection_.now();
    reports_.on_fallback({.why = why,
                          .began_at = op.deadline != 0 ? op.deadline - timeout_ : now,
                          .now = now,
                          .reached = connection_.reached()});
}

void redis_backend::add_statistics(colimit::statistics& to) const {
    const auto& sent = calls_->counted;
    to.batches = sent.batches;
    to.batch_calls = sent.calls;
    to.batch_keys = sent.keys;
    to.largest_batch = sent.largest;
    to.merged = sent.merged;
    to.script_loads = sent.script_loads + connection_.script_loads();
    to.bytes_out = connection_.bytes_out();
    to.bytes_in = connection_.bytes_in();
    to.reconnects = std::max<std::uint64_t>(connection_.connections(), 1) - 1;
    to.breaker_openings = connection_.breaker_openings();
}

} // namespace colimit::detail
