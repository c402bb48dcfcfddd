// SPDX-License-Identifier: BSL-1.0
//
// Moves calls into the queue, and out of it.

#include <async/post_preallocated.hpp>
#include <core/verb_traits.hpp>
#include <limiter/limiter_core.hpp>
#include <limiter/redis_node.hpp>

#include <mutex>
#include <new>
#include <utility>

namespace colimit::detail {
namespace {

/// Calls of one iteration share a reading of the clock as long as that changes their deadlines by
/// less than one part in `precision` of the timeout.
constexpr std::int64_t precision = 20;

} // namespace

redis_node::redis_node(limiter_core& core, node_settings settings, redis::error_sink& problems,
                       node_owner& owner, std::int64_t& now)
    : core_(core), owner_(owner), now_(now), calls_(std::move(settings.calls)),
      timeout_(settings.connection.timeout),
      connection_(core.own_executor(), core.lock(), std::move(settings.connection), *calls_,
                  problems, *this),
      ticks_(timeout_ / precision) {
    calls_->report_to(problems);
}

std::shared_ptr<void> redis_node::keep_alive() {
    return core_.shared_from_this();
}

error_code redis_node::submit(operation& op, std::string_view key, const policy_pointer* policy) {
    schedule_flush();
    // An earlier handler of this iteration may have run for long.
    const auto has_moved_on = ticks_.has_moved_on();
    if (!std::exchange(is_clock_read_, true) || has_moved_on)
        connection_.read_clock();
    now_ = connection_.now();
    op.deadline = now_ + timeout_;
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

void redis_node::shutdown(error_code why, bool now) noexcept {
    if (!core_.is_abandoned()) { // otherwise the context has no sockets any more
        calls_->end_unsent(why);
        connection_.flush_last(now);
    }
    connection_.close(now);
    calls_->fail_all(why);
    core_.complete_all(calls_->done);
}

/// Every call that the queue has taken is noted in the deny cache, however it ended.
void redis_node::complete_ended() noexcept {
    now_ = connection_.now();
    core_.note_ended(calls_->done);
    core_.complete_all(calls_->done);
}

// Iterations of the event loop

void redis_node::schedule_flush() noexcept {
    if (std::exchange(is_flush_scheduled_, true))
        return;
    try {
        post_preallocated(core_.own_executor(), flush_memory_,
                          [to = keep_alive(), this] { flush(); });
    } catch (const std::bad_alloc&) {
        is_flush_scheduled_ = false; // the next call tries again
    }
}

void redis_node::flush() {
    const std::lock_guard guard{core_.lock()};
    is_flush_scheduled_ = is_clock_read_ = false;
    connection_.flush();
    connection_.wait();
}

/// Calls that the handlers make are sent when all handlers have run, without another iteration;
/// threads do not wait for each other's handlers.
void redis_node::on_ended() {
    now_ = connection_.now();
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

void redis_node::on_lost(bool was_ready) {
    complete_ended();
    owner_.on_lost(*this, was_ready);
}

void redis_node::on_ready() {
    refuses_writes_ = false; // it may be another server
    owner_.on_ready(*this);
}

void redis_node::on_answer() noexcept {
    for (const auto& op : calls_->done) {
        const auto& traits = core::traits_of(op.request.verb);
        if (op.ec == errc::server_error)
            refuses_writes_ = true;
        else if (!op.ec && (traits.charges_always || (traits.takes_grant && op.result.granted > 0)))
            refuses_writes_ = false;
    }
    if (!calls_->done.front()->ec)
        owner_.on_decision(connection_.now());
}

/// Full servers and those without replicas or snapshots still decide denials and peeks, so the
/// breaker stays closed.
health_state redis_node::state() const noexcept {
    const auto state = connection_.state();
    return state == health_state::ready && refuses_writes_ ? health_state::degraded : state;
}

} // namespace colimit::detail
