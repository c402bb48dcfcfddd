// SPDX-License-Identifier: BSL-1.0
//
// The calls of a batch, by key. Keys are stored as the bytes to be sent, so that sending is one
// copy; equal keys are merged, and their calls are decided in sequence, in the order in which they
// were made. If calls have ids, each has an entry of its own.

#pragma once

#include <colimit/detail/operation.hpp>
#include <policy/policy_data.hpp>
#include <redis/protocol/key.hpp>
#include <redis/queue/call_batch.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::redis {

/// Has the numbers of its request, as it is decided also if its caller withdraws it after it was
/// sent: calls after it depend on that.
struct script_call {
    detail::operation* op; ///< null: withdrawn by its caller
    std::int64_t cost;
    std::int64_t at_least;
    std::uint32_t member_offset;
    std::uint32_t member_size;
    std::uint32_t entry;
    std::uint32_t next;        ///< on the same key
    std::uint32_t lease_calls; ///< additional identical calls, taken as a lease
    detail::verb verb;
    bool withdrawn = false; ///< before it was encoded, so it is not sent

    /// Returns the request, without its member and its id.
    [[nodiscard]] detail::call_request at(std::int64_t now) const noexcept {
        return {.verb = verb, .cost = cost, .at_least = at_least, .now = now};
    }
};

class keyed_calls : public batch_of<script_call> {
  public:
    /// The value for a batch whose keys may be in any hash slot.
    static constexpr std::size_t any_group = hash_slot_count;
    /// The bytes that a batch keeps of a call's id: the end of its record's name, and its digests.
    static constexpr std::size_t record_name_bytes = 32;
    static constexpr std::size_t id_bytes = record_name_bytes + 16;
    /// If keys are longer, their memory grows as batches fill.
    static constexpr std::size_t usual_key_bytes = 128;
    /// The value for no entry, and for no next call.
    static constexpr std::uint32_t none = UINT32_MAX;

    struct entry { // one key; if the calls have ids, one call
        std::uint64_t hash;
        std::uint16_t group;
        std::uint16_t family_at;  ///< the position of families in its bytes
        std::uint32_t offset = 0; ///< of its bytes in names_
        std::uint32_t size = 0;
        std::uint32_t first_call = none;
        std::uint32_t last_call = none;
        std::uint32_t live = 0; ///< number of calls to be made
        std::uint32_t lease_calls = 0;

        [[nodiscard]] std::uint32_t times() const noexcept { return live + lease_calls; }
    };

    /// Returns the number of different keys, with those of withdrawn calls.
    [[nodiscard]] std::size_t keys() const noexcept { return entries_.size(); }
    /// Returns whether calls have ids: then the whole batch may be sent again after it may have
    /// been executed.
    [[nodiscard]] bool has_ids() const noexcept { return has_ids_; }
    [[nodiscard]] const policy_pointer& policy() const noexcept { return policy_; }
    /// Returns the group of all keys of waiting calls; nullopt if they are in several.
    [[nodiscard]] std::optional<std::size_t> common_group() const noexcept;
    /// Returns whether the name of a key is the callers' key alone, so that it has no group.
    [[nodiscard]] bool has_bare_keys() const noexcept;
    /// Not for the checks of an `allow_all`.
    void drop(std::uint32_t index) noexcept override;

    // For the writers of batches.

