// SPDX-License-Identifier: BSL-1.0
//
// How calls are added to a batch: its keys and their calls.

#include <core/bloom.hpp>
#include <core/verb_traits.hpp>
#include <hash/fnv1a.hpp>
#include <policy/request_digest.hpp>
#include <redis/script/script_batch.hpp>
#include <redis/script/wire.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace colimit::redis {
namespace {

/// The largest number of calls per batch, however many of them are on the same key: more would
/// block the server's other clients for milliseconds.
constexpr std::size_t calls_per_batch = 1024;

/// The largest number of calls for leases per key: the calls of an entry are counted in 16 bits.
constexpr std::uint32_t most_further_calls = 32'768;

/// The size of a small index of keys.
constexpr std::size_t least_index = 8;

/// If keys are longer, their memory grows as batches fill.
constexpr std::size_t usual_key_bytes = 128;

/// The largest size of the facts in a reply: half of what the decoder accepts in one string.
constexpr std::size_t most_fact_bytes = std::size_t{32} * 1024;

} // namespace

/// The largest position of a family in a key's name: after prefix, tag and policy.
static_assert(3 * limits::max_name_length < UINT16_MAX);

script_batch::script_batch(std::size_t most_keys, key_tags tags, bool is_lasting)
    : tags_(tags),
      index_(is_lasting ? std::bit_ceil(4 * std::max(most_keys, limits::max_checks)) : least_index),
      most_keys_(most_keys), least_room_(is_lasting ? most_keys : 1) {
    if (!is_lasting)
        return;
    // Reserves once, rather than growing whenever a batch is larger than before.
    names_.reserve(usual_key_bytes);
    prefix_.reserve(usual_key_bytes);
    shard_name_.reserve(usual_key_bytes);
    keys_.reserve(most_keys_ * usual_key_bytes);
    entries_.reserve(most_keys_);
    order_.reserve(most_keys_);
    calls_.reserve(std::max(most_keys_, calls_per_batch));
    scratch_.reserve(std::max<std::size_t>(2 * most_keys_, 512)); // counts of calls, or a key
}

void script_batch::start(const policy_pointer& policy, std::int64_t clock, std::uint64_t nonce,
                         std::size_t group, bool has_ids) {
    policy_ = policy;
    group_ = group;
    clock_ = clock;
    nonce_ = nonce;
    has_ids_ = has_ids;
    keys_.clear();
    members_.clear();
    ids_.clear();
    if (has_ids_)
        ids_.reserve(least_room_ * id_bytes);
    entries_.clear();
    calls_.clear();
    joint_.clear();
    most_calls_ = std::max(most_keys_, calls_per_batch);
    if (const auto facts = fact_bytes(policy->compiled); facts != 0)
        most_calls_ = std::min(most_calls_, most_fact_bytes / facts);
    if (policy->filter) // each id costs the server as much as a key of a policy
        most_calls_ = most_keys_;
    std::ranges::fill(index_, no_entry);
    live_ = 0;
    plain_ = true;
    encoded = false;
    in_second_form = was_repeated = asking = false;
    redirections = 0;
}

bool script_batch::is_for(const policy_pointer& policy, std::int64_t clock) const noexcept {
    const auto same = policy_ == policy || policy_->identity == policy->identity;
    return same && clock_ == clock && !encoded && !is_joint();
}

