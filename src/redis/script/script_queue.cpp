// SPDX-License-Identifier: BSL-1.0
//
// Moves calls through batches of scripts.

#include <core/call_fault.hpp>
#include <hash/fnv1a.hpp>
#include <redis/script/script_queue.hpp>

#include <algorithm>
#include <utility>

namespace colimit::redis {
namespace {

/// The number of waiting batches that are searched for a call's key. A thousand callers fill two or
/// three behind those in flight; with many more, searching all of them would be expensive.
constexpr std::size_t most_searched = 8;

/// Returns the key by which the newest batch of a policy and a group is found.
[[nodiscard]] std::uint64_t open_key(const detail::policy_data& p, std::size_t group) noexcept {
    return p.fingerprint + group * 0x9e3779b97f4a7c15U;
}

} // namespace

script_queue::script_queue(queue_settings settings)
    : batch_queue(std::move(settings)), minimum_ttl_(std::to_string(settings_.minimum_ttl_ms)),
      is_cluster_(settings_.is_cluster) {}

/// Returns the newest of the last waiting batches that has the key, if it takes a call: popular
/// keys are requested again long before their batch is sent. Never an earlier one, as that would
/// change the order of calls.
script_batch* script_queue::waiting_with(const policy_pointer& policy, std::int64_t clock,
                                         std::string_view key) {
    if (waiting_.size() < 2 || policy->filter)
        return nullptr; // a single batch is found anyway
    const auto hash = hash::fnv1a_64(key);
    auto last = waiting_.rbegin();
    for (std::size_t n = std::min(waiting_.size(), most_searched); n != 0; --n, ++last)
        if (last->has(policy, clock, key, hash))
            return last->takes_calls() ? &*last : nullptr;
    return nullptr;
}

script_batch& script_queue::open_batch(const policy_pointer& policy, std::int64_t clock,
                                       std::size_t group) {
    auto& open = open_[open_key(*policy, group)];
    if (open != nullptr && open->fits(policy, clock))
        return *open;
    waiting_.splice(waiting_.end(), take_spare());
    open = &waiting_.back();
    open->start(policy, clock, nonce_++, group);
    return *open;
}

void script_queue::close_to_calls(const script_batch& b) {
    const auto found = open_.find(open_key(*b.policy(), b.group()));
    if (found != open_.end() && found->second == &b)
        open_.erase(found);
}

error_code script_queue::submit(detail::operation& op, std::string_view key,
                                const policy_pointer& policy) {
    return take(op, 1, [&] {
        auto* joined = waiting_with(policy, op.request.now, key);
        if (joined == nullptr)
            joined = &open_batch(
                policy, op.request.now,
                is_cluster_ ? script_batch::group_of(settings_.tags, *policy, key, op.request.verb)
                            : script_batch::any_group);
        joined->add(op, settings_.prefix, key);
        is_full_ = is_full_ || joined->is_full();
        return error_code{};
    });
}

/// A node of a cluster accepts only keys of one hash slot per script call. Batches that waited
/// before that was known are divided.
void script_queue::begin_connection(const server_facts& server) {
    is_cluster_ = server.is_cluster || settings_.is_cluster;
    if (is_cluster_ && !settings_.is_cluster)
        regroup();
}

void script_queue::regroup() {
    open_.clear();
    auto old = std::exchange(waiting_, {});
    try {
        while (!old.empty()) {
            auto& b = old.front();
            if (b.common_group()) {
                waiting_.splice(waiting_.end(), old, old.begin());
                continue;
            }
            if (b.is_joint())
                end_batch(b, detail::error_of(detail::fault::checks_slots));
            else
                b.move_calls(
                    [&](std::size_t group, std::uint32_t /*key*/) -> auto& {
                        return open_batch(b.policy(), b.clock(), group);
                    },
                    [this] { ++calls_; });
            retire(old, old.begin());
        }
    } catch (...) {
        waiting_.splice(waiting_.end(), old);
        throw;
    }
}

error_code script_queue::submit_checks(detail::operation& op) {
    const auto group_of = [this](const check_item& c) { return settings_.tags.of(c.key); };
    const auto group = group_of(op.checks.front());
    const auto is_elsewhere = [&](const check_item& c) { return group_of(c) != group; };
    if (is_cluster_ && std::ranges::any_of(op.checks, is_elsewhere))
        return detail::error_of(detail::fault::checks_slots);
    return take(op, op.checks.size(), [&] {
        auto made = take_spare();
        auto& b = made.front();
        b.start(detail::access::data(op.checks.front().policy), op.request.now, nonce_++,
                is_cluster_ ? group : script_batch::any_group);
        if (!b.add_checks(op, settings_.prefix)) {
            b.start(detail::access::data(op.checks.front().policy), op.request.now, 0);
            spare_.splice(spare_.begin(), made);
            return detail::error_of(detail::fault::checks_same_state);
        }
        waiting_.splice(waiting_.end(), made);
        return error_code{};
    });
}

void script_queue::write(std::string& out, std::uint64_t stream_position, std::int64_t now) {
    is_full_ = false;
    send_waiting(out, stream_position - out.size(), now, 0, [&](script_batch& b) {
        const auto loads = b.in_second_form && settings_.command == script_command::evalsha;
        b.replies_before = (loads ? 1U : 0U) + (b.asking ? 1U : 0U);
        b.encode(out, minimum_ttl_, settings_.command);
        const auto& sent = b.sent();
        counted.add(sent.keys, sent.calls);
        counted.merged += sent.calls - sent.entries;
        counted.script_loads += loads ? 1U : 0U;
    });
}

/// Handles an error that only a node of a cluster sends, as not every handshake can detect a
/// cluster. Returns whether the first batch in flight is divided: the server executed nothing of
/// it, as its keys are in several hash slots. It is queued before the waiting batches; calls for
/// one key that were in several batches in flight may change their order.
bool script_queue::learn_of_cluster(std::string_view text) {
    const auto was_known = std::exchange(is_cluster_, true);
    auto& b = in_flight_.front();
    const auto is_divided = text.starts_with("CROSSSLOT") && !b.common_group();
    if (is_divided) {
        b.take_back();
        waiting_.splice(waiting_.begin(), in_flight_, in_flight_.begin());
    }
    if (is_divided || !was_known)
        regroup();
    return is_divided;
}

/// Sends the first batch in flight, which the node has not executed, to where the router decides.
/// Returns false if its calls end with the error.
bool script_queue::redirect_head(std::string_view error) {
    auto& b = in_flight_.front();
    const auto are_apart = !b.is_joint() && !b.policy()->compiled.packed; // its keys, on the server
    const auto to = router_->redirect(*this, {.error = error,
                                              .group = b.group(),
                                              .redirections = b.redirections,
                                              .may_be_divided = are_apart && b.keys() > 1});
    if (to.queue == nullptr)
        return false;
    const auto last = std::next(in_flight_.begin());
    b.take_back();
    if (to.divided)
        divide_head();
    while (in_flight_.begin() != last) {
        auto& part = in_flight_.front();
        part.in_second_form = false;
        part.is_returned = true;
        part.asking = to.asking;
        part.redirections = to.redirections;
        to.queue->take_over(*this, in_flight_, in_flight_.begin());
    }
    if (to.queue != this)
        move_deadlines(*to.queue);
    return true;
}

/// Replaces the first batch in flight by one for each of its keys.
void script_queue::divide_head() {
    auto parts = batches{};
    try {
        auto part_of = std::vector<script_batch*>(in_flight_.front().keys());
        auto& b = in_flight_.front();
        const auto part_for = [&](std::size_t group, std::uint32_t key) -> auto& {
            if (part_of[key] == nullptr) {
                parts.splice(parts.end(), take_spare());
                part_of[key] = &parts.back();
                parts.back().start(b.policy(), b.clock(), nonce_++, group);
            }
            return *part_of[key];
        };
        b.move_calls(part_for, [this] { ++calls_; });
    } catch (...) {
        waiting_.splice(waiting_.begin(), parts);
        throw;
    }
    retire(in_flight_, in_flight_.begin());
    in_flight_.splice(in_flight_.begin(), parts);
}

void script_queue::move_batch(batches::iterator b, script_queue& to) noexcept {
    close_to_calls(*b);
    b->in_second_form = b->asking = false;
    to.take_over(*this, waiting_, b);
}

recovery script_queue::fail_head(std::string_view text) {
    const auto meaning = classify(text);
    auto& b = in_flight_.front();
    if (router_ != nullptr && is_about_node(text) && redirect_head(text))
        return recovery::keep;
    if (meaning.code == errc::wrong_node && learn_of_cluster(text))
        return recovery::keep;
    if (meaning.recovery == recovery::leave_unloaded) {
        return_head();
        return recovery::leave_unloaded;
    }
    const auto may_be_repeated = settings_.command == script_command::evalsha
                                     ? meaning.recovery == recovery::resend_with_script
                                     : text.starts_with("OOM ");
    if (may_be_repeated && !std::exchange(b.in_second_form, true)) {
        return_head();
        return recovery::resend_with_script;
    }
    if (meaning.recovery == recovery::leave_read_only && settings_.keeps_read_only) {
        return_head();
        return recovery::leave_read_only;
    }
    report({.code = meaning.code,
            .phase = phase::script,
            .text = text,
            .policy = b.policy()->fingerprint});
    end_batch(b, meaning.code);
    retire(in_flight_, in_flight_.begin());
    return meaning.recovery;
}

std::optional<recovery> script_queue::read_reply_of(script_batch& head, const resp::decoder& reply,
                                                    std::string_view bytes) {
    const auto is_error = resp::is_error(reply.first().kind);
    if (head.replies_before != 0) {
        --head.replies_before;
        if (head.replies_before >= (head.asking ? 1U : 0U))
            counted.scripts_loaded += is_error ? 0U : 1U;
        return recovery::keep; // the reply to the script says what an error means
    }
    if (is_error)
        return fail_head(reply.text(reply.first(), bytes));
    const auto needs = head.read_reply(reply, bytes);
    if (!needs)
        return std::nullopt;
    const auto& failure = head.failure;
    if (failure)
        report({.code = failure->code,
                .phase = phase::script,
                .text = failure->text,
                .policy = head.policy()->fingerprint});
    if (!failure || failure->code != errc::auth_failed)
        report_permitted(*head.policy());
    // The server was read-only during the whole batch, so none of its keys was written.
    if (needs == recovery::leave_read_only && settings_.keeps_read_only) {
        return_head();
        return needs;
    }
    head.release([this, at = head.sent_at](detail::operation& op) {
        op.sent_at = at;
        finish(op);
    });
    retire(in_flight_, in_flight_.begin());
    return needs;
}

void script_queue::lose_connection(std::uint64_t sent) {
    for (auto* list : {&in_flight_, &waiting_})
        for (auto& b : *list)
            b.in_second_form = false; // the next connection's handshake loads the script
    batch_queue::lose_connection(sent);
}

} // namespace colimit::redis
