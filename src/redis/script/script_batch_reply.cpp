// SPDX-License-Identifier: BSL-1.0
//
// Computes decisions from a reply. The reply has the values that the script found; the C++ twin of
// the script then makes the same decisions for the calls of each key. Both count what they granted:
// if the counts differ, no call gets a decision.
//
// The script returns the values that it found instead of decisions: formatting numbers is expensive
// in Lua and the values are strings already, so this is the cheapest possible reply. The price is
// this twin. If the counts differ, the batch ends with `corrupt_state`, not with wrong decisions.

#include <core/allow_times.hpp>
#include <core/request_record.hpp>
#include <core/rule_kind.hpp>
#include <core/slot_counts.hpp>
#include <core/state_encoding.hpp>
#include <core/verb_traits.hpp>
#include <redis/protocol/known_replies.hpp>
#include <redis/script/script_batch.hpp>
#include <redis/script/wire.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace colimit::redis {

struct script_batch::answers {
    std::string_view facts; ///< those not read yet
    std::int64_t now;
    std::int64_t granted = 0;
    bool lacks_memory = false; ///< a call failed for that reason

    /// Reads the facts of a call; returns false if there are none, or they are not valid numbers.
    [[nodiscard]] bool take_facts(const core::compiled_policy& rules,
                                  core::key_state& state) noexcept {
        if (!rules.has_distinct)
            return take(rules, state);
        const auto found = state.states;
        if (!take(rules, state))
            return false;
        // If the script moved a window after a clock step, it stored the whole value.
        for (std::size_t i = 0; i < rules.size; ++i) {
            const auto& s = found[i];
            if (core::has_sketch(rules.limits[i]) && s.num != 0 && s.debt != 0 && s.t > now &&
                s.t != state.states[i].t)
                state.stale = true;
        }
        return true;
    }

    [[nodiscard]] bool take(const core::compiled_policy& rules, core::key_state& state) noexcept {
        const auto size = fact_bytes(rules);
        if (facts.size() < size || !decode_facts(rules, facts, state.states))
            return false;
        facts.remove_prefix(size);
        return true;
    }
};

/// The values are consecutive or, if the policy is packed, in one array per shard, after a nil.
struct script_batch::reply_cursor {
    const script_batch& of;
    std::span<const resp::node> nodes;
    std::size_t at = 1;
    std::size_t shard = 0;
    std::size_t rest = 0; ///< of the current shard

    /// Returns the value of the next key; null if the reply does not have this form.
    [[nodiscard]] const resp::node* next() noexcept {
        if (of.is_packed() && rest-- == 0) {
            auto size = std::size_t{0};
            while (size == 0)
                size = of.shard_sizes_[shard++];
            const auto& array = nodes[at++];
            const auto& nil = nodes[at++];
            if (array.kind != resp::kind::array || array.size != size + 1 ||
                nil.kind != resp::kind::null)
                return nullptr;
            rest = size - 1;
        }
        return &nodes[at++];
    }
};

/// Returns false if the facts are not valid.
bool script_batch::decide(const entry& e, std::optional<std::string_view> value, answers& from) {
    const auto& rules = policy_->compiled;
    auto state = core::decode_value(rules, value);
    decision withdrawn;
    // Of identical calls, those for a lease are the last ones, so that they take nothing from the
    // others.
    const script_call* lease = nullptr;
    auto i = e.first_call;
    const auto decide_last = [&](const script_call* before) {
        if (lease != nullptr && (before == nullptr || !is_repeated(*lease, *before)))
            decide_lease(*std::exchange(lease, nullptr), i, state, from);
    };
    for (; i != no_entry; i = calls_[i].next) {
        auto& c = calls_[i];
        if (c.withdrawn)
            continue;
        decide_last(&c);
        if (!from.take_facts(rules, state))
            return false;
        c.request.now = from.now;
        if (core::lacks_memory(rules, state.states, c.request)) {
            from.lacks_memory = true;
            if (c.op != nullptr)
                c.op->ec = errc::server_error;
            continue;
        }
        auto& answer = c.op != nullptr ? c.op->result : withdrawn;
        (void)core::evaluate(rules, state, c.request, answer);
        if (c.op != nullptr)
            c.op->fencing_token = core::fencing_token(rules, state.states, c.request, answer);
        from.granted += core::traits_of(c.request.verb).is_granted && answer.allowed() ? 1 : 0;
        if (c.further != 0) {
            decide_last(nullptr);
            lease = &c;
        }
    }
    decide_last(nullptr);
    return true;
}