template<class IsRight>
std::size_t script_batch::slot_of(std::uint64_t hash, IsRight is_right) const noexcept {
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

bool script_batch::has(const policy_pointer& policy, std::int64_t clock, std::string_view key,
                       std::uint64_t hash) const noexcept {
    return is_for(policy, clock) && !has_ids_ &&
           index_[slot_of(hash, [&](const entry& e) {
               const auto name = key_bytes(e).substr(e.family_at);
               return policy->compiled.has_bare_keys ? name == key : is_field(name, key);
           })] != no_entry;
}

/// Replaces the index by one of another size, a power of two.
void script_batch::make_index(std::size_t size) {
    auto made = std::vector<std::uint32_t>(size, no_entry);
    for (std::uint32_t i = 0; i < entries_.size(); ++i) {
        auto slot = static_cast<std::size_t>(entries_[i].hash) & (size - 1);
        while (made[slot] != no_entry)
            slot = (slot + 1) & (size - 1);
        made[slot] = i;
    }
    index_ = std::move(made);
}

/// Makes room for a call and a key, so that adding them changes everything or nothing.
void script_batch::make_room(std::size_t member_bytes) {
    const auto grow = [](auto& of, std::size_t more, std::size_t least) {
        if (of.capacity() - of.size() < more)
            of.reserve(std::max({2 * of.capacity(), of.size() + more, least}));
    };
    grow(calls_, 1, 1);
    grow(entries_, 1, 1);
    order_.reserve(entries_.capacity());
    grow(members_, member_bytes, least_room_ * member_bytes);
    grow(ids_, has_ids_ ? id_bytes : 0, 0);
    if (2 * (entries_.size() + 1) > index_.size())
        make_index(2 * index_.size());
}

std::uint32_t script_batch::find_or_append(std::uint64_t hash, std::size_t group) {
    const auto is_right = [this](const entry& e) { return !has_ids_ && key_bytes(e) == scratch_; };
    const auto slot = slot_of(hash, is_right);
    if (index_[slot] != no_entry)
        return index_[slot];
    const auto before = keys_.size();
    try {
        resp::append_bulk(keys_, scratch_);
    } catch (...) {
        keys_.resize(before);
        throw;
    }
    entries_.push_back({.hash = hash,
                        .offset = static_cast<std::uint32_t>(keys_.size() - scratch_.size() - 2),
                        .size = static_cast<std::uint32_t>(scratch_.size()),
                        .family_at = static_cast<std::uint16_t>(family_at_),
                        .group = static_cast<std::uint16_t>(group)});
    return index_[slot] = static_cast<std::uint32_t>(entries_.size() - 1);
}

bool script_batch::has_bare_keys() const noexcept {
    return policy_->compiled.has_bare_keys ||
           std::ranges::any_of(joint_, [](const auto& p) { return p->compiled.has_bare_keys; });
}

/// Writes the name of a key, or its field in a shard, to scratch_.
void script_batch::make_key(std::string_view prefix, const detail::policy_data& p,
                            std::string_view key, std::size_t group) {
    scratch_.clear();
    if (p.compiled.has_bare_keys) {
        scratch_.append(key);
        family_at_ = 0;
        return;
    }
    if (p.compiled.packed) {
        if (entries_.empty())
            prefix_ = p.prefix(prefix);
        append_field(scratch_, key);
        family_at_ = 0;
        return;
    }
    if (entries_.empty() || is_joint())
        names_.start(p.prefix(prefix), p.name, tags_.text(0));
    family_at_ = names_.append(scratch_, key, tags_.text(group));
}

/// Writes the member that `distinct` rules count, or the id of a holder, to member_; empty if there
/// is none.
void script_batch::make_member(const detail::policy_data& p, const detail::call_request& request) {
    member_.clear();
    if (p.compiled.has_distinct)
        append_member(member_, request.member);
    else if (core::traits_of(request.verb).has_holder)
        member_.assign(request.member);
}

void script_batch::add(detail::operation& op, std::string_view prefix, std::string_view key,
                       std::uint64_t hash) {
    BOOST_ASSERT(!encoded);
    auto block = std::string{};
    if (policy_->filter) {
        // An id belongs to the key of its block, whose name is the block's number.
        const auto& filter = *policy_->filter;
        member_.clear();
        if (op.request.verb == detail::verb::inspect) { // its key is a block
            append_sample(member_, filter);
        } else {
            const auto mark = core::bits_of(filter, key);
            append_mark(member_, filter, mark);
            block = std::to_string(mark.block);
            key = block;
        }
        hash = hash::fnv1a_64(key);
    } else {
        make_member(*policy_, op.request);
    }
    const auto group = group_of_tag(tags_, *policy_, tags_.of(key, hash));
    if (has_ids_)
        make_id(key, op.request);
    make_key(prefix, *policy_, key, group);
    hold(op, insert_call(op.request, hash, group, member_, op.lease.further_calls));
}

void script_batch::add(detail::operation& op, std::string_view prefix, std::string_view key) {
    add(op, prefix, key, hash::fnv1a_64(key));
}

/// Writes the end of the name of a call's record to id_, and the digests that it has.
void script_batch::make_id(std::string_view key, const detail::call_request& request) {
    const auto name = detail::hex_of(detail::record_digest(key, request.id));
    const auto digests = detail::digests_of(*policy_, request);
    static_assert(name.size() == record_name_bytes && sizeof digests == id_bytes - name.size());
    std::ranges::copy(name, id_.begin());
    std::memcpy(id_.data() + name.size(), &digests, sizeof digests);
}

/// Appends a call for the key whose name is in scratch_, and returns its index.
std::uint32_t script_batch::insert_call(const detail::call_request& request, std::uint64_t hash,
                                        std::size_t group, std::string_view member,
                                        std::uint32_t further) {
    make_room(member.size());
    const auto entry = find_or_append(hash, group);
    const auto made = static_cast<std::uint32_t>(calls_.size());
    further = std::min(further, most_further_calls - entries_[entry].further);
    calls_.push_back({.op = nullptr,
                      .request = request,
                      .member_offset = static_cast<std::uint32_t>(members_.size()),
                      .member_size = static_cast<std::uint32_t>(member.size()),
                      .entry = entry,
                      .next = no_entry,
                      .further = further});
    members_.append(member);
    ids_.append(id_.data(), has_ids_ ? id_.size() : 0);
    auto& e = entries_[entry];
    (e.first_call == no_entry ? e.first_call : calls_[e.last_call].next) = made;
    e.last_call = made;
    ++e.live;
    e.further += further;
    plain_ = plain_ && !has_ids_ && request.verb == detail::verb::allow && request.cost == 1 &&
             request.at_least == 1 && !policy_->filter && !policy_->compiled.has_distinct;
    return made;
}

/// Moves a call from another batch, with the name of its key and its member.
void script_batch::adopt(script_batch& from, script_call& c) {
    auto& e = from.entries_[c.entry];
    if (entries_.empty()) {
        prefix_ = from.prefix_;
        names_ = from.names_;
    }
    scratch_.assign(from.key_bytes(e));
    family_at_ = e.family_at;
    if (has_ids_)
        std::ranges::copy(from.id_of(c.entry), id_.begin());
    const auto made = insert_call(c.request, e.hash, e.group, from.member_of(c), c.further);
    from.withdraw(c);
    --from.live_;
    hold(*std::exchange(c.op, nullptr), made);
}

/// Takes a call out that is not to be sent.
void script_batch::withdraw(script_call& c) noexcept {
    auto& e = entries_[c.entry];
    c.withdrawn = true;
    --e.live;
    e.further -= c.further;
}

std::size_t script_batch::group_of(const key_tags& tags, const detail::policy_data& p,
                                   std::string_view key, detail::verb v) {
    if (p.filter && v != detail::verb::inspect)
        return tags.of(std::to_string(core::bits_of(*p.filter, key).block));
    return group_of_tag(tags, p, tags.of(key));
}

std::optional<std::size_t> script_batch::common_group() const noexcept {
    auto found = any_group;
    for (const auto& e : entries_) {
        if (e.live != 0 && found != any_group && e.group != found)
            return std::nullopt;
        found = e.live != 0 ? e.group : found;
    }
    return found;
}

bool script_batch::add_checks(detail::operation& op, std::string_view prefix) {
    BOOST_ASSERT(calls_.empty());
    plain_ = false;
    for (const auto& c : op.checks)
        joint_.push_back(detail::access::data(c.policy));
    check_answers_.assign(op.checks.size(), {});
    check_states_.resize(op.checks.size());
    for (const auto& c : op.checks) {
        const auto hash = hash::fnv1a_64(c.key);
        const auto request = detail::make_request(detail::verb::allow, c.options);
        const auto tag = tags_.of(c.key, hash);
        make_key(prefix, *detail::access::data(c.policy), c.key, tag);
        make_member(*detail::access::data(c.policy), request);
        (void)insert_call(request, hash, tag, member_);
        if (entries_.size() != calls_.size())
            return false;
    }
    hold(op, 0);
    return true;
}

void script_batch::drop(std::uint32_t index) noexcept {
    auto& c = calls_[index];
    c.op = nullptr;
    --live_;
    if (!encoded && !is_joint())
        withdraw(c);
}

void script_batch::take_back() noexcept {
    encoded = false;
    for (auto& c : calls_)
        if (c.op != nullptr) { // a reply may have been discarded
            c.op->ec = {};
            c.op->result = {};
            c.op->lease.granted = 0;
            c.op->fencing_token = 0;
        }
    if (is_joint())
        return;
    for (auto& c : calls_)
        if (c.op == nullptr && !c.withdrawn)
            withdraw(c);
}

} // namespace colimit::redis
