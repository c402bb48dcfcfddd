// SPDX-License-Identifier: BSL-1.0
//
// Passes calls to the nodes, and collects what they report.

#include <limiter/limiter_core.hpp>
#include <limiter/redis_backend.hpp>
#include <limiter/redis_settings.hpp>
#include <limiter/reservation.hpp>

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

namespace colimit::detail {
namespace {

/// Receives the reply to a reservation that was cancelled in flight, and releases it.
void release_orphan(operation* base, bool invoke) {
    const auto self = std::unique_ptr<reservation_call>{static_cast<reservation_call*>(base)};
    if (invoke && !self->ec && self->result.allowed())
        self->owner->release(self->entry, self->request.cost, self->result);
}

} // namespace

redis_backend::redis_backend(limiter_core& core, const config& settings, std::string password)
    : core_(core), reports_(core, settings, std::move(password)),
      timeout_(in_us(settings.timeout)) {}

// Calls

void redis_backend::start_on(redis_node& node, operation& op, std::string_view key,
                             const policy_pointer* policy) {
    if (const auto ec = node.submit(op, key, policy); ec)
        core_.complete(op, ec);
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
    core_.note_ended(calls.done);
    core_.complete_all(calls.done);
}

bool redis_backend::leave_reservation_behind(operation& op) noexcept {
    try {
        auto* orphan = new reservation_call{core_, static_cast<const reservation&>(*op.attached),
                                            &release_orphan};
        orphan->request = op.request;
        orphan->denied_at = op.denied_at;
        op.batch->queue->substitute(op, *orphan);
        return true;
    } catch (const std::bad_alloc&) { // the reservation lapses
        return false;
    }
}

void redis_backend::shutdown(error_code why) noexcept {
    const auto now = !core_.lock().is_needed() || core_.is_abandoned();
    close(now);
    for (auto& n : nodes_)
        n.shutdown(why, now);
    end_ready(why);
}

void redis_backend::start_ready(operation& op) {
    if (is_ready())
        return core_.complete(op, {});
    if (const auto why = refusal())
        return core_.complete(op, *why);
    op.is_held = true;
    waiting_for_ready_.push_back(op);
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
    if (is_ready())
        end_ready({});
    else if (const auto why = refusal())
        end_ready(*why);
}

// The nodes

void redis_backend::on_ready(redis_node& node) {
    reports_.on_ready(node.connection().denied_commands());
    update_ready();
}

void redis_backend::on_lost(redis_node& node, bool was_ready) {
    if (was_ready)
        reports_.on_lost();
    update_ready();
    on_loss(node);
}

void redis_backend::on_wait(const redis_node& node) noexcept {
    core_.track_state();
    if (node.connection().is_breaker_open())
        on_open_breaker(node);
    auto scripts_loaded = std::uint64_t{0};
    auto is_breaker_open = retries() != nullptr && retries()->is_any_open();
    for (const auto& n : nodes_) {
        scripts_loaded += n.calls().counted.scripts_loaded + n.connection().scripts_loaded();
        is_breaker_open = is_breaker_open || n.connection().is_breaker_open();
    }
    reports_.send_due({.now = node.connection().now(),
                       .scripts_loaded = scripts_loaded,
                       .is_breaker_open = is_breaker_open});
}

void redis_backend::on_fallback(const operation& op, error_code why) noexcept {
    reports_.on_fallback({.why = why,
                          .began_at = op.deadline != 0 ? op.deadline - timeout_ : now_,
                          .now = now_,
                          .reached = nodes_.front().connection().reached()});
}

void redis_backend::add_statistics(colimit::statistics& to) const {
    auto connections = std::uint64_t{0};
    auto used = std::uint64_t{0};
    for (const auto& n : nodes_) {
        const auto& sent = n.calls().counted;
        const auto& c = n.connection();
        to.batches += sent.batches;
        to.batch_calls += sent.calls;
        to.batch_keys += sent.keys;
        to.module_calls += sent.module_calls;
        to.module_connections += c.is_ready() && n.calls().uses_module() ? 1U : 0U;
        to.largest_batch = std::max(to.largest_batch, sent.largest);
        to.merged += sent.merged;
        to.script_loads += sent.script_loads + c.script_loads();
        to.bytes_out += c.bytes_out();
        to.bytes_in += c.bytes_in();
        connections += c.connections();
        used += c.connections() != 0 ? 1U : 0U;
        to.breaker_openings += c.breaker_openings();
    }
    to.breaker_openings += retries() != nullptr ? retries()->open_count() : 0;
    to.reconnects += connections - used;
}

} // namespace colimit::detail
