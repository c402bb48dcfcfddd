// SPDX-License-Identifier: BSL-1.0
//
// One script call: many calls on many keys of one policy, with one clock. It has what all batches
// have; a writer knows the layout of its arguments and of its reply. No sockets, no clock.

#pragma once

#include <redis/script/batch_writers.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace colimit::redis {

class script_batch final : public keyed_calls {
  public:
    /// @param most_keys the largest number of different keys, 1 to 1,024
    /// @param is_lasting it gets room for a full batch at once, as it is used again and again;
    /// otherwise its memory grows with its calls
    explicit script_batch(std::size_t most_keys, key_tags tags = key_tags{},
                          bool is_lasting = true);

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
        return is_for(policy, clock) && this->has_ids() == has_ids && !is_full();
    }
    [[nodiscard]] std::size_t group() const noexcept { return group_; }
    /// Returns whether it has the checks of an `allow_all`, and takes no calls.
    [[nodiscard]] bool is_joint() const noexcept { return writer_ == &joint_; }
    [[nodiscard]] std::int64_t clock() const noexcept { return clock_; }

    /// Moves each call that waits, in order, to the batch that `target(group, key)` returns, which
    /// has the same policy and clock and is not full, and calls `moved()` after each. `key` is the
    /// number of the call's key. If something throws (bad_alloc), each call is in exactly one
    /// batch.
    template<class Target, class Moved>
    void move_calls(Target target, Moved moved) {
        for (auto& c : calls_)
            if (c.op != nullptr) {
                target(entries()[c.entry].group, c.entry).adopt(*this, c);
                moved();
            }
    }
    /// Returns whether it takes no more keys. It may still take calls for those that it has.
    [[nodiscard]] bool is_full() const noexcept { return keys() == most_keys_ || !takes_calls(); }

    /// Returns whether it is not encoded, and has this key, which is not a long one.
    [[nodiscard]] bool has(const policy_pointer& policy, std::int64_t clock, std::string_view key,
                           std::uint64_t hash) const noexcept {
        return is_for(policy, clock) && keyed_calls::has(key, hash);
    }
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
    /// ASKING if `sending.asking`.
    /// @param ttls the shortest TTL of a key and, if calls have ids, that of records, in the form
    /// of ARGV[4]
    void encode(std::string& out, std::string_view ttls,
                script_command how = script_command::evalsha);
    [[nodiscard]] const batch_contents& sent() const noexcept { return sent_; }

    /// Reads the reply, which is not an error, and decides every call. Returns nullopt if it is not
    /// a reply to this batch; otherwise the recovery that the errors of single keys need.
    [[nodiscard]] std::optional<recovery> read_reply(const resp::decoder& reply,
                                                     std::string_view bytes);

    std::optional<key_failure> failure; ///< in the last reply

    /// What its queue notes about it.
    struct {
        /// The replies to other commands before it: to the question for the module, to SCRIPT LOAD,
        /// and to ASKING, in this order.
        std::uint32_t replies_before = 0;
        bool asks_for_module = false;  ///< of these, the first one is that
        bool in_second_form = false;   ///< the server has rejected the first one without the module
        bool was_repeated = false;     ///< after an error that leaves its outcome open
        bool asking = false;           ///< the node serves its keys only after ASKING
        bool is_denied_asking = false; ///< the user may not run that
        script_command form = script_command::evalsha; ///< in which it was encoded
        std::size_t redirections = 0; ///< to other nodes, since it was made or has waited
    } sending;

  private:
    [[nodiscard]] bool is_for(const policy_pointer& policy, std::int64_t clock) const noexcept;

    std::size_t group_ = any_group;
    std::int64_t clock_ = 0;
    std::uint64_t nonce_ = 0;
    std::size_t most_keys_;
    std::size_t most_calls_ = 0; ///< for this policy
    batch_contents sent_;
    key_writer keys_{*this};
    shard_writer shards_;
    joint_writer joint_{*this};
    filter_writer filter_{*this};
    batch_writer* writer_ = &keys_;
};

} // namespace colimit::redis
