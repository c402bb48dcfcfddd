// SPDX-License-Identifier: BSL-1.0
//
// Keys, found by an index of their hashes, and lists of their calls.

#include <base/bytes.hpp>
#include <core/verb_traits.hpp>
#include <policy/request_digest.hpp>
#include <redis/protocol/resp.hpp>
#include <redis/script/keyed_calls.hpp>
#include <redis/script/wire.hpp>

#include <algorithm>
#include <bit>
#include <utility>

namespace colimit::redis {
namespace {

/// The largest number of calls for leases per key: the calls of an entry are counted in 16 bits.
constexpr std::uint32_t most_lease_calls = 32'768;

/// The size of a small index of keys.
constexpr std::size_t least_index = 8;

} // namespace

/// The largest position of a family in a key's name: after prefix, tag and policy.
static_assert(3 * limits::max_name_length < UINT16_MAX);

keyed_calls::keyed_calls(std::size_t most_keys, key_tags tags, bool is_lasting)
    : tags_(tags),
      index_(is_lasting ? std::bit_ceil(4 * std::max(most_keys, limits::max_checks)) : least_index),
      least_room_(is_lasting ? most_keys : 1) {
    if (!is_lasting)
        return;
    // Reserves once, rather than growing whenever a batch is larger than before.
    naming_.reserve(usual_key_bytes);
    names_.reserve(most_keys * usual_key_bytes);
    entries_.reserve(most_keys);
    order_.reserve(most_keys);
    scratch_.reserve(std::max<std::size_t>(2 * most_keys, 512)); // counts of calls, or a key
}

void keyed_calls::start(const policy_pointer& policy, bool has_ids) {
    policy_ = policy;
    has_ids_ = has_ids;
    names_.clear();
    members_.clear();
    ids_.clear();
    if (has_ids_)
        ids_.reserve(least_room_ * id_bytes);
    entries_.clear();
    calls_.clear();
    std::ranges::fill(index_, none);
    live_ = 0;
}

template<class IsRight>
std::size_t keyed_calls::position_of(std::uint64_t hash, IsRight is_right) const noexcept {
    const auto mask = index_.size() - 1;
    auto position = static_cast<std::size_t>(hash) & mask;
    while (index_[position] != none) {
        const auto& e = entries_[index_[position]];
        if (e.hash == hash && is_right(e))
            break;
        position = (position + 1) & mask;
    }
    return position;
}

bool keyed_calls::has(std::string_view key, std::uint64_t hash) const noexcept {
    return !has_ids_ && index_[position_of(hash, [&](const entry& e) {
                            const auto name = key_bytes(e).substr(e.family_at);
                            return policy_->compiled.has_bare_keys ? name == key
                                                                   : is_field(name, key);
                        })] != none;
}

/// Replaces the index by one of another size, a power of two.
void keyed_calls::make_index(std::size_t size) {
    auto made = std::vector<std::uint32_t>(size, none);
    for (std::uint32_t i = 0; i < entries_.size(); ++i) {
        auto position = static_cast<std::size_t>(entries_[i].hash) & (size - 1);
        while (made[position] != none)
            position = (position + 1) & (size - 1);
        made[position] = i;
    }
    index_ = std::move(made);
}

/// Makes room for a call and a key, so that adding them changes everything or nothing.
void keyed_calls::make_room(std::size_t member_bytes) {
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

/// Writes the name of a key, or its field in a shard, to scratch_. Returns the position in it at
/// which a family is inserted.
std::size_t keyed_calls::make_name(std::string_view prefix, const detail::policy_data& p,
                                   std::string_view key, std::size_t group) {
    scratch_.clear();
    if (p.compiled.has_bare_keys) {
        scratch_.append(key);
        return 0;
    }
    if (entries_.empty())
        begin_names(prefix, p);
    if (!p.compiled.packed)
        return naming_.append(scratch_, key, tags_.text(group));
    append_field(scratch_, key);
    return 0;
}

std::string_view keyed_calls::make_member(const detail::policy_data& p,
                                          const detail::call_request& request) {
    member_.clear();
    if (p.compiled.has_distinct)
        append_member(member_, request.member);
    else if (core::traits_of(request.verb).has_holder)
        member_.assign(request.member);
    return member_;
}

std::uint32_t keyed_calls::add(const detail::call_request& request, const detail::policy_data& p,
                               std::string_view prefix, std::string_view key, std::uint64_t hash,
                               std::string_view member, std::uint32_t lease_calls) {
    const auto group = group_of_tag(tags_, p, tags_.of(key, hash));
    const auto family_at = make_name(prefix, p, key, group);
    const auto made = insert(request,
                             {.hash = hash,
                              .group = static_cast<std::uint16_t>(group),
                              .family_at = static_cast<std::uint16_t>(family_at)},
                             member, lease_calls);
    if (has_ids_) { // the end of the name of its record, and the digests that this has
        const auto name = detail::hex_of(detail::record_digest(key, request.id));
        const auto digests = detail::digests_of(*policy_, request);
        static_assert(name.size() == record_name_bytes && sizeof digests == id_bytes - name.size());
        ids_.append(name.data(), name.size());
        ids_.append(reinterpret_cast<const char*>(&digests), sizeof digests);
    }
    return made;
}

/// Appends a call for the key whose name is in scratch_.
/// @param key has its hash, its group and the position of its families
std::uint32_t keyed_calls::insert(const detail::call_request& request, const entry& key,
                                  std::string_view member, std::uint32_t lease_calls) {
    make_room(member.size());
    auto& at = index_[position_of(
        key.hash, [this](const entry& e) { return !has_ids_ && key_bytes(e) == scratch_; })];
    if (at == none) {
        const auto before = names_.size();
        try {
            resp::append_bulk(names_, scratch_);
        } catch (...) {
            names_.resize(before);
            throw;
        }
        at = static_cast<std::uint32_t>(entries_.size());
        entries_.push_back({key.hash, key.group, key.family_at,
                            static_cast<std::uint32_t>(names_.size() - scratch_.size() - 2),
                            static_cast<std::uint32_t>(scratch_.size())});
    }
    auto& e = entries_[at];
    const auto made = static_cast<std::uint32_t>(calls_.size());
    lease_calls = std::min(lease_calls, most_lease_calls - e.lease_calls);
    calls_.push_back({.op = nullptr,
                      .cost = request.cost,
                      .at_least = request.at_least,
                      .member_offset = static_cast<std::uint32_t>(members_.size()),
                      .member_size = static_cast<std::uint32_t>(member.size()),
                      .entry = at,
                      .next = none,
                      .lease_calls = lease_calls,
                      .verb = request.verb});
    members_.append(member);
    (e.first_call == none ? e.first_call : calls_[e.last_call].next) = made;
    e.last_call = made;
    ++e.live;
    e.lease_calls += lease_calls;
    return made;
}

/// Moves a call from another batch, with the name of its key, its member and its id.
void keyed_calls::adopt(keyed_calls& from, script_call& c) {
    const auto& e = from.entries_[c.entry];
    if (entries_.empty())
        naming_ = from.naming_;
    scratch_.assign(from.key_bytes(e));
    const auto made = insert(c.at(detail::store_clock), e, from.member_of(c), c.lease_calls);
    if (has_ids_)
        ids_.append(from.id_of(c.entry));
    from.withdraw(c);
    --from.live_;
    hold(*std::exchange(c.op, nullptr), made);
}

/// Takes a call out that is not to be sent.
void keyed_calls::withdraw(script_call& c) noexcept {
    auto& e = entries_[c.entry];
    c.withdrawn = true;
    --e.live;
    e.lease_calls -= c.lease_calls;
}

void keyed_calls::drop(std::uint32_t index) noexcept {
    auto& c = calls_[index];
    c.op = nullptr;
    --live_;
    if (!encoded)
        withdraw(c);
}

bool keyed_calls::has_bare_keys() const noexcept {
    return !policy_->compiled.packed &&
           std::ranges::any_of(entries_, [](const entry& e) { return e.family_at == 0; });
}

std::optional<std::size_t> keyed_calls::common_group() const noexcept {
    auto found = any_group;
    for (const auto& e : entries_) {
        if (e.live != 0 && found != any_group && e.group != found)
            return std::nullopt;
        found = e.live != 0 ? e.group : found;
    }
    return found;
}

std::vector<std::uint32_t>& keyed_calls::list_entries() noexcept {
    order_.clear();
    for (std::uint32_t i = 0; i < entries_.size(); ++i)
        if (entries_[i].live != 0)
            order_.push_back(i);
    return order_;
}

std::string& keyed_calls::reserve_calls(std::string& out) const {
    out.reserve(members_.capacity() + ids_.capacity() + calls_.capacity() * call_bytes);
    return out;
}

void keyed_calls::fail(const entry& e, errc code) noexcept {
    for (auto* c = first(e); c != nullptr; c = after(*c))
        if (c->op != nullptr)
            c->op->ec = code;
}

void keyed_calls::fail_all(errc code) noexcept {
    for (auto& c : calls_)
        if (c.op != nullptr)
            c.op->ec = code;
}

} // namespace colimit::redis