    [[nodiscard]] const key_tags& tags() const noexcept { return tags_; }
    [[nodiscard]] const std::vector<entry>& entries() const noexcept { return entries_; }
    [[nodiscard]] const std::vector<script_call>& calls() const noexcept { return calls_; }
    /// Returns the first call on a key that is to be made, and the one after it; null for none.
    [[nodiscard]] script_call* first(const entry& e) noexcept { return live_from(e.first_call); }
    [[nodiscard]] script_call* after(const script_call& c) noexcept { return live_from(c.next); }
    [[nodiscard]] std::string_view key_bytes(const entry& e) const noexcept {
        return std::string_view{names_}.substr(e.offset, e.size);
    }
    /// Returns the names of all keys, as bulk strings.
    [[nodiscard]] std::string_view all_names() const noexcept { return names_; }
    [[nodiscard]] const key_names& naming() const noexcept { return naming_; }
    [[nodiscard]] std::string_view member_of(const script_call& c) const noexcept {
        return std::string_view{members_}.substr(c.member_offset, c.member_size);
    }
    [[nodiscard]] std::string_view id_of(std::size_t entry) const noexcept {
        return std::string_view{ids_}.substr(entry * id_bytes, id_bytes);
    }
    /// Lists the entries with calls to be made, in the order of their addition.
    std::vector<std::uint32_t>& list_entries() noexcept;
    /// Returns the entries in the order in which they were sent.
    [[nodiscard]] std::span<const std::uint32_t> order() const noexcept { return order_; }
    /// Returns an empty string.
    [[nodiscard]] std::string& scratch() noexcept {
        scratch_.clear();
        return scratch_;
    }
    /// Makes room for all calls.
    std::string& reserve_calls(std::string& out) const;

    /// Begins the names of the keys of a policy.
    void begin_names(std::string_view prefix, const detail::policy_data& p) {
        naming_.start(p.prefix(prefix), p.name, tags_.text(0));
    }
    /// Returns the member that `distinct` rules count, or the id of a holder; empty if there is
    /// none. It is valid until the next one.
    [[nodiscard]] std::string_view make_member(const detail::policy_data& p,
                                               const detail::call_request& request);
    /// Adds a call without its caller, and returns its index. If it throws (bad_alloc), nothing is
    /// changed.
    std::uint32_t add(const detail::call_request& request, const detail::policy_data& p,
                      std::string_view prefix, std::string_view key, std::uint64_t hash,
                      std::string_view member, std::uint32_t lease_calls = 0);
    using batch_of::hold;

    void fail(const entry& e, errc code) noexcept;
    void fail_all(errc code) noexcept;

  protected:
    keyed_calls(std::size_t most_keys, key_tags tags, bool is_lasting);
    ~keyed_calls() = default;

    void start(const policy_pointer& policy, bool has_ids);
    /// Returns whether it has this key, which is not a long one.
    [[nodiscard]] bool has(std::string_view key, std::uint64_t hash) const noexcept;
    void adopt(keyed_calls& from, script_call& c);
    void withdraw(script_call& c) noexcept;
    [[nodiscard]] static std::size_t
    group_of_tag(const key_tags& tags, const detail::policy_data& p, std::size_t tag) noexcept {
        return p.compiled.packed ? tags.of_shard(tags.shard_of(tag)) : tag;
    }

  private:
    [[nodiscard]] script_call* live_from(std::uint32_t i) noexcept {
        while (i != none && calls_[i].withdrawn)
            i = calls_[i].next;
        return i == none ? nullptr : &calls_[i];
    }
    template<class IsRight>
    [[nodiscard]] std::size_t position_of(std::uint64_t hash, IsRight is_right) const noexcept;
    void make_room(std::size_t member_bytes);
    void make_index(std::size_t size);
    [[nodiscard]] std::size_t make_name(std::string_view prefix, const detail::policy_data& p,
                                        std::string_view key, std::size_t group);
    std::uint32_t insert(const detail::call_request& request, const entry& key,
                         std::string_view member, std::uint32_t lease_calls);

    key_tags tags_;
    policy_pointer policy_;
    key_names naming_;
    std::string names_; ///< of the keys, each as `$size\r\nbytes\r\n`
    std::vector<entry> entries_;
    std::vector<std::uint32_t> index_; ///< open addressing over entries_, by hash
    std::vector<std::uint32_t> order_;
    std::string members_;
    std::string ids_;        ///< for each entry, if the calls have ids: `id_bytes`
    std::string member_;     ///< of the call being added
    std::string scratch_;    ///< the name of its key; later, encoded calls
    std::size_t least_room_; ///< for so many members at once
    bool has_ids_ = false;
};

} // namespace colimit::redis
