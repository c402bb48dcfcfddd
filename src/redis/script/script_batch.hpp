// SPDX-License-Identifier: BSL-1.0
//
// One script call: many calls on many keys of one policy, with one clock. Keys are stored as the
// bytes to be sent, so that sending is one copy; equal keys are merged, and their calls are decided
// in sequence, in the order in which they were made. No sockets, no clock.
//
// A batch has one of four forms, which differ in its keys, its arguments and its reply:
//
//   keys     one value per key, and its log and sketches
//   shards   packed states: the keys are fields of their shards' hashes
//   ids      of a Bloom filter: the keys are blocks, and a call has the bits of an id
//   checks   of one `allow_all`: a key per check, and perhaps as many policies
//
// Identical consecutive calls are one entry with a count. If a state is numbers, the script
// computes in one step how many of them fit: after a grant of n there is room for n less at the
// same instant, for every kind of rule, and if one does not fit, the next does not either. The C++
// twin makes them one by one, so each caller gets its own decision; if the two ways differed, the
// counts of grants would. Calls on logs and sketches, whose facts change from call to call, share
// the entry, and the script makes each.

#pragma once

#include <colimit/detail/operation.hpp>
#include <core/evaluate.hpp>
#include <policy/policy_data.hpp>
#include <redis/protocol/key.hpp>
#include <redis/protocol/reply_error.hpp>
#include <redis/protocol/resp.hpp>
#include <redis/protocol/script.hpp>
#include <redis/queue/call_batch.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::redis {

struct script_call {
    detail::operation* op; ///< null: withdrawn by its caller
    detail::call_request request;
    std::uint32_t member_offset = 0;
    std::uint32_t member_size = 0;
    std::uint32_t entry;
    std::uint32_t next;     ///< on the same key
    std::uint32_t further;  ///< calls like this one that are made too, for a lease
    bool withdrawn = false; ///< before it was encoded, so it is not sent
};

class script_batch final : public batch_of<script_call> {
  public:
    /// @param most_keys the largest number of different keys, 1 to 1,024
    /// @param is_lasting it gets room for a full batch at once, as it is used again and again;
    /// otherwise its memory grows with its calls
    explicit script_batch(std::size_t most_keys, key_tags tags = key_tags{},
                          bool is_lasting = true);

    /// The value for a batch whose keys may be in any hash slot.
    static constexpr std::size_t any_group = slot_count;
    /// Returns the number of the tag in the names of a key's states: on a cluster, only keys of one
    /// group may be in a batch.
    [[nodiscard]] static std::size_t group_of(const key_tags& tags, const detail::policy_data& p,
                                              std::string_view key, detail::verb v);

    /// Empties the batch, keeping its memory, and sets its policy, clock and group.
    /// @param has_ids all its calls have ids, rather than none
    void start(const policy_pointer& policy, std::int64_t clock, std::uint64_t nonce,
               std::size_t group = any_group, bool has_ids = false);

    [[nodiscard]] bool fits(const policy_pointer& policy, std::int64_t clock,
                            bool has_ids = false) const noexcept {
        return is_for(policy, clock) && has_ids_ == has_ids && !is_full();
    }
    /// Returns whether calls have ids: then the whole batch may be sent again after it may have
    /// been executed.
    [[nodiscard]] bool has_ids() const noexcept { return has_ids_; }
    [[nodiscard]] std::size_t group() const noexcept { return group_; }
    /// Returns the number of different keys, with those of withdrawn calls.
    [[nodiscard]] std::size_t keys() const noexcept { return entries_.size(); }
    /// Returns the group of all keys of waiting calls; nullopt if they are in several.
    [[nodiscard]] std::optional<std::size_t> common_group() const noexcept;
    [[nodiscard]] bool is_joint() const noexcept { return !joint_.empty(); }
    /// Returns whether the name of a key is the callers' key alone, so that it has no group.
    [[nodiscard]] bool has_bare_keys() const noexcept;
    [[nodiscard]] std::int64_t clock() const noexcept { return clock_; }
    [[nodiscard]] const policy_pointer& policy() const noexcept { return policy_; }

    /// Moves each call that waits, in order, to the batch that `target(group, key)` returns, which
    /// has the same policy and clock and is not full, and calls `moved()` after each. `key` is the
    /// number of the call's key. If something throws (bad_alloc), each call is in exactly one
    /// batch.
    template<class Target, class Moved>
    void move_calls(Target target, Moved moved) {
        for (auto& c : calls_)
            if (c.op != nullptr) {
                target(entries_[c.entry].group, c.entry).adopt(*this, c);
                moved();
            }
    }
    /// Returns whether it takes no more keys. It may still take calls for those that it has.
    [[nodiscard]] bool is_full() const noexcept {
        return entries_.size() == most_keys_ || !takes_calls();
    }

