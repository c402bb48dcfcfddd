// SPDX-License-Identifier: BSL-1.0
//
// Encodes a batch: the keys, or the shards that have their states, then the policy, the clock and
// the calls.

#include <base/bytes.hpp>
#include <core/rule_kind.hpp>
#include <redis/protocol/script.hpp>
#include <redis/script/batch.hpp>
#include <redis/script/seen.hpp>
#include <redis/script/wire.hpp>

#include <algorithm>

namespace colimit::redis {
namespace {

[[nodiscard]] const script& script_of(const detail::policy_data& p) noexcept {
    return p.filter ? seen_script : check_script;
}

} // namespace

/// Links the entries of all shards in the order of the reply.
void batch::join_rows() noexcept {
    auto* link = &first_entry_;
    for (const auto& r : rows_) {
        if (r.first == no_entry)
            continue;
        *link = r.first;
        link = &entries_[r.last].next;
    }
    *link = no_entry;
}

std::size_t batch::live_in(const row& r) const noexcept {
    auto live = std::size_t{0};
    for (auto i = r.first; i != no_entry; i = i == r.last ? no_entry : entries_[i].next)
        live += entries_[i].live == 0 ? 0U : 1U;
    return live;
}

std::size_t batch::live_rows() const noexcept {
    return static_cast<std::size_t>(
        std::ranges::count_if(rows_, [this](const row& r) { return live_in(r) != 0; }));
}

/// Returns whether two consecutive calls on one key are identical.
bool batch::is_repeated(const one_call& a, const one_call& b) const noexcept {
    return a.request.verb == b.request.verb && a.request.cost == b.request.cost &&
           a.request.at_least == b.request.at_least && member_of(a) == member_of(b);
}

/// Appends the calls on one key, consecutive identical ones as one.
void batch::append_calls(std::string& out, const entry& of, contents& so_far) const {
    const auto key = static_cast<std::uint16_t>(so_far.keys);
    const auto next_live = [this](std::uint32_t i) {
        while (i != no_entry && calls_[i].withdrawn)
            i = calls_[i].next;
        return i;
    };
    for (auto i = next_live(of.first_call); i != no_entry;) {
        const auto& c = calls_[i];
        const auto& p = policy_of(c.entry);
        auto times = std::uint16_t{1};
        i = next_live(c.next);
        while (!p.filter && i != no_entry && is_repeated(c, calls_[i])) {
            ++times;
            i = next_live(calls_[i].next);
        }
        ++so_far.entries;
        if (p.filter) {
            append_id(out, key, member_of(c));
            continue;
        }
        append_call(out, key, times, c.request);
        if (p.compiled.has_distinct)
            append_call_member(out, member_of(c));
    }
}

/// Appends the calls grouped by key.
batch::contents batch::append_calls(std::string& out) const {
    auto all = contents{};
    auto once_each = true;
    const auto wide = std::ranges::any_of(entries_, [](const entry& e) { return e.live > 255; });
    for (auto i = first_entry_; i != no_entry; i = entries_[i].next) {
        const auto& e = entries_[i];
        if (e.live == 0)
            continue;
        if (plain_)
            append_times(out, static_cast<std::uint16_t>(e.live), wide);
        else
            append_calls(out, e, all);
        ++all.keys;
        all.calls += e.live;
        once_each = once_each && e.live == 1;
    }
    if (plain_) {
        all.entries = all.keys;
        if (once_each)
            out.clear();
    }
    return all;
}

/// Returns the number of keys of one entry, including its log and sketches.
std::size_t batch::keys_of(std::size_t entry) const noexcept {
    if (policy_of(entry).filter)
        return 2; // generations
    const auto& rules = policy_of(entry).compiled;
    const auto sketches = std::ranges::count_if(rules.rules(), core::has_sketch);
    return 1 + (rules.has_log ? 1U : 0U) + static_cast<std::size_t>(sketches);
}

/// Appends the keys of entries `first` to `last` with the name of a family inserted.
void batch::append_family(std::string& out, std::string_view family, std::size_t first,
                          std::size_t last) const {
    for (auto i = first; i < last; ++i) {
        const auto& e = entries_[i];
        if (e.live == 0)
            continue;
        const auto name = key_bytes(e);
        resp::append_bulk_header(out, name.size() + family.size());
        out.append(name.substr(0, e.family_at)).append(family).append(name.substr(e.family_at));
        out.append("\r\n");
    }
}

void batch::append_keys(std::string& out) const {
    if (sent_.keys == entries_.size() && keys_of(0) == 1 && !is_joint()) {
        out.append(keys_);
        return;
    }
    if (const auto& filter = policy_of(0).filter; filter) {
        for (const auto parity : {0U, 1U}) {
            const auto family = bitmap_family(*filter, parity);
            append_family(out, {family.data(), family.size()}, 0, entries_.size());
        }
        return;
    }
    const auto together = is_joint() ? 1 : entries_.size();
    for (std::size_t first = 0; first < entries_.size(); first += together) {
        const auto last = first + together;
        const auto& rules = policy_of(first).compiled;
        append_family(out, "", first, last);
        if (rules.has_log)
            append_family(out, log_family, first, last);
        for (const auto& l : rules.rules()) {
            const auto family = sketch_family(l.tag);
            if (core::has_sketch(l))
                append_family(out, {family.data(), family.size()}, first, last);
        }
    }
}

/// Appends the hashes of each shard that has keys to be sent.
void batch::append_rows(std::string& out) {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        if (live_in(rows_[i]) == 0)
            continue;
        for (const auto* which : {"new", "old"}) {
            row_name_.clear();
            append_row(row_name_, prefix_, policy_->name, i);
            resp::append_bulk(out, row_name_.append(which));
        }
    }
}

