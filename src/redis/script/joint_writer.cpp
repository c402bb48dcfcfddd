// SPDX-License-Identifier: BSL-1.0
//
// Batches of the checks of one `allow_all`, of which all are charged or none. Only the first call
// has a caller.

#include <core/state_encoding.hpp>
#include <hash/fnv1a.hpp>
#include <redis/script/batch_writers.hpp>
#include <redis/script/wire.hpp>

#include <algorithm>

namespace colimit::redis {

bool joint_writer::add(detail::operation& op, std::string_view prefix) {
    for (const auto& c : op.checks)
        policies_.push_back(detail::access::data(c.policy));
    answers_.assign(op.checks.size(), {});
    states_.resize(op.checks.size());
    for (std::size_t i = 0; i < policies_.size(); ++i) {
        const auto& p = *policies_[i];
        const auto& c = op.checks[i];
        const auto request = detail::make_request(detail::verb::allow, c.options);
        of_.begin_names(prefix, p);
        (void)of_.add(request, p, prefix, c.key, hash::fnv1a_64(c.key),
                      of_.make_member(p, request));
        if (of_.keys() != of_.calls().size())
            return false;
    }
    of_.hold(op, 0);
    return true;
}

batch_contents joint_writer::encode(const batch_command& to) {
    const auto order = std::span<const std::uint32_t>{of_.list_entries()};
    BOOST_ASSERT(order.size() == policies_.size());
    auto& calls = of_.reserve_calls(of_.scratch());
    auto names = std::size_t{0};
    auto policies = std::string{};
    for (std::size_t i = 0; i < policies_.size(); ++i) {
        names += names_per_entry(*policies_[i]);
        policies += policies_[i]->wire;
        append_entry(calls, *policies_[i], i, 1, of_.calls()[i]);
    }
    to.begin(names, 1);
    for (std::size_t i = 0; i < policies_.size(); ++i)
        append_names(to.out, *policies_[i], order.subspan(i, 1));
    to.append_arguments(policies, calls);
    auto& keys = of_.scratch();
    for (std::size_t i = 0; i < policies_.size(); ++i)
        keys.append("\1\0", 2); // each check has one key
    resp::append_bulk(to.out, keys);
    const auto size = static_cast<std::uint32_t>(policies_.size());
    return {.keys = size, .calls = size, .entries = size};
}

/// Stores the states of all keys before it decides. The operation gets the most restrictive
/// decision.
bool joint_writer::read(batch_reply& from) {
    if (!from.open(of_.order().size(), 0, true))
        return false;
    for (std::size_t i = 0; i < policies_.size(); ++i) {
        const auto found = from.next();
        if (found.status != '.') {
            of_.fail_all(from.fail(found));
            continue;
        }
        if (!found.is_valid())
            return false;
        const auto& rules = policies_[i]->compiled;
        states_[i] = core::decode_value(rules, found.stored());
        if (!from.failure && !from.facts.take(rules, states_[i]))
            return false;
    }
    if (from.failure) {
        from.facts.bytes = {};
        if (from.has_grants()) // one failed after others were charged
            of_.fail_all(errc::outcome_unknown);
        return true;
    }
    from.granted = decide(from.facts.now);
    auto* op = of_.calls().front().op;
    if (op == nullptr || !from.agrees())
        return true;
    for (std::size_t i = 0; i < op->checks.size(); ++i)
        op->checks[i].result = answers_[i];
    op->result = core::most_restrictive(answers_);
    return true;
}

/// Decides the checks, all or none. Returns the number of tokens granted.
std::int64_t joint_writer::decide(std::int64_t now) {
    auto all = true;
    for (std::size_t i = 0; i < policies_.size(); ++i) {
        auto request = of_.calls()[i].at(now);
        request.verb = detail::verb::peek;
        auto state = states_[i];
        (void)core::evaluate(policies_[i]->compiled, state, request, answers_[i]);
        all = all && answers_[i].allowed();
    }
    for (std::size_t i = 0; i < policies_.size(); ++i) {
        if (all)
            (void)core::evaluate(policies_[i]->compiled, states_[i], of_.calls()[i].at(now),
                                 answers_[i]);
        else
            answers_[i].granted = 0;
    }
    return all ? static_cast<std::int64_t>(policies_.size()) : 0;
}

} // namespace colimit::redis