    /// Returns whether it is not encoded, and has this key, which is not a long one.
    [[nodiscard]] bool has(const policy_pointer& policy, std::int64_t clock, std::string_view key,
                           std::uint64_t hash) const noexcept;
    /// Returns whether it takes one more call for a key that it has.
    [[nodiscard]] bool takes_calls() const noexcept { return calls_.size() < most_calls_; }

    /// Adds a call to a batch that is not encoded. The queue asks `is_full` and `takes_calls`
    /// first, which bound the reply. If it throws (bad_alloc), the batch is unchanged.
    /// @param hash of the key, by hash::fnv1a_64; not read if the policy is a filter
    void add(detail::operation& op, std::string_view prefix, std::string_view key,
             std::uint64_t hash);
    /// Hashes the key.
    void add(detail::operation& op, std::string_view prefix, std::string_view key);

    /// Adds all checks of an operation, or none, instead of calls. Returns false if two of them
    /// have the same key and policy.
    [[nodiscard]] bool add_checks(detail::operation& op, std::string_view prefix);

    void drop(std::uint32_t index) noexcept override;

    /// Called before it is encoded again, without withdrawn calls: the server executed nothing of
    /// it, or its calls have ids.
    void take_back() noexcept;

    /// Appends the command that runs the script, with SCRIPT LOAD before it if that is EVAL, then
    /// ASKING if `asking`.
    /// @param ttls the shortest TTL of a key and, if calls have ids, that of records, in the form
    /// of ARGV[4]
    void encode(std::string& out, std::string_view ttls,
                script_command how = script_command::evalsha);

    /// The contents that were encoded.
    struct contents {
        std::uint32_t keys = 0;
        std::uint32_t calls = 0;
        std::uint32_t entries = 0; ///< consecutive equal calls are one
    };
    [[nodiscard]] const contents& sent() const noexcept { return sent_; }

    /// Reads the reply, which is not an error, and decides every call. Returns nullopt if it is not
    /// a reply to this batch; otherwise the recovery that the errors of single keys need.
    [[nodiscard]] std::optional<recovery> read_reply(const resp::decoder& reply,
                                                     std::string_view bytes);

    /// Removes the callers in the order of their calls: `take(operation&)`, whose `ec` and `result`
    /// are set by read_reply or by the caller.
    template<class Take>
    void release(Take take) {
        hand_over_checks();
        batch_of::release(take);
    }

    /// The error of a key in the last reply; the text is in the bytes of the reply.
    struct key_failure {
        errc code;
        std::string_view text;
    };
    std::optional<key_failure> failure;

    /// The replies to other commands before it: to the question for the module, to SCRIPT LOAD, and
    /// to ASKING, in this order.
    std::uint32_t replies_before = 0;
    bool asks_for_module = false;                  ///< of these, the first one is that
    script_command form = script_command::evalsha; ///< in which it was encoded
    bool in_second_form = false; ///< the server has rejected the first one without the module
    bool was_repeated = false;   ///< it was sent again after an error that leaves its outcome open
    bool asking = false;         ///< the node serves its keys only after ASKING
    bool is_denied_asking = false; ///< the user may not run that
    std::size_t redirections = 0;  ///< to other nodes, since it was made or has waited

  private:
    /// The bytes that a batch keeps of a call's id: the end of its record's name, and its digests.
    static constexpr std::size_t record_name_bytes = 32;
    static constexpr std::size_t id_bytes = record_name_bytes + 16;

    /// The value for no entry, and for no next call.
    static constexpr std::uint32_t no_entry = UINT32_MAX;

    struct entry { // one key; if the calls have ids, one call
        std::uint64_t hash;
        std::uint32_t offset; ///< of its bytes in keys_
        std::uint32_t size;
        std::uint16_t family_at; ///< the position of families in its bytes
        std::uint16_t group;
        std::uint32_t first_call = no_entry;
        std::uint32_t last_call = no_entry;
        std::uint32_t live = 0;    ///< number of calls to be made
        std::uint32_t further = 0; ///< and of those that are made for leases

        [[nodiscard]] std::uint32_t times() const noexcept { return live + further; }
    };

    /// The values, facts and statuses of a reply.
    struct answers;

    /// An iterator over the values of a reply.
    struct reply_cursor;

