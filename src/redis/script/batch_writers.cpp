// SPDX-License-Identifier: BSL-1.0
//
// What the layouts of batches have in common.

#include <base/bytes.hpp>
#include <core/rule_kind.hpp>
#include <redis/script/batch_writers.hpp>
#include <redis/script/wire.hpp>

#include <algorithm>

namespace colimit::redis {

void batch_command::begin(std::size_t keys, std::size_t further) const {
    resp::append_array(out, keys + (words.script.empty() ? 7U : 8U) + further);
    resp::append_bulk(out, words.command);
    if (!words.script.empty())
        resp::append_bulk(out, words.script);
    resp::append_bulk(out, detail::decimal{keys});
}

void batch_command::append_arguments(std::string_view policies, std::string_view calls) const {
    resp::append_bulk(out, policies);
    resp::append_bulk(out, detail::decimal{nonce});
    const auto digits = detail::decimal{clock};
    resp::append_bulk(out, clock == detail::store_clock ? "" : std::string_view{digits});
    resp::append_bulk(out, ttls);
    resp::append_bulk(out, calls);
}

bool call_facts::take(const core::compiled_policy& rules, core::key_state& state) noexcept {
    const auto size = fact_bytes(rules);
    if (bytes.size() < size)
        return false;
    const auto facts = bytes.substr(0, size);
    bytes.remove_prefix(size);
    if (!rules.has_distinct)
        return decode_facts(rules, facts, state.states);
    const auto found = state.states;
    if (!decode_facts(rules, facts, state.states))
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

bool batch_reply::open(std::size_t keys, std::size_t others, bool may_have_facts) {
    const auto values = keys + others;
    const auto has_facts = may_have_facts && nodes_.size() == values + 3; // not if all keys failed
    if ((!has_facts && nodes_.size() != values + 2) || nodes_.front().kind != resp::kind::array ||
        nodes_.back().kind != resp::kind::bulk)
        return false;
    const auto header = read_header(reply_.text(nodes_.back(), bytes_));
    if (!header || header->nonce != header_.nonce ||
        (header->statuses != "-" && header->statuses.size() != keys))
        return false;
    header_ = *header;
    if (facts.now == detail::store_clock)
        facts.now = header->seconds * 1'000'000 + header->microseconds;
    if (has_facts)
        facts.bytes = reply_.text(nodes_[values + 1], bytes_);
    return true;
}

bool batch_reply::enter_shard(std::size_t keys) noexcept {
    const auto& array = nodes_[at_++];
    const auto& nil = nodes_[at_++];
    return array.kind == resp::kind::array && array.size == keys + 1 &&
           nil.kind == resp::kind::null;
}

errc batch_reply::fail(const value& v) {
    const auto is_conflict = v.status == 'c';
    const auto meaning =
        is_conflict ? reply_error{errc::key_conflict, recovery::keep} : classify(v.text);
    needs = std::max(needs, meaning.recovery);
    failure = {meaning.code, is_conflict ? "a key holds a value of another type" : v.text};
    return meaning.code;
}

/// Appends the names of these entries' keys with the name of a family inserted.
void batch_writer::append_family(std::string& out, std::string_view family,
                                 std::span<const std::uint32_t> of) const {
    for (const auto i : of) {
        const auto& e = of_.entries()[i];
        const auto name = of_.key_bytes(e);
        resp::append_bulk_header(out, name.size() + family.size());
        out.append(name.substr(0, e.family_at)).append(family).append(name.substr(e.family_at));
        out.append("\r\n");
    }
}

/// Appends the names of all keys with state of these entries, by family.
void batch_writer::append_names(std::string& out, const detail::policy_data& p,
                                std::span<const std::uint32_t> of) const {
    const auto& rules = p.compiled;
    append_family(out, "", of);
    if (rules.has_log)
        append_family(out, log_family, of);
    for (const auto& l : rules.rules()) {
        const auto family = sketch_family(l.tag);
        if (core::has_sketch(l))
            append_family(out, {family.data(), family.size()}, of);
    }
    if (rules.has_slots)
        append_family(out, slots_family, of);
}

/// Returns the number of names per entry that `append_names` appends.
std::size_t batch_writer::names_per_entry(const detail::policy_data& p) noexcept {
    const auto sketches = std::ranges::count_if(p.compiled.rules(), core::has_sketch);
    return 1 + (p.compiled.has_log ? 1U : 0U) + static_cast<std::size_t>(sketches) +
           (p.compiled.has_slots ? 1U : 0U);
}

/// Appends a call that is made `times` times.
void batch_writer::append_entry(std::string& out, const detail::policy_data& p, std::size_t key,
                                std::uint32_t times, const script_call& c) const {
    append_call(out, static_cast<std::uint16_t>(key), static_cast<std::uint16_t>(times),
                c.at(detail::store_clock));
    const auto member = of_.member_of(c);
    if (p.compiled.has_distinct || p.compiled.has_slots)
        detail::append_number(out, static_cast<std::uint16_t>(member.size()));
    out.append(member);
}

} // namespace colimit::redis