/// Decides a call whose id is known from its record. Returns false if that is not valid.
bool script_batch::decide_known(const entry& e, std::string_view record) {
    const auto& rules = policy_->compiled;
    const auto known = core::decode_record(record, policy_->version, fact_bytes(rules));
    if (!known)
        return false;
    auto& c = calls_[e.first_call];
    if (c.op == nullptr)
        return true;
    auto digests = core::call_digests{};
    std::memcpy(&digests, id_of(c.entry).data() + record_name_bytes, sizeof digests);
    if (const auto wrong = core::difference(*known, c.request, digests);
        wrong != detail::fault::none) {
        c.op->ec = detail::error_of(wrong);
        return true;
    }
    auto state = core::decode_value(rules, known->value);
    auto from = answers{.facts = known->facts, .now = known->now};
    if (!from.take_facts(rules, state))
        return false;
    c.request.now = known->now;
    (void)core::evaluate(rules, state, c.request, c.op->result);
    return true;
}

/// Decides the calls that are made for a lease, after those of callers from `c` until `end`.
void script_batch::decide_lease(const script_call& c, std::uint32_t end, core::key_state& state,
                                answers& from) const {
    const auto served = core::allow_times(policy_->compiled, state, c.request, c.further);
    from.granted += served;
    for (const auto* one = &c;; one = &calls_[one->next]) {
        if (one->op != nullptr)
            one->op->lease.granted = served;
        if (one->next == end)
            return;
    }
}

/// Decides ids, for which the facts are sufficient: a new id is granted.
bool script_batch::decide_ids(const entry& e, answers& from) {
    for (auto i = e.first_call; i != no_entry; i = calls_[i].next) {
        auto& c = calls_[i];
        if (c.withdrawn)
            continue;
        if (c.request.verb == detail::verb::inspect) {
            auto set = std::array<std::int64_t, 2>{};
            if (!take_bits(from.facts, *policy_->filter, set))
                return false;
            if (c.op != nullptr)
                static_cast<detail::block_bits&>(*c.op->attached).set = set;
            continue;
        }
        auto seen = false;
        if (!take_seen(from.facts, seen))
            return false;
        from.granted += seen ? 0 : 1;
        if (c.op != nullptr)
            c.op->result.outcome = seen ? outcome::denied : outcome::allowed;
    }
    return true;
}

/// Stores the state of a check's key until all have been read. Returns false if facts are invalid.
bool script_batch::keep_value(std::size_t check, std::optional<std::string_view> value,
                              answers& from) {
    const auto& rules = joint_[check]->compiled;
    check_states_[check] = core::decode_value(rules, value);
    return from.take_facts(rules, check_states_[check]);
}

/// Decides the checks, all or none. Returns the number of tokens granted.
std::int64_t script_batch::decide_checks(std::int64_t now) {
    auto all = true;
    for (std::size_t i = 0; i < joint_.size(); ++i) {
        auto request = calls_[i].request;
        request.verb = detail::verb::peek;
        request.now = now;
        auto state = check_states_[i];
        (void)core::evaluate(joint_[i]->compiled, state, request, check_answers_[i]);
        all = all && check_answers_[i].allowed();
    }
    for (std::size_t i = 0; i < joint_.size(); ++i) {
        calls_[i].request.now = now;
        if (all)
            (void)core::evaluate(joint_[i]->compiled, check_states_[i], calls_[i].request,
                                 check_answers_[i]);
        else
            check_answers_[i].granted = 0;
    }
    return all ? static_cast<std::int64_t>(joint_.size()) : 0;
}