    [[nodiscard]] bool is_packed() const noexcept { return policy_->compiled.packed; }
    [[nodiscard]] bool is_for(const policy_pointer& policy, std::int64_t clock) const noexcept;
    [[nodiscard]] const detail::policy_data& policy_of(std::size_t entry) const noexcept {
        return is_joint() ? *joint_[entry] : *policy_;
    }
    [[nodiscard]] static std::size_t
    group_of_tag(const key_tags& tags, const detail::policy_data& p, std::size_t tag) noexcept {
        return p.compiled.packed ? tags.of_shard(tags.shard_of(tag)) : tag;
    }
    [[nodiscard]] std::string_view key_bytes(const entry& e) const noexcept {
        return std::string_view{keys_}.substr(e.offset, e.size);
    }
    [[nodiscard]] std::string_view member_of(const script_call& c) const noexcept {
        return std::string_view{members_}.substr(c.member_offset, c.member_size);
    }

    /// Returns the position in the index of the key with this hash and the right bytes, or of a
    /// free entry.
    template<class IsRight>
    [[nodiscard]] std::size_t slot_of(std::uint64_t hash, IsRight is_right) const noexcept;
    void make_room(std::size_t member_bytes);
    void make_index(std::size_t size);
    [[nodiscard]] std::uint32_t find_or_append(std::uint64_t hash, std::size_t group);
    void make_key(std::string_view prefix, const detail::policy_data& p, std::string_view key,
                  std::size_t group);
    void make_member(const detail::policy_data& p, const detail::call_request& request);
    std::uint32_t insert_call(const detail::call_request& request, std::uint64_t hash,
                              std::size_t group, std::string_view member,
                              std::uint32_t further = 0);
    void adopt(script_batch& from, script_call& c);
    void withdraw(script_call& c) noexcept;

    void make_id(std::string_view key, const detail::call_request& request);
    [[nodiscard]] std::string_view id_of(std::uint32_t entry) const noexcept {
        return std::string_view{ids_}.substr(entry * id_bytes, id_bytes);
    }

    void order_keys();
    [[nodiscard]] contents append_calls(std::string& out) const;
    void append_calls(std::string& out, const entry& of, contents& so_far) const;
    [[nodiscard]] bool is_repeated(const script_call& a, const script_call& b) const noexcept;
    void append_keys(std::string& out) const;
    void append_family(std::string& out, std::string_view family,
                       std::span<const std::uint32_t> of) const;
    void append_bitmaps(std::string& out) const;
    void append_records(std::string& out);
    [[nodiscard]] std::size_t shards() const noexcept;
    void append_shards(std::string& out);
    void append_fields(std::string& out);

    [[nodiscard]] bool decide(const entry& e, std::optional<std::string_view> value, answers& from);
    [[nodiscard]] bool decide_known(const entry& e, std::string_view record);
    void decide_lease(const script_call& c, std::uint32_t end, core::key_state& state,
                      answers& from) const;
    [[nodiscard]] bool decide_ids(const entry& e, answers& from);
    [[nodiscard]] bool keep_value(std::size_t check, std::optional<std::string_view> value,
                                  answers& from);
    [[nodiscard]] std::int64_t decide_checks(std::int64_t now);
    void hand_over_checks() noexcept;
    void fail(const entry& e, errc code) noexcept;
    void fail_all(errc code) noexcept;

    key_tags tags_;
    policy_pointer policy_;
    std::size_t group_ = any_group;
    std::int64_t clock_ = 0;
    std::uint64_t nonce_ = 0;
    std::string keys_; ///< each as `$size\r\nbytes\r\n`
    std::string members_;
    std::string member_;              ///< of the call being added
    std::string ids_;                 ///< for each entry, if the calls have ids: see make_id
    std::array<char, id_bytes> id_{}; ///< of the call being added
    std::string scratch_;
    key_names names_;
    std::string prefix_; ///< of shards
    std::string shard_name_;
    std::size_t family_at_ = 0;         ///< in the key in scratch_
    std::vector<policy_pointer> joint_; ///< of each check; empty for a batch of calls
    std::vector<core::key_state> check_states_;
    std::vector<decision> check_answers_;
    std::vector<entry> entries_;
    std::vector<std::uint32_t> index_; ///< open addressing over entries_, by hash
    std::vector<std::uint32_t> order_; ///< the entries that are sent, those of a shard together
    std::array<std::uint16_t, shard_count> shard_sizes_{}; ///< all in the first, if not packed
    std::size_t most_keys_;
    std::size_t least_room_;     ///< for so many members at once
    std::size_t most_calls_ = 0; ///< for this policy
    contents sent_;
    bool plain_ = true; ///< all calls are an allow of cost 1
    bool has_ids_ = false;
};

} // namespace colimit::redis
