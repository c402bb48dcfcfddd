// SPDX-License-Identifier: BSL-1.0
//
// Moves calls through the batches of transactions. Each call is in exactly one batch until it is
// done, and each batch in exactly one of waiting_, in_flight_ and spare_.

#include <core/call_fault.hpp>
#include <redis/multi/transactor.hpp>

#include <algorithm>
#include <new>
#include <utility>

namespace colimit::redis {
namespace {

/// The usual size of the removals of a busy event-loop iteration: more costs an allocation, once.
constexpr std::size_t usual_repair_bytes = std::size_t{32} * 1024;

} // namespace

transactor::transactor(transactor_settings settings)
    : settings_(std::move(settings)), nonce_(settings_.first_nonce) {
    context_.grace = settings_.grace;
    context_.least_ttl = settings_.minimum_ttl_ms;
    context_.cleanup_commands.reserve(usual_repair_bytes);
    for (std::size_t i = 0; i < settings_.batches_in_flight; ++i) {
        spare_.emplace_back(settings_.batch_size);
        spare_without_calls_.emplace_back(0);
    }
    spare_.emplace_back(settings_.batch_size); // one more, which fills while others are in flight
}

/// Batches of calls and of cleanup commands are separate, or memory for calls would grow in all of
/// them.
transactor::batches transactor::take_spare(batches& from) {
    auto made = batches{};
    if (from.empty())
        made.emplace_back(&from == &spare_ ? settings_.batch_size : 0);
    else
        made.splice(made.end(), from, from.begin());
    made.front().start(nonce_++);
    return made;
}

transaction& transactor::row_for_call() {
    if (waiting_.empty() || !waiting_.back().takes_calls())
        waiting_.splice(waiting_.end(), take_spare(spare_));
    return waiting_.back();
}

/// Retires a batch of a list.
void transactor::retire(batches& from, batches::iterator which) {
    auto& batch = *which;
    auto& to = batch.has_calls() ? spare_ : spare_without_calls_;
    calls_ -= batch.size();
    batch.start(0); // releases the policies
    to.splice(to.begin(), from, which);
}

/// Retires the first one.
void transactor::retire(batches& from) {
    retire(from, from.begin());
}

error_code transactor::submit(detail::operation& op, std::string_view key,
                              const policy_pointer& policy) {
    if (const auto wrong = error_of_log_call(policy->compiled, op.request); wrong)
        return wrong;
    if (calls_ >= settings_.max_in_flight)
        drop_abandoned();
    if (calls_ >= settings_.max_in_flight)
        return errc::too_many_in_flight;
    try {
        row_for_call().add(op, settings_.prefix, key, policy);
    } catch (const std::bad_alloc&) {
        return make_error_code(boost::system::errc::not_enough_memory);
    }
    ++calls_;
    by_deadline_.push_back(op);
    return {};
}

error_code transactor::submit_checks(detail::operation& /*op*/) {
    return detail::error_of(detail::fault::multi_together);
}

void transactor::begin_connection(const server_facts& server) {
    context_.origin = server.origin;
    context_.clock.forget();
    context_.clock.observe(server.asked, server.answered, server.time);
}

void transactor::drop_abandoned() {
    retire_abandoned(waiting_, [this](batches::iterator batch) { retire(waiting_, batch); });
}

/// Returns whether cleanup may be sent: it is bounded like calls, but separately.
bool transactor::may_repair() const noexcept {
    return context_.repair_count != 0 && in_flight_.size() - flying_ < settings_.batches_in_flight;
}

bool transactor::wants_to_write() const noexcept {
    return may_repair() || (!waiting_.empty() && flying_ < settings_.batches_in_flight);
}

bool transactor::is_full() const noexcept {
    return !waiting_.empty() && !waiting_.front().takes_calls();
}

void transactor::write_repairs(std::string& out, std::uint64_t stream_position) {
    auto batch = take_spare(spare_without_calls_);
    batch.front().sent_from = stream_position;
    batch.front().sent_at = context_.here;
    batch.front().encode_repairs(out, context_);
    in_flight_.splice(in_flight_.end(), batch);
}

void transactor::write(std::string& out, std::uint64_t stream_position, std::int64_t /*now*/) {
    const auto begin = out.size();
    context_.here = settings_.clock();
    if (may_repair())
        write_repairs(out, stream_position);
    drop_abandoned();
    while (!waiting_.empty() && flying_ < settings_.batches_in_flight) {
        auto& batch = waiting_.front();
        batch.sent_from = stream_position + (out.size() - begin);
        batch.sent_at = context_.here;
        try {
            batch.encode(out, context_);
        } catch (...) {
            batch.take_back();
            throw;
        }
        counted.add(batch.size(), batch.size());
        ++flying_;
        in_flight_.splice(in_flight_.end(), waiting_, waiting_.begin());
        drop_abandoned();
    }
}

std::optional<recovery> transactor::read_reply(const resp::decoder& reply, std::string_view bytes) {
    if (reply.nodes().front().kind == resp::kind::push)
        return recovery::keep;
    if (in_flight_.empty())
        return std::nullopt;
    context_.here = settings_.clock();
    auto& batch = in_flight_.front();
    const auto made = batch.read_reply(reply, bytes, context_);
    if (!made)
        return std::nullopt;
    const auto* policy = made->policy;
    if (made->failure)
        note({.code = *made->failure,
              .phase = phase::reply,
              .text = reply.text(reply.nodes().front(), bytes),
              .policy = policy != nullptr ? policy->fingerprint : 0});
    if (made->answered != nullptr && !made->answered->ec && policy != nullptr)
        note_permitted(*policy);
    if (made->answered != nullptr)
        finish(*made->answered);
    if (made->is_over) {
        flying_ -= batch.has_calls() ? 1U : 0U;
        retire(in_flight_);
    }
    return made->needs;
}

void transactor::lose_connection(std::uint64_t sent) {
    while (!in_flight_.empty() && in_flight_.front().sent_from < sent) {
        in_flight_.front().release([this](detail::operation& op) { finish_lost(op); });
        retire(in_flight_);
    }
    flying_ = 0;
    // If the removal of a denied call's events is lost, they stay and count for a period.
    in_flight_.remove_if([](const transaction& batch) { return !batch.has_calls(); });
    for (auto& batch : in_flight_)
        batch.take_back();
    waiting_.splice(waiting_.begin(), in_flight_);
}

void transactor::fail_all(error_code why) {
    for (auto* row_list : {&in_flight_, &waiting_})
        for (auto& batch : *row_list)
            batch.release([this, why](detail::operation& op) { finish(op, why); });
    drop_abandoned();
}

} // namespace colimit::redis
