// SPDX-License-Identifier: BSL-1.0
//
// How calls are added to a batch: its keys and their calls.

#include <core/bloom.hpp>
#include <hash/fnv1a.hpp>
#include <redis/script/batch.hpp>
#include <redis/script/seen.hpp>
#include <redis/script/wire.hpp>

#include <algorithm>
#include <bit>

namespace colimit::redis {
namespace {

/// The largest number of calls per batch, however many of them are on the same key: more would
/// block the server's other clients for milliseconds.
constexpr std::size_t calls_per_batch = 1024;

/// If keys are longer, their memory grows as batches fill.
constexpr std::size_t usual_key_bytes = 128;

/// The largest size of the facts in a reply: half of what the decoder accepts in one string.
constexpr std::size_t most_fact_bytes = std::size_t{32} * 1024;

/// Returns whether calls under the policy have members.
[[nodiscard]] bool has_members(const detail::policy_data& p) noexcept {
    return p.filter || p.compiled.has_distinct;
}

[[nodiscard]] bool is_plain(const detail::call_request& request) noexcept {
    return request.verb == detail::verb::allow && request.cost == 1 && request.at_least == 1;
}

} // namespace

std::size_t batch::fact_bytes(const detail::policy_data& p) noexcept {
    return p.filter ? 1 : redis::fact_bytes(p.compiled);
}

batch::batch(std::size_t most_keys)
    : index_(std::bit_ceil(4 * std::max(most_keys, limits::max_checks))), most_keys_(most_keys),
      most_calls_(std::max(most_keys, calls_per_batch)) {
    // Reserves once, rather than growing whenever a batch is larger than before.
    names_.reserve(usual_key_bytes);
    prefix_.reserve(usual_key_bytes);
    row_name_.reserve(usual_key_bytes);
    keys_.reserve(most_keys_ * usual_key_bytes);
    entries_.reserve(most_keys_);
    calls_.reserve(most_calls_);
    scratch_.reserve(std::max<std::size_t>(2 * most_keys_, 512)); // counts of calls, or a key
}

void batch::start(const policy_pointer& policy, std::int64_t clock, std::uint64_t nonce,
                  std::size_t group) {
    policy_ = policy;
    group_ = group;
    clock_ = clock;
    nonce_ = nonce;
    keys_.clear();
    members_.clear();
    entries_.clear();
    calls_.clear();
    joint_.clear();
    rows_.fill({});
    first_entry_ = no_entry;
    const auto facts = fact_bytes(*policy);
    most_calls_now_ = facts == 0 ? most_calls_ : std::min(most_calls_, most_fact_bytes / facts);
    if (policy->filter) // each id costs the server as much as a key of a policy
        most_calls_now_ = most_keys_;
    std::ranges::fill(index_, no_entry);
    live_ = 0;
    sent_ = {};
    plain_ = true;
    encoded = false;
    with_script = false;
}

bool batch::is_for(const policy_pointer& policy, std::int64_t clock) const noexcept {
    const auto same = policy_ == policy || policy_->identity == policy->identity;
    return same && clock_ == clock && !encoded && !is_joint();
}

bool batch::is_full() const noexcept {
    return entries_.size() == most_keys_ || !takes_calls();
}

template<class IsRight>
std::size_t batch::slot_of(std::uint64_t hash, IsRight is_right) const noexcept {
    const auto mask = index_.size() - 1;
    auto slot = static_cast<std::size_t>(hash) & mask;
    while (index_[slot] != no_entry) {
        const auto& e = entries_[index_[slot]];
        if (e.hash == hash && is_right(e))
            break;
        slot = (slot + 1) & mask;
    }
    return slot;
}

bool batch::has(const policy_pointer& policy, std::int64_t clock, std::string_view key,
                std::uint64_t hash) const noexcept {
    return is_for(policy, clock) && index_[slot_of(hash, [&](const entry& e) {
                                        return is_field(key_bytes(e).substr(e.family_at), key);
                                    })] != no_entry;
}

std::uint32_t batch::find_or_append(std::uint64_t hash) {
    const auto slot = slot_of(hash, [this](const entry& e) { return key_bytes(e) == scratch_; });
    if (index_[slot] != no_entry)
        return index_[slot];
    const auto before = keys_.size();
    try {
        resp::append_bulk(keys_, scratch_);
    } catch (...) {
        keys_.resize(before);
        throw;
    }
    const auto made = static_cast<std::uint32_t>(entries_.size());
    entries_.push_back({.hash = hash,
                        .offset = static_cast<std::uint32_t>(keys_.size() - scratch_.size() - 2),
                        .size = static_cast<std::uint32_t>(scratch_.size()),
                        .bulk_offset = static_cast<std::uint32_t>(before),
                        .family_at = static_cast<std::uint32_t>(family_at_),
                        .first_call = no_entry,
                        .last_call = no_entry,
                        .live = 0,
                        .next = no_entry});
    index_[slot] = made;
    append_to_row(made);
    return made;
}

void batch::append_to_row(std::uint32_t entry) noexcept {
    auto& r = rows_[policy_->compiled.packed ? row_of(entries_[entry].hash) : 0];
    (r.first == no_entry ? r.first : entries_[r.last].next) = entry;
    r.last = entry;
}

void batch::make_key(std::string_view prefix, const detail::policy_data& p, std::string_view key,
                     std::uint64_t hash) {
    scratch_.clear();
    if (p.compiled.packed) {
        if (entries_.empty())
            prefix_ = p.prefix(prefix);
        append_field(scratch_, key);
        family_at_ = 0;
        return;
    }
    if (entries_.empty() || is_joint())
        names_.start(p.prefix(prefix), p.name);
    family_at_ = names_.append(scratch_, key, hash);
}

/// Copies the member, which is valid only as long as its caller's argument.
void batch::keep_member(one_call& c) {
    c.member_offset = static_cast<std::uint32_t>(members_.size());
    const auto& p = policy_of(calls_.size() - 1);
    // Reserves once, for as many as there are keys, rather than growing whenever a batch is larger
    // than before.
    const auto size = p.filter                  ? mark_.size()
                      : p.compiled.has_distinct ? c.request.member.size() + 2
                                                : 0;
    if (members_.capacity() - members_.size() < size)
        members_.reserve(std::max(2 * members_.capacity(), most_keys_ * size));
    if (p.filter)
        members_.append(mark_);
    else if (p.compiled.has_distinct)
        append_member(members_, c.request.member);
    c.member_size = static_cast<std::uint32_t>(members_.size()) - c.member_offset;
}

void batch::add(detail::operation& op, std::string_view prefix, std::string_view key) {
    if (!policy_->filter)
        return add_call(op, prefix, key);
    // An id belongs to the key of its block, whose name is the number of the block.
    const auto& filter = *policy_->filter;
    const auto mark = core::bits_of(filter, key);
    mark_.clear();
    append_mark(mark_, filter, mark);
    add_call(op, prefix, std::to_string(mark.block));
}

void batch::add_call(detail::operation& op, std::string_view prefix, std::string_view key) {
    const auto hash = hash::fnv1a_64(key);
    make_key(prefix, *policy_, key, hash);
    insert_call(op, op.request, hash, [this](one_call& c) { keep_member(c); });
}

/// Inserts a call for the key whose name is in scratch_.
template<class KeepMember>
void batch::insert_call(detail::operation& op, const detail::call_request& request,
                        std::uint64_t hash, KeepMember keep) {
    const auto made = static_cast<std::uint32_t>(calls_.size());
    calls_.push_back({.op = nullptr, .request = request, .entry = no_entry, .next = no_entry});
    auto index = no_entry;
    try {
        keep(calls_.back());
        index = find_or_append(hash);
    } catch (...) {
        calls_.pop_back();
        throw;
    }
    auto& e = entries_[index];
    (e.first_call == no_entry ? e.first_call : calls_[e.last_call].next) = made;
    plain_ = plain_ && is_plain(request) && !has_members(*policy_);
    e.last_call = made;
    ++e.live;
    ++live_;
    calls_[made].entry = index;
    calls_[made].op = &op;
    hold(op, made);
}

/// Moves a call from another batch, with the name of its key and its member.
void batch::adopt(batch& from, std::uint32_t index) {
    auto& c = from.calls_[index];
    auto& e = from.entries_[c.entry];
    if (entries_.empty()) {
        prefix_ = from.prefix_;
        names_ = from.names_;
    }
    scratch_.assign(from.key_bytes(e));
    family_at_ = e.family_at;
    insert_call(*c.op, c.request, e.hash, [&](one_call& made) {
        made.member_offset = static_cast<std::uint32_t>(members_.size());
        members_.append(from.member_of(c));
        made.member_size = static_cast<std::uint32_t>(members_.size()) - made.member_offset;
    });
    c.op = nullptr;
    c.withdrawn = true;
    --e.live;
    --from.live_;
}

std::size_t batch::group_of(const detail::policy_data& p, std::string_view key) {
    if (p.filter)
        return tag_of(hash::fnv1a_64(std::to_string(core::bits_of(*p.filter, key).block)));
    const auto hash = hash::fnv1a_64(key);
    return p.compiled.packed ? row_of(hash) * (tag_count / row_count) : tag_of(hash);
}

std::size_t batch::group_of(const entry& e) const noexcept {
    return policy_->compiled.packed ? row_of(e.hash) * (tag_count / row_count) : tag_of(e.hash);
}

std::optional<std::size_t> batch::common_group() const noexcept {
    auto found = any_group;
    for (const auto& e : entries_) {
        const auto its = group_of(e);
        if (e.live != 0 && found != any_group && its != found)
            return std::nullopt;
        found = e.live != 0 ? its : found;
    }
    return found;
}

bool batch::add_checks(detail::operation& op, std::string_view prefix) {
    plain_ = false;
    for (const auto& c : op.checks)
        joint_.push_back(c.policy.data());
    check_answers_.assign(op.checks.size(), {});
    check_states_.resize(op.checks.size());
    for (const auto& c : op.checks) {
        const auto made = static_cast<std::uint32_t>(calls_.size());
        const auto hash = hash::fnv1a_64(c.key);
        make_key(prefix, *c.policy.data(), c.key, hash);
        if (find_or_append(hash) != made)
            return false;
        calls_.push_back({.op = nullptr,
                          .request = detail::make_request(detail::verb::allow, c.options),
                          .entry = made,
                          .next = no_entry});
        keep_member(calls_.back());
        entries_[made].first_call = entries_[made].last_call = made;
        entries_[made].live = 1;
    }
    calls_.front().op = &op;
    live_ = 1;
    hold(op, 0);
    return true;
}

void batch::drop(std::uint32_t index) noexcept {
    auto& c = calls_[index];
    c.op = nullptr;
    --live_;
    if (!encoded && !is_joint()) {
        c.withdrawn = true;
        --entries_[c.entry].live;
    }
}

void batch::take_back() noexcept {
    encoded = false;
    if (is_joint())
        return;
    for (auto& c : calls_)
        if (c.op == nullptr && !c.withdrawn) {
            c.withdrawn = true;
            --entries_[c.entry].live;
        }
}

} // namespace colimit::redis
