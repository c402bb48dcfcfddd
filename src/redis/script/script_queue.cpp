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
        auto* joined = has_ids ? nullptr : waiting_with(policy, op.request.now, key);
        if (joined == nullptr)
            joined = &open_batch(
                policy, op.request.now,
                is_cluster_ ? script_batch::group_of(settings_.tags, *policy, key, op.request.verb)
                            : script_batch::any_group,
                has_ids);
        joined->add(op, settings_.prefix, key);
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
        b.asks_for_module = module_.takes_question(now);
        b.replies_before = (b.asks_for_module ? 1U : 0U) + (loads ? 1U : 0U) + (b.asking ? 1U : 0U);
        if (b.asks_for_module)
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
    if (b.in_second_form)
        return second_form(settings_.command);
    const auto for_ids = b.policy()->filter.has_value();
    return module_.is_used(for_ids) ? script_command::server_module : settings_.command;
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
                auto made = take_spare();
                made.front().start(b.policy(), b.clock(), nonce_++, group, b.has_ids());
                parts.splice(parts.end(), made);
                part_of[key] = &parts.back();
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

/// Returns whether the server may execute a batch in its second form that it has not executed for
/// this error.
bool script_queue::may_be_repeated(const script_batch& b, std::string_view error) const {
    switch (b.form) {
    case script_command::evalsha:
        return classify(error).recovery == recovery::resend_with_script;
    case script_command::fcall:
        return error.starts_with("OOM ");
    default:
        return false;
    }
}

/// Handles an error for which the server has not executed the first batch in flight, as it lacks
/// the module, or the user the permission: the batch is repeated without the module or, if that is
/// required, with the next connection, whose handshake says what is missing. A permission that is
/// missing is reported although no call fails. Returns nullopt for other errors.
std::optional<recovery> script_queue::leave_module(std::string_view error) {
    const auto& b = in_flight_.front();
    const auto is_denied = is_command_denial(error) && !module_.is_required();
    if (b.form != script_command::server_module || !(is_denied || is_module_missing(error)))
        return std::nullopt;
    const auto for_ids = b.policy()->filter.has_value();
    if (is_denied)
        report({.code = errc::auth_failed, .phase = phase::script, .text = error});
    return_head();
    if (module_.is_required())
        return recovery::leave_unloaded;
    module_.lose(for_ids, is_denied);
    return recovery::resend_with_script;
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
    if (const auto needs = leave_module(text))
        return *needs;
    if (may_be_repeated(b, text) && !std::exchange(b.in_second_form, true)) {
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
    if (meaning.code == errc::outcome_unknown && b.has_ids() &&
        !std::exchange(b.was_repeated, true)) {
        b.note_uncertain();
        return_head();
        return meaning.recovery;
    }
    b.release([this, code = meaning.code](detail::operation& op) {
        finish(op, op.may_be_executed ? errc::outcome_unknown : code);
    });
    retire(in_flight_, in_flight_.begin());
    return meaning.recovery;
}

/// Reads the reply to the question for the module, to SCRIPT LOAD or to ASKING.
void script_queue::read_reply_before(script_batch& b, const resp::decoder& reply,
                                     std::string_view bytes) {
    --b.replies_before;
    if (!std::exchange(b.asks_for_module, false)) {
        if (b.replies_before >= (b.asking ? 1U : 0U))
            counted.scripts_loaded += resp::is_error(reply.first().kind) ? 0U : 1U;
        return; // the reply to the script says what an error means
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
    if (head.replies_before != 0) {
        read_reply_before(head, reply, bytes);
        return recovery::keep;
    }
    if (resp::is_error(reply.first().kind))
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
        // What a record says is certain; other errors say nothing about an earlier sending.
        if (op.ec && op.may_be_executed && op.ec != errc::invalid_argument)
            op.ec = errc::outcome_unknown;
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