/// Appends the number of keys of each shard, and their fields.
void batch::append_fields(std::string& out) {
    scratch_.clear();
    for (const auto& r : rows_)
        if (const auto live = live_in(r); live != 0)
            append_times(scratch_, static_cast<std::uint16_t>(live), true);
    resp::append_bulk(out, scratch_);
    for (auto i = first_entry_; i != no_entry; i = entries_[i].next)
        if (entries_[i].live != 0)
            resp::append_bulk(out, key_bytes(entries_[i]));
}

void batch::append_plans(std::string& out) const {
    if (!is_joint()) {
        resp::append_bulk(out, policy_->wire);
        return;
    }
    auto plans = std::string{};
    for (const auto& p : joint_)
        plans += p->wire;
    resp::append_bulk(out, plans);
}

void batch::encode(std::string& out, std::string_view min_key_ttl) {
    encoded = true;
    const auto& run = script_of(policy_of(0));
    scratch_.clear();
    if (!plain_)
        scratch_.reserve(members_.capacity() + calls_.capacity() * call_bytes);
    join_rows();
    sent_ = append_calls(scratch_);
    if (with_script)
        resp::append_command(out, {"SCRIPT", "LOAD", run.body});
    auto keys = keys_of(0) * sent_.keys;
    for (std::size_t i = 0; i < joint_.size(); ++i)
        keys = (i == 0 ? 0 : keys) + keys_of(i);
    const auto packed = policy_->compiled.packed;
    if (packed)
        keys = 2 * live_rows();
    resp::append_array(out, keys + 8U + (is_joint() ? 1U : packed ? 1U + sent_.keys : 0U));
    if (with_script) {
        resp::append_bulk(out, "EVAL");
        resp::append_bulk(out, run.body);
    } else {
        resp::append_bulk(out, "EVALSHA");
        resp::append_bulk(out, run.sha1);
    }
    resp::append_bulk(out, detail::decimal{keys});
    packed ? append_rows(out) : append_keys(out);
    append_plans(out);
    resp::append_bulk(out, detail::decimal{nonce_});
    if (clock_ == detail::store_clock)
        resp::append_bulk(out, "");
    else
        resp::append_bulk(out, detail::decimal{clock_});
    resp::append_bulk(out, min_key_ttl);
    resp::append_bulk(out, scratch_);
    if (is_joint()) {
        scratch_.clear();
        for (std::size_t i = 0; i < joint_.size(); ++i)
            scratch_.append("\1\0", 2); // each check has one key
        resp::append_bulk(out, scratch_);
    }
    if (packed)
        append_fields(out);
}

} // namespace colimit::redis
