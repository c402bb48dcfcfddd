// SPDX-License-Identifier: BSL-1.0
//
// Encodes a batch: the keys, or the shards of their states, then the policy, the clock, the calls.

#include <base/bytes.hpp>
#include <core/rule_kind.hpp>
#include <redis/script/script_batch.hpp>
#include <redis/script/wire.hpp>

#include <algorithm>
#include <numeric>

namespace colimit::redis {
namespace {

/// Returns the number of keys per entry, including its log, sketches and holders.
[[nodiscard]] std::size_t keys_of(const detail::policy_data& p) noexcept {
    if (p.filter)
        return 2; // generations
    const auto sketches = std::ranges::count_if(p.compiled.rules(), core::has_sketch);
    return 1 + (p.compiled.has_log ? 1U : 0U) + static_cast<std::size_t>(sketches) +
           (p.compiled.has_slots ? 1U : 0U);
}

} // namespace

/// Lists the entries with calls to be made: in the order of their addition or, if packed, by shard.
void script_batch::order_keys() {
    order_.clear();
    shard_sizes_.fill(0);
    for (std::uint32_t i = 0; i < entries_.size(); ++i)
        if (entries_[i].live != 0) {
            order_.push_back(i);
            ++shard_sizes_[is_packed() ? tags_.shard_of(entries_[i].group) : 0];
        }
    if (!is_packed())
        return;
    auto next = std::array<std::size_t, shard_count>{};
    std::exclusive_scan(shard_sizes_.begin(), shard_sizes_.end(), next.begin(), std::size_t{0});
    for (std::uint32_t i = 0; i < entries_.size(); ++i)
        if (entries_[i].live != 0)
            order_[next[tags_.shard_of(entries_[i].group)]++] = i;
}

/// Returns whether two consecutive calls on one key are identical.
bool script_batch::is_repeated(const script_call& a, const script_call& b) const noexcept {
    return a.request.verb == b.request.verb && a.request.cost == b.request.cost &&
           a.request.at_least == b.request.at_least && member_of(a) == member_of(b);
}

/// Appends the calls on one key, consecutive identical ones as one.
void script_batch::append_calls(std::string& out, const entry& of, contents& so_far) const {
    const auto key = static_cast<std::uint16_t>(so_far.keys);
    const auto next_live = [this](std::uint32_t i) {
        while (i != no_entry && calls_[i].withdrawn)
            i = calls_[i].next;
        return i;
    };
    for (auto i = next_live(of.first_call); i != no_entry;) {
        const auto& c = calls_[i];
        const auto& p = policy_of(c.entry);
        auto times = 1 + c.further;
        i = next_live(c.next);
        while (!p.filter && i != no_entry && is_repeated(c, calls_[i])) {
            times += 1 + calls_[i].further;
            i = next_live(calls_[i].next);
        }
        ++so_far.entries;
        const auto member = member_of(c);
        if (p.filter)
            append_block(out, key, c.request);
        else
            append_call(out, key, static_cast<std::uint16_t>(times), c.request);
        if (p.compiled.has_distinct || p.compiled.has_slots)
            detail::append_number(out, static_cast<std::uint16_t>(member.size()));
        out.append(member);
        if (has_ids_)
            out.append(id_of(c.entry).substr(record_name_bytes));
    }
}

/// Appends the calls grouped by key.
script_batch::contents script_batch::append_calls(std::string& out) const {
    auto all = contents{};
    auto once_each = true;
    const auto wide = std::ranges::any_of(entries_, [](const entry& e) { return e.times() > 255; });
    for (const auto i : order_) {
        const auto& e = entries_[i];
        if (plain_)
            append_times(out, static_cast<std::uint16_t>(e.times()), wide);
        else
            append_calls(out, e, all);
        ++all.keys;
        all.calls += e.live;
        once_each = once_each && e.times() == 1;
    }
    if (plain_) {
        all.entries = all.keys;
        if (once_each)
            out.clear();
    }
    return all;
}

/// Appends the keys of these entries with the name of a family inserted.
void script_batch::append_family(std::string& out, std::string_view family,
                                 std::span<const std::uint32_t> of) const {
    for (const auto i : of) {
        const auto& e = entries_[i];
        const auto name = key_bytes(e);
        resp::append_bulk_header(out, name.size() + family.size());
        out.append(name.substr(0, e.family_at)).append(family).append(name.substr(e.family_at));
        out.append("\r\n");
    }
}

/// Appends the keys by policy, then by family.
void script_batch::append_keys(std::string& out) const {
    if (order_.size() == entries_.size() && keys_of(*policy_) == 1 && !is_joint())
        return (void)out.append(keys_);
    const auto keys_of_policy = is_joint() ? 1 : order_.size();
    for (std::size_t first = 0; first < order_.size(); first += keys_of_policy) {
        const auto of = std::span{order_}.subspan(first, keys_of_policy);
        const auto& rules = policy_of(first).compiled;
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
}

/// Appends the bitmaps of each block, by generation.
void script_batch::append_bitmaps(std::string& out) const {
    for (const auto parity : {0U, 1U}) {
        const auto family = bitmap_family(*policy_->filter, parity);
        append_family(out, {family.data(), family.size()}, order_);
    }
}

/// Appends the records of all calls.
void script_batch::append_records(std::string& out) {
    for (const auto i : order_) {
        const auto& e = entries_[i];
        shard_name_.clear();
        if (is_packed())
            append_shard(shard_name_, prefix_, policy_->name, tags_.shard_of(e.group), tags_);
        else
            shard_name_.append(key_bytes(e).substr(0, e.family_at));
        shard_name_.append(record_family).append(id_of(i).substr(0, record_name_bytes));
        resp::append_bulk(out, shard_name_);
    }
}

/// Returns the number of shards that have keys to be sent.
std::size_t script_batch::shards() const noexcept {
    return static_cast<std::size_t>(
        std::ranges::count_if(shard_sizes_, [](std::size_t size) { return size != 0; }));
}

/// Appends the hashes of each shard that has keys to be sent.
void script_batch::append_shards(std::string& out) {
    for (std::size_t i = 0; i < shard_count; ++i)
        for (const auto* which : {"new", "old"})
            if (shard_sizes_[i] != 0) {
                shard_name_.clear();
                append_shard(shard_name_, prefix_, policy_->name, i, tags_);
                resp::append_bulk(out, shard_name_.append(which));
            }
}

/// Appends the number of keys of each shard, and their fields.
void script_batch::append_fields(std::string& out) {
    scratch_.clear();
    for (const auto size : shard_sizes_)
        if (size != 0)
            append_times(scratch_, size, true);
    resp::append_bulk(out, scratch_);
    for (const auto i : order_)
        resp::append_bulk(out, key_bytes(entries_[i]));
}

void script_batch::encode(std::string& out, std::string_view ttls, script_command how) {
    encoded = true;
    const auto& run = policy_->filter ? seen_script : check_script;
    scratch_.clear();
    if (!plain_)
        scratch_.reserve(members_.capacity() + ids_.capacity() + calls_.capacity() * call_bytes);
    order_keys();
    sent_ = append_calls(scratch_);
    form = how;
    if (form == script_command::eval)
        resp::append_command(out, {"SCRIPT", "LOAD", run.body});
    if (asking)
        resp::append_command(out, {"ASKING"});
    auto keys = is_packed() ? 2 * shards() : is_joint() ? 0 : keys_of(*policy_) * sent_.keys;
    auto policies = std::string{};
    for (const auto& p : joint_) {
        keys += keys_of(*p);
        policies += p->wire;
    }
    keys += has_ids_ ? sent_.keys : 0;
    const auto words = words_of(form, run);
    const auto fixed = words.script.empty() ? 7U : 8U;
    resp::append_array(out, keys + fixed + (is_joint() ? 1U : is_packed() ? 1U + sent_.keys : 0U));
    resp::append_bulk(out, words.command);
    if (!words.script.empty())
        resp::append_bulk(out, words.script);
    resp::append_bulk(out, detail::decimal{keys});
    is_packed() ? append_shards(out) : policy_->filter ? append_bitmaps(out) : append_keys(out);
    if (has_ids_)
        append_records(out);
    resp::append_bulk(out, is_joint() ? policies : policy_->wire);
    resp::append_bulk(out, detail::decimal{nonce_});
    if (clock_ == detail::store_clock)
        resp::append_bulk(out, "");
    else
        resp::append_bulk(out, detail::decimal{clock_});
    resp::append_bulk(out, ttls);
    resp::append_bulk(out, scratch_);
    if (is_joint()) {
        scratch_.clear();
        for (std::size_t i = 0; i < joint_.size(); ++i)
            scratch_.append("\1\0", 2); // each check has one key
        resp::append_bulk(out, scratch_);
    }
    if (is_packed())
        append_fields(out);
}

} // namespace colimit::redis
