// SPDX-License-Identifier: BSL-1.0
//
// Calls on keys, and on keys whose states are packed. The reply has the values that the script
// found; the C++ twin of the script then makes the same decisions for the calls of each key. Both
// count what they granted: if the counts differ, the batch ends with `corrupt_state`, not with
// wrong decisions. The script returns values instead of decisions: formatting numbers is expensive
// in Lua and the values are strings already, so this is the cheapest possible reply. The price is
// this twin.
//
// Identical consecutive calls are one entry with a count. If a state is numbers, the script
// computes in one step how many of them fit: after a grant of n there is room for n less at the
// same instant, for every kind of rule, and if one does not fit, the next does not either. The C++
// twin makes them one by one, so each caller gets its own decision; if the two ways differed, the
// counts of grants would. Calls on logs and sketches, whose facts change from call to call, share
// the entry, and the script makes each.

#include <core/allow_times.hpp>
#include <core/request_record.hpp>
#include <core/slot_counts.hpp>
#include <core/state_encoding.hpp>
#include <core/verb_traits.hpp>
#include <redis/script/batch_writers.hpp>
#include <redis/script/wire.hpp>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace colimit::redis {
namespace {

/// Returns whether all calls are an allow of cost 1, so that their numbers say everything.
[[nodiscard]] bool is_plain(const keyed_calls& of) noexcept {
    return !of.has_ids() && !of.policy()->compiled.has_distinct &&
           std::ranges::all_of(of.calls(), [](const script_call& c) {
               return c.verb == detail::verb::allow && c.cost == 1 && c.at_least == 1;
           });
}

/// Appends the number of calls on each key; nothing if there is one on each.
void append_counts(const keyed_calls& of, std::string& out, batch_contents& sent) {
    const auto wide = std::ranges::any_of(
        of.entries(), [](const keyed_calls::entry& e) { return e.times() > 255; });
    auto once_each = true;
    for (const auto i : of.order()) {
        const auto& e = of.entries()[i];
        append_times(out, static_cast<std::uint16_t>(e.times()), wide);
        sent.calls += e.live;
        once_each = once_each && e.times() == 1;
    }
    sent.keys = sent.entries = static_cast<std::uint32_t>(of.order().size());
    if (once_each)
        out.clear();
}

/// Returns whether two consecutive calls on one key are identical.
[[nodiscard]] bool is_repeated(const keyed_calls& of, const script_call& a,
                               const script_call& b) noexcept {
    return a.verb == b.verb && a.cost == b.cost && a.at_least == b.at_least &&
           of.member_of(a) == of.member_of(b);
}

/// Decides the calls that are made for a lease, after those of callers from `c` until `end`.
void decide_lease(keyed_calls& of, const script_call& c, const script_call* end,
                  core::key_state& state, batch_reply& from) {
    const auto served =
        core::allow_times(of.policy()->compiled, state, c.at(from.facts.now), c.lease_calls);
    from.granted += served;
    for (const auto* one = &c; one != end; one = of.after(*one))
        if (one->op != nullptr)
            one->op->lease.granted = served;
}

/// Decides a call, whose facts have been read.
/// @param withdrawn gets the decision if the call has no caller
void decide_call(const core::compiled_policy& rules, const script_call& c, core::key_state& state,
                 batch_reply& from, decision& withdrawn) {
    const auto request = c.at(from.facts.now);
    if (core::lacks_memory(rules, state.states, request)) {
        from.lacks_memory = true;
        if (c.op != nullptr)
            c.op->ec = errc::server_error;
        return;
    }
    auto& answer = c.op != nullptr ? c.op->result : withdrawn;
    (void)core::evaluate(rules, state, request, answer);
    if (c.op != nullptr)
        c.op->fencing_token = core::fencing_token(rules, state.states, request, answer);
    from.granted += core::traits_of(c.verb).is_granted && answer.allowed() ? 1 : 0;
}

/// Decides the calls on a key. Returns false if the facts are not valid.
[[nodiscard]] bool decide(keyed_calls& of, const keyed_calls::entry& e,
                          std::optional<std::string_view> value, batch_reply& from) {
    const auto& rules = of.policy()->compiled;
    auto state = core::decode_value(rules, value);
    decision withdrawn;
    // Of identical calls, those for a lease are the last ones, so that they take nothing from the
    // others.
    const script_call* lease = nullptr;
    for (auto* c = of.first(e); c != nullptr; c = of.after(*c)) {
        if (lease != nullptr && !is_repeated(of, *lease, *c))
            decide_lease(of, *std::exchange(lease, nullptr), c, state, from);
        if (!from.facts.take(rules, state))
            return false;
        decide_call(rules, *c, state, from, withdrawn);
        if (c->lease_calls != 0) {
            if (lease != nullptr)
                decide_lease(of, *lease, c, state, from);
            lease = c;
        }
    }
    if (lease != nullptr)
        decide_lease(of, *lease, nullptr, state, from);
    return true;
}

/// Decides a call whose id is known from its record. Returns false if that is not valid.
[[nodiscard]] bool decide_known(keyed_calls& of, std::size_t entry, std::string_view record) {
    const auto& p = *of.policy();
    const auto known = core::decode_record(record, p.version, fact_bytes(p.compiled));
    if (!known)
        return false;
    const auto& c = of.calls()[of.entries()[entry].first_call];
    if (c.op == nullptr)
        return true;
    auto digests = core::call_digests{};
    std::memcpy(&digests, of.id_of(entry).data() + keyed_calls::record_name_bytes, sizeof digests);
    const auto request = c.at(known->now);
    if (const auto wrong = core::difference(*known, request, digests);
        wrong != detail::fault::none) {
        c.op->ec = detail::error_of(wrong);
        return true;
    }
    auto state = core::decode_value(p.compiled, known->value);
    auto facts = call_facts{.bytes = known->facts, .now = known->now};
    if (!facts.take(p.compiled, state))
        return false;
    (void)core::evaluate(p.compiled, state, request, c.op->result);
    return true;
}

} // namespace

