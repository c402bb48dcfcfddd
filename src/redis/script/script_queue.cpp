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

/// Returns the key by which the newest batch of a policy and a group, with or without ids, is
/// found.
[[nodiscard]] std::uint64_t open_key(const detail::policy_data& p, std::size_t group,
                                     bool has_ids) noexcept {
    return p.fingerprint + (2 * group + (has_ids ? 1U : 0U)) * 0x9e3779b97f4a7c15U;
}

} // namespace

script_queue::script_queue(queue_settings settings)
    : batch_queue(std::move(settings)), minimum_ttl_(std::to_string(settings_.minimum_ttl_ms)),
      ttls_with_ids_(minimum_ttl_ + " " + std::to_string(settings_.request_ttl_ms)),
      module_(settings_.server_module), is_cluster_(settings_.is_cluster) {}

/// Returns the newest of the last waiting batches that has the key, if it takes a call: popular
/// keys are requested again long before their batch is sent. Never an earlier one, as that would
/// change the order of calls.
script_batch* script_queue::waiting_with(const policy_pointer& policy, std::int64_t clock,
                                         std::string_view key, std::uint64_t hash) {
    if (waiting_.size() < 2 || policy->filter)
        return nullptr; // a single batch is found anyway
    auto last = waiting_.rbegin();
    for (std::size_t n = std::min(waiting_.size(), most_searched); n != 0; --n, ++last)
        if (last->has(policy, clock, key, hash))
            return last->takes_calls() ? &*last : nullptr;
    return nullptr;
}

script_batch& script_queue::open_batch(const policy_pointer& policy, std::int64_t clock,
                                       std::size_t group, bool has_ids) {
    auto& open = open_[open_key(*policy, group, has_ids)];
    if (open != nullptr && open->fits(policy, clock, has_ids))
        return *open;
    auto made = take_spare();
    made.front().start(policy, clock, nonce_++, group, has_ids); // may throw
    waiting_.splice(waiting_.end(), made);
    open = &waiting_.back();
    return *open;
}

void script_queue::close_to_calls(const script_batch& b) {
    const auto found = open_.find(open_key(*b.policy(), b.group(), b.has_ids()));
    if (found != open_.end() && found->second == &b)
        open_.erase(found);
}

error_code script_queue::submit(detail::operation& op, std::string_view key,
                                const policy_pointer& policy) {
    if (is_cluster_ && policy->compiled.has_bare_keys)
        return detail::error_of(detail::fault::bare_keys);
    return take(op, 1, [&] {
        const auto has_ids = op.request.has_id;
        const auto hash = policy->filter ? 0 : hash::fnv1a_64(key);
        auto* joined = has_ids ? nullptr : waiting_with(policy, op.request.now, key, hash);
        if (joined == nullptr)
            joined = &open_batch(
                policy, op.request.now,
                is_cluster_ ? script_batch::group_of(settings_.tags, *policy, key, op.request.verb)
                            : script_batch::any_group,
                has_ids);
        joined->add(op, settings_.prefix, key, hash);
        is_full_ = is_full_ || joined->is_full();
        return error_code{};
    });
}

/// A node of a cluster accepts only keys of one hash slot per script call. Batches that waited
/// before that was known are divided, or end as a cluster does not serve them.
void script_queue::begin_connection(const server_facts& server) {
    module_.begin_connection(server.server_module);
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
            if (b.has_bare_keys()) {
                end_batch(b, detail::error_of(detail::fault::bare_keys));
                retire(old, old.begin());
                continue;
            }
            if (b.common_group()) {
                waiting_.splice(waiting_.end(), old, old.begin());
                continue;
            }
            if (b.is_joint())
                end_batch(b, detail::error_of(detail::fault::checks_slots));
            else
                b.move_calls(
                    [&](std::size_t group, std::uint32_t /*key*/) -> auto& {
                        return open_batch(b.policy(), b.clock(), group, b.has_ids());
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
    const auto has_bare_keys = [](const check_item& c) {
        return detail::access::data(c.policy)->compiled.has_bare_keys;
    };
    if (is_cluster_ && std::ranges::any_of(op.checks, has_bare_keys))
        return detail::error_of(detail::fault::bare_keys);
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
        const auto form = form_of(b);
        const auto loads = form == script_command::eval;
        b.sending.asks_for_module = module_.takes_question(now);
        b.sending.is_denied_asking = false;
        b.sending.replies_before = (b.sending.asks_for_module ? 1U : 0U) + (loads ? 1U : 0U) +
                                   (b.sending.asking ? 1U : 0U);
        if (b.sending.asks_for_module)
            append_module_question(out);
        b.encode(out, b.has_ids() ? ttls_with_ids_ : minimum_ttl_, form);
        const auto& sent = b.sent();
        counted.add(sent.keys, sent.calls);
        counted.merged += sent.calls - sent.entries;
        counted.script_loads += loads ? 1U : 0U;
        counted.module_calls += form == script_command::server_module ? sent.calls : 0U;
    });
}

