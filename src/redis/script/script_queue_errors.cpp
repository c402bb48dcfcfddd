// SPDX-License-Identifier: BSL-1.0
//
// Second part of the script queue: batches that a server has not executed. They are sent again in
// another form, or to another node, or end.

#include <redis/script/script_queue.hpp>

#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colimit::redis {

/// Handles an error that only a node of a cluster sends, as not every handshake can detect a
/// cluster. Returns whether the first batch in flight is divided: the server executed nothing of
/// it, as its keys are in several hash slots. It is queued before the waiting batches; calls for
/// one key that were in several batches in flight may change their order.
bool script_queue::try_divide_head(std::string_view text) {
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

/// Sends the first batch in flight, which the node has not executed, to where the router decides,
/// or ends its calls. Returns false if they end as the node's reply means.
bool script_queue::redirect_head(std::string_view error) {
    auto& b = in_flight_.front();
    const auto are_apart = !b.is_joint() && !b.policy()->compiled.packed; // its keys, on the server
    const auto to = router_->redirect(*this, {.error = error,
                                              .is_denied = b.sending.is_denied_asking,
                                              .group = b.group(),
                                              .redirections = b.sending.redirections,
                                              .may_be_divided = are_apart && b.keys() > 1});
    if (to.queue == nullptr) {
        if (!to.error)
            return false;
        end_unserved(b, *to.error);
        retire(in_flight_, in_flight_.begin());
        return true;
    }
    const auto last = std::next(in_flight_.begin());
    b.take_back();
    if (to.divided)
        divide_head();
    while (in_flight_.begin() != last) {
        auto& part = in_flight_.front();
        part.sending.in_second_form = false;
        part.is_returned = true;
        part.is_parked = to.parked;
        part.sending.asking = to.asking;
        part.sending.redirections = to.redirections;
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

void script_queue::move_batch(batches& list, batches::iterator b, script_queue* to) noexcept {
    close_to_calls(*b);
    if (to == nullptr) {
        end_unserved(*b, errc::unavailable);
        return retire(list, b);
    }
    b->sending.in_second_form = b->sending.asking = false;
    to->take_over(*this, list, b);
}

/// Ends the calls of a batch that a server has not executed now.
void script_queue::end_unserved(script_batch& b, errc why) {
    b.release([this, why](detail::operation& op) {
        finish(op, op.may_be_executed ? errc::outcome_unknown : why);
    });
}

/// Returns whether the server may execute a batch in its second form that it has not executed for
/// this error.
bool script_queue::may_be_repeated(const script_batch& b, std::string_view error) const {
    switch (b.sending.form) {
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
    if (b.sending.form != script_command::server_module || !(is_denied || is_module_missing(error)))
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
    auto meaning = classify(text);
    auto& b = in_flight_.front();
    if (router_ != nullptr && is_about_node(text) && redirect_head(text))
        return recovery::keep;
    // Its slot is being moved; the script may have written other keys before.
    const auto is_moving = router_ != nullptr && is_about_key_elsewhere(text);
    if (is_moving)
        meaning.code = errc::outcome_unknown;
    if (meaning.code == errc::wrong_node && try_divide_head(text))
        return recovery::keep;
    // With the module the next handshake would not look for the library: the batch fails.
    const auto lacks_library = meaning.recovery == recovery::leave_unloaded;
    if (lacks_library && !module_.is_used()) {
        return_head();
        return recovery::leave_unloaded;
    }
    if (const auto needs = leave_module(text))
        return *needs;
    if (may_be_repeated(b, text) && !std::exchange(b.sending.in_second_form, true)) {
        return_head();
        return recovery::resend_with_script;
    }
    if (meaning.recovery == recovery::leave_read_only && settings_.keeps_read_only) {
        return_head();
        return recovery::leave_read_only;
    }
    const auto what = lacks_library ? missing_library() : std::string{};
    report({.code = meaning.code,
            .phase = phase::script,
            .text = lacks_library ? what : text,
            .received = lacks_library ? text : std::string_view{},
            .policy = b.policy()->fingerprint});
    if (meaning.code == errc::outcome_unknown && b.has_ids() &&
        !std::exchange(b.sending.was_repeated, true)) {
        b.note_uncertain();
        return_head();
        return meaning.recovery;
    }
    if (is_moving)
        b.release([this](detail::operation& op) { finish_lost(op); });
    else
        end_unserved(b, meaning.code);
    retire(in_flight_, in_flight_.begin());
    return lacks_library ? recovery::keep : meaning.recovery;
}

} // namespace colimit::redis
