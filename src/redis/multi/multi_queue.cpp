// SPDX-License-Identifier: BSL-1.0
//
// Moves calls through batches that are sent with MULTI.

#include <core/call_fault.hpp>
#include <redis/multi/multi_queue.hpp>

#include <algorithm>
#include <new>
#include <utility>

namespace colimit::redis {
namespace {

/// The usual size of the cleanup of a busy event-loop iteration: more costs an allocation, once.
/// Calls give tokens back in a transaction each, and those of two batches may be waiting.
constexpr std::size_t usual_removal_bytes = std::size_t{32} * 1024;
constexpr std::size_t usual_give_back_bytes = 1'024;
constexpr std::size_t usual_call_bytes = 1'024; ///< of its own transaction

} // namespace

multi_queue::multi_queue(queue_settings settings) : batch_queue(std::move(settings)) {
    context_.grace = settings_.grace;
    context_.least_ttl = settings_.minimum_ttl_ms;
    context_.keeps_read_only = settings_.keeps_read_only;
    context_.log_cleanup.bytes.reserve(usual_removal_bytes);
    context_.window_cleanup.bytes.reserve(2 * settings_.batch_size * usual_give_back_bytes);
    for (std::size_t i = 0; i < settings_.batches_in_flight; ++i)
        spare_cleanups_.emplace_back(0);
}

void multi_queue::retire(batches& from, batches::iterator which) {
    // A waiting batch without calls is one whose first call found no memory.
    if (&from == &in_flight_ && !which->has_calls()) {
        --cleanups_in_flight_;
        return spare_cleanups_.splice(spare_cleanups_.begin(), from, which);
    }
    batch_queue::retire(from, which);
    spare_.front().start(0); // releases the policies
}

error_code multi_queue::submit(detail::operation& op, std::string_view key,
                               const policy_pointer& policy) {
    if (const auto wrong = error_of_transaction(*policy, op.request); wrong)
        return wrong;
    return take(op, 1, [&] {
        if (waiting_.empty() || !waiting_.back().takes_calls()) {
            waiting_.splice(waiting_.end(), take_spare());
            waiting_.back().start(nonce_++);
        }
        waiting_.back().add(op, settings_.prefix, key, policy);
        is_full_ = is_full_ || !waiting_.back().takes_calls();
        return error_code{};
    });
}

error_code multi_queue::submit_checks(detail::operation& /*op*/) {
    return detail::error_of(detail::fault::multi_together);
}

void multi_queue::begin_connection(const server_facts& server) {
    context_.origin = server.origin;
    context_.clock.forget();
    context_.clock.observe(server.asked, server.answered, server.time);
}

/// Returns whether cleanup may be sent: it is bounded like calls, but separately.
bool multi_queue::may_clean_up() const noexcept {
    return context_.has_cleanup() && cleanups_in_flight_ < settings_.batches_in_flight;
}

bool multi_queue::wants_to_write() const noexcept {
    return may_clean_up() || may_send(cleanups_in_flight_);
}

void multi_queue::write_cleanup(std::string& out, std::uint64_t stream_position) {
    if (spare_cleanups_.empty())
        spare_cleanups_.emplace_back(0);
    auto& batch = spare_cleanups_.front();
    batch.start(nonce_++);
    batch.sent_from = stream_position;
    batch.sent_at = context_.here;
    batch.encode_cleanup(out, context_);
    in_flight_.splice(in_flight_.end(), spare_cleanups_, spare_cleanups_.begin());
    ++cleanups_in_flight_;
}

/// Reserves all that the write may need: how much cleanup precedes its calls is a matter of chance.
void multi_queue::make_room(std::string& out) const noexcept {
    const auto most_calls = std::min(calls_, settings_.batch_size * settings_.batches_in_flight);
    try {
        out.reserve(most_calls * usual_call_bytes + context_.log_cleanup.bytes.capacity() +
                    context_.window_cleanup.bytes.capacity());
    } catch (const std::bad_alloc&) { // what is written may need less
        return;
    }
}

void multi_queue::write(std::string& out, std::uint64_t stream_position, std::int64_t /*now*/) {
    is_full_ = false;
    const auto position_of_first = stream_position - out.size();
    context_.here = settings_.clock();
    make_room(out);
    if (may_clean_up())
        write_cleanup(out, stream_position);
    send_waiting(out, position_of_first, context_.here, cleanups_in_flight_, [&](multi_batch& b) {
        b.encode(out, context_);
        counted.add(b.size(), b.size());
    });
}

std::optional<recovery> multi_queue::read_reply_of(multi_batch& head, const resp::decoder& reply,
                                                   std::string_view bytes) {
    context_.here = settings_.clock();
    const auto made = head.read_reply(reply, bytes, context_);
    if (!made)
        return std::nullopt;
    const auto* policy = made->policy;
    if (made->failure)
        report({.code = *made->failure,
                .phase = phase::reply,
                .text = reply.text(reply.first(), bytes),
                .policy = policy != nullptr ? policy->fingerprint : 0});
    if (made->answered != nullptr && !made->answered->ec && policy != nullptr)
        report_permitted(*policy);
    if (made->answered != nullptr)
        finish(*made->answered);
    if (made->is_over && head.has_refused())
        return_head();
    else if (made->is_over)
        retire(in_flight_, in_flight_.begin());
    return made->needs;
}

void multi_queue::lose_connection(std::uint64_t sent) {
    batch_queue::lose_connection(sent);
    // If the removal of a denied call's events is lost, they stay and count for a period.
    waiting_.remove_if([](const multi_batch& batch) { return !batch.has_calls(); });
    cleanups_in_flight_ = 0;
    // Another server, or the same after a restart, may have lost the tokens that were added.
    context_.window_cleanup.clear();
}

} // namespace colimit::redis