batch_contents key_writer::encode(const batch_command& to) {
    const auto& p = *of_.policy();
    const auto& order = of_.list_entries();
    const auto names = names_per_entry(p);
    auto& calls = of_.scratch();
    const auto sent = append_calls(calls);
    to.begin((names + (of_.has_ids() ? 1 : 0)) * sent.keys, 0);
    if (order.size() == of_.entries().size() && names == 1)
        to.out.append(of_.all_names());
    else
        append_names(to.out, p, order);
    for (std::size_t n = 0; of_.has_ids() && n < order.size(); ++n) {
        const auto& e = of_.entries()[order[n]];
        append_record(to.out, of_.key_bytes(e).substr(0, e.family_at), order[n]);
    }
    to.append_arguments(p.wire, calls);
    return sent;
}

/// Appends the name of the record of an entry's call.
void key_writer::append_record(std::string& out, std::string_view beginning,
                               std::size_t entry) const {
    const auto end = of_.id_of(entry).substr(0, keyed_calls::record_name_bytes);
    resp::append_bulk_header(out, beginning.size() + record_family.size() + end.size());
    out.append(beginning).append(record_family).append(end).append("\r\n");
}

/// Appends the calls grouped by key, consecutive identical ones as one.
batch_contents key_writer::append_calls(std::string& out) const {
    auto sent = batch_contents{};
    if (is_plain(of_)) {
        append_counts(of_, out, sent);
        return sent;
    }
    of_.reserve_calls(out);
    for (const auto i : of_.order()) {
        const auto& e = of_.entries()[i];
        for (const auto* c = of_.first(e); c != nullptr; ++sent.entries) {
            const auto& one = *c;
            auto times = std::uint32_t{0};
            for (; c != nullptr && is_repeated(of_, one, *c); c = of_.after(*c))
                times += 1 + c->lease_calls;
            append_entry(out, *of_.policy(), sent.keys, times, one);
            if (of_.has_ids())
                out.append(of_.id_of(i).substr(keyed_calls::record_name_bytes));
        }
        ++sent.keys;
        sent.calls += e.live;
    }
    return sent;
}