script_command script_queue::form_of(const script_batch& b) const noexcept {
    if (b.sending.in_second_form)
        return second_form(settings_.command);
    if (b.policy()->compiled.has_slots) // the module has no holders: they gain nothing there
        return settings_.command;
    const auto for_ids = b.policy()->filter.has_value();
    return module_.is_used(for_ids) ? script_command::server_module : settings_.command;
}

/// Without ASKING the node that a slot is moved to sends the batch back. No call needs it
/// otherwise, so a permission that is missing is found here.
void script_queue::note_denied_asking(script_batch& b, std::string_view error) {
    b.sending.is_denied_asking = true;
    report({.code = classify(error).code, .phase = phase::script, .text = error});
}

/// Reads the reply to the question for the module, to SCRIPT LOAD or to ASKING.
void script_queue::read_reply_before(script_batch& b, const resp::decoder& reply,
                                     std::string_view bytes) {
    --b.sending.replies_before;
    if (!std::exchange(b.sending.asks_for_module, false)) {
        // The reply to the script says what an error means.
        const auto is_error = resp::is_error(reply.first().kind);
        if (b.sending.asking && b.sending.replies_before == 0)
            return is_error ? note_denied_asking(b, reply.text(reply.first(), bytes)) : void();
        counted.scripts_loaded += is_error ? 0U : 1U;
        return;
    }
    const auto answer = read_module_state(reply, bytes);
    if (!module_.read_answer(answer))
        return;
    if (answer == module_state::incompatible)
        report({.code = errc::invalid_config,
                .phase = phase::script,
                .text = incompatible_module(reply, bytes)});
    if (answer == module_state::denied)
        report({.code = errc::auth_failed,
                .phase = phase::script,
                .text = reply.text(reply.first(), bytes)});
}

std::optional<recovery> script_queue::read_reply_of(script_batch& head, const resp::decoder& reply,
                                                    std::string_view bytes) {
    if (head.sending.replies_before != 0) {
        read_reply_before(head, reply, bytes);
        return recovery::keep;
    }
    if (resp::is_error(reply.first().kind))
        return fail_head(reply.text(reply.first(), bytes));
    const auto needs = head.read_reply(reply, bytes);
    if (!needs)
        return std::nullopt;
    // On a cluster that this limiter knows, the slot of a key that is elsewhere is being moved; the
    // script may have written a part of its state before.
    const auto is_moving = [this](error_code ec) {
        return router_ != nullptr && ec == errc::wrong_node;
    };
    const auto& failure = head.failure;
    if (failure)
        report({.code = is_moving(failure->code) ? errc::outcome_unknown : failure->code,
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
    head.release([&, at = head.sent_at](detail::operation& op) {
        op.sent_at = at;
        if (is_moving(op.ec))
            return finish_lost(op);
        // What a record says is certain; other errors say nothing about an earlier sending.
        if (op.ec && op.may_be_executed && op.ec != errc::invalid_argument)
            op.ec = errc::outcome_unknown;
        finish(op);
    });
    if (router_ != nullptr)
        router_->on_served(*this, head.group(), head.is_parked);
    retire(in_flight_, in_flight_.begin());
    return needs;
}

void script_queue::lose_connection(std::uint64_t sent) {
    for (auto* list : {&in_flight_, &waiting_})
        for (auto& b : *list)
            b.sending.in_second_form = false; // the next connection's handshake loads the script
    batch_queue::lose_connection(sent);
}

} // namespace colimit::redis