/// Copies each decision to its check, and the most restrictive one to the operation.
void script_batch::hand_over_checks() noexcept {
    if (!is_joint() || calls_.front().op == nullptr || calls_.front().op->ec)
        return;
    auto& op = *calls_.front().op;
    for (std::size_t i = 0; i < op.checks.size(); ++i)
        op.checks[i].result = check_answers_[i];
    op.result = core::most_restrictive(check_answers_);
}

void script_batch::fail(const entry& e, errc code) noexcept {
    for (auto i = e.first_call; i != no_entry; i = calls_[i].next)
        if (calls_[i].op != nullptr)
            calls_[i].op->ec = code;
}

void script_batch::fail_all(errc code) noexcept {
    for (auto& c : calls_)
        if (c.op != nullptr)
            c.op->ec = code;
}

std::optional<recovery> script_batch::read_reply(const resp::decoder& reply,
                                                 std::string_view bytes) {
    const auto nodes = reply.nodes();
    const auto values = order_.size() + (is_packed() ? 2 * shards() : 0U);
    const auto may_have_facts = is_joint() || policy_->filter || fact_bytes(policy_->compiled) != 0;
    const auto has_facts = may_have_facts && nodes.size() == values + 3U; // not if all keys failed
    if ((!has_facts && nodes.size() != values + 2U) || nodes.front().kind != resp::kind::array ||
        nodes.back().kind != resp::kind::bulk)
        return std::nullopt;
    const auto header = read_header(reply.text(nodes.back(), bytes));
    if (!header || header->nonce != nonce_)
        return std::nullopt;
    const auto is_well = header->statuses == "-";
    if (!is_well && header->statuses.size() != order_.size())
        return std::nullopt;

    failure.reset();
    auto from = answers{.facts = has_facts ? reply.text(nodes[values + 1U], bytes) : "",
                        .now = clock_ == detail::store_clock
                                   ? header->seconds * 1'000'000 + header->microseconds
                                   : clock_};
    auto worst = recovery::keep;
    auto cursor = reply_cursor{.of = *this, .nodes = nodes};
    for (std::size_t key = 0; key < order_.size(); ++key) {
        const auto& e = entries_[order_[key]];
        const auto* found = cursor.next();
        if (found == nullptr)
            return std::nullopt;
        const auto text = reply.text(*found, bytes);
        auto status = is_well ? '.' : header->statuses[key];
        if (status == 'r' && has_ids_) {
            if (decide_known(e, text))
                continue;
            status = 'c';
        }
        if (status != '.') {
            const auto meaning =
                status == 'c' ? reply_error{errc::key_conflict, recovery::keep} : classify(text);
            worst = std::max(worst, meaning.recovery);
            failure = {meaning.code, status == 'c' ? "a key holds a value of another type" : text};
            is_joint() ? fail_all(meaning.code) : fail(e, meaning.code);
            continue;
        }
        if (found->kind != resp::kind::bulk && found->kind != resp::kind::null)
            return std::nullopt;
        const auto value = found->kind == resp::kind::null ? std::nullopt : std::optional{text};
        const auto is_valid = is_joint()        ? failure || keep_value(key, value, from)
                              : policy_->filter ? decide_ids(e, from)
                                                : decide(e, value, from);
        if (!is_valid)
            return std::nullopt;
    }
    if (is_joint() && !failure)
        from.granted = decide_checks(from.now);
    else if (is_joint() && header->granted > 0) // one failed after others were charged
        fail_all(errc::outcome_unknown);
    const auto has_surplus_facts = !from.facts.empty() && !(is_joint() && failure);
    if (has_surplus_facts || (!failure && from.granted != header->granted)) {
        failure = {errc::corrupt_state, "the script and this process decided differently"};
        fail_all(errc::corrupt_state);
    }
    if (from.lacks_memory && !failure)
        failure = {errc::server_error, "OOM: the server has no memory for what an acquire may add"};
    return worst;
}

} // namespace colimit::redis