bool key_writer::read(batch_reply& from) {
    return from.open(of_.order().size(), 0, fact_bytes(of_.policy()->compiled) != 0) &&
           std::ranges::all_of(of_.order(), [&](auto i) { return read_key(i, from); });
}

/// Decides the calls on the next key of the reply. Returns false if value or facts are not valid.
bool key_writer::read_key(std::size_t entry, batch_reply& from) {
    const auto& e = of_.entries()[entry];
    auto found = from.next();
    if (found.status == 'r' && of_.has_ids()) {
        if (decide_known(of_, entry, found.text))
            return true;
        found.status = 'c';
    }
    if (found.status == '.')
        return found.is_valid() && decide(of_, e, found.stored(), from);
    of_.fail(e, from.fail(found));
    return true;
}

/// Lists the entries with calls to be made, by shard.
void shard_writer::order_entries() {
    auto& order = of_.list_entries();
    const auto shard_of = [this](std::uint32_t i) {
        return of_.tags().shard_of(of_.entries()[i].group);
    };
    sizes_.fill(0);
    for (const auto i : order)
        ++sizes_[shard_of(i)];
    auto next = std::array<std::size_t, shard_count>{};
    std::exclusive_scan(sizes_.begin(), sizes_.end(), next.begin(), std::size_t{0});
    for (std::uint32_t i = 0; i < of_.entries().size(); ++i)
        if (of_.entries()[i].live != 0)
            order[next[shard_of(i)]++] = i;
}

/// Returns the name of a shard's hashes, up to `new` or `old`.
std::string& shard_writer::name_of(std::size_t shard) {
    name_.clear();
    name_.resize(of_.naming().append(name_, "", of_.tags().text(of_.tags().of_shard(shard))));
    return name_;
}

/// The keys of the command are the hashes of the shards; the fields of each shard come last.
batch_contents shard_writer::encode(const batch_command& to) {
    order_entries();
    auto& calls = of_.scratch();
    const auto sent = append_calls(calls);
    to.begin(2 * shards() + (of_.has_ids() ? sent.keys : 0), 1 + sent.keys);
    for (std::size_t i = 0; i < shard_count; ++i)
        for (const auto* which : {"new", "old"})
            if (sizes_[i] != 0)
                resp::append_bulk(to.out, name_of(i).append(which));
    for (std::size_t n = 0; of_.has_ids() && n < of_.order().size(); ++n) {
        const auto i = of_.order()[n];
        append_record(to.out, name_of(of_.tags().shard_of(of_.entries()[i].group)), i);
    }
    to.append_arguments(of_.policy()->wire, calls);
    auto& sizes = of_.scratch();
    for (const auto size : sizes_)
        if (size != 0)
            append_times(sizes, size, true);
    resp::append_bulk(to.out, sizes);
    for (const auto i : of_.order())
        resp::append_bulk(to.out, of_.key_bytes(of_.entries()[i]));
    return sent;
}

/// The reply has an array for each shard, and a nil.
bool shard_writer::read(batch_reply& from) {
    const auto order = of_.order();
    if (!from.open(order.size(), 2 * shards(), fact_bytes(of_.policy()->compiled) != 0))
        return false;
    auto key = order.begin();
    for (const auto size : sizes_) {
        if (size != 0 && !from.enter_shard(size))
            return false;
        for (const auto end = key + size; key != end; ++key)
            if (!read_key(*key, from))
                return false;
    }
    return true;
}

} // namespace colimit::redis
