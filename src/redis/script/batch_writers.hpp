// SPDX-License-Identifier: BSL-1.0
//
// The layouts of batches, which differ in their keys, their arguments and their replies:
//
//   key_writer     one value per key, and its log, sketches and holders
//   shard_writer   packed states: the keys are fields of their shards' hashes
//   joint_writer   the checks of one `allow_all`: a key per check, and perhaps as many policies
//   filter_writer  ids of a Bloom filter: the keys are blocks, and a call has the bits of an id
//
// Calls with ids are no layout of their own: keys and shards have them in the same way, a record
// beside the state, so what they add is in key_writer, from which shard_writer is derived.
//
// A writer is chosen when a batch is started, and called once to encode it and once to decide it.
// Each batch has all of them: so it keeps their memory, and its list may have batches of any
// layout.

#pragma once

#include <core/evaluate.hpp>
#include <redis/protocol/known_replies.hpp>
#include <redis/protocol/reply_error.hpp>
#include <redis/protocol/resp.hpp>
#include <redis/protocol/script.hpp>
#include <redis/script/keyed_calls.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::redis {

/// The part of a command that all batches have: how it begins, and its arguments after the keys.
struct batch_command {
    std::string& out;
    script_words words;
    std::uint64_t nonce;
    std::int64_t clock;
    std::string_view ttls;

    /// @param further arguments after those of all batches
    void begin(std::size_t keys, std::size_t further) const;
    void append_arguments(std::string_view policies, std::string_view calls) const;
};

/// The contents that were encoded.
struct batch_contents {
    std::uint32_t keys = 0;
    std::uint32_t calls = 0;
    std::uint32_t entries = 0; ///< consecutive equal calls are one
};

/// The error of a key in a reply; the text is in the bytes of the reply.
struct key_failure {
    errc code;
    std::string_view text;
};

/// Facts that were not read yet.
struct call_facts {
    std::string_view bytes;
    std::int64_t now;

    /// Reads the facts of a call; returns false if there are none, or they are not valid numbers.
    [[nodiscard]] bool take(const core::compiled_policy& rules, core::key_state& state) noexcept;
};

class batch_reply {
  public:
    struct value {
        resp::kind kind;
        std::string_view text;
        char status; ///< '.' if it is the key's value, else the text is an error or a record

        [[nodiscard]] bool is_valid() const noexcept {
            return kind == resp::kind::bulk || kind == resp::kind::null;
        }
        [[nodiscard]] std::optional<std::string_view> stored() const noexcept {
            return kind == resp::kind::null ? std::nullopt : std::optional{text};
        }
    };

    /// @param nonce,clock of the batch
    batch_reply(const resp::decoder& reply, std::string_view bytes, std::uint64_t nonce,
                std::int64_t clock) noexcept
        : facts{.bytes = {}, .now = clock}, reply_(reply), bytes_(bytes), nodes_(reply.nodes()),
          header_{nonce, 0, 0, 0, {}} {}

    /// Reads header and facts. Returns false if it is not a reply to a batch of so many keys.
    /// @param others elements besides values, facts and header
    [[nodiscard]] bool open(std::size_t keys, std::size_t others, bool may_have_facts);
    /// Returns whether the keys of a shard follow.
    [[nodiscard]] bool enter_shard(std::size_t keys) noexcept;
    /// Returns the value of the next key.
    [[nodiscard]] value next() noexcept {
        const auto& n = nodes_[at_++];
        const auto key = key_++;
        return {n.kind, reply_.text(n, bytes_),
                header_.statuses == "-" ? '.' : header_.statuses[key]};
    }

    /// Notes the error of a key, and returns its code.
    errc fail(const value& v);
    /// Returns whether the script granted anything.
    [[nodiscard]] bool has_grants() const noexcept { return header_.granted > 0; }
    /// Returns whether this process decided as the script did.
    [[nodiscard]] bool agrees() const noexcept {
        return facts.bytes.empty() && (failure || granted == header_.granted);
    }

    call_facts facts;
    std::int64_t granted = 0;           ///< by this process
    bool lacks_memory = false;          ///< a call failed for that reason
    std::optional<key_failure> failure; ///< the last one
    recovery needs = recovery::keep;    ///< of all failures

  private:
    const resp::decoder& reply_;
    std::string_view bytes_;
    std::span<const resp::node> nodes_;
    reply_header header_;
    std::size_t at_ = 1;
    std::size_t key_ = 0;
};

class batch_writer : boost::noncopyable {
  public:
    explicit batch_writer(keyed_calls& of) noexcept : of_(of) {}
    virtual ~batch_writer() = default;

    virtual batch_contents encode(const batch_command& to) = 0;
    /// Returns whether the reply, which was not opened yet, is one to this batch. Then all calls
    /// are decided.
    [[nodiscard]] virtual bool read(batch_reply& from) = 0;

  protected:
    void append_family(std::string& out, std::string_view family,
                       std::span<const std::uint32_t> of) const;
    void append_names(std::string& out, const detail::policy_data& p,
                      std::span<const std::uint32_t> of) const;
    [[nodiscard]] static std::size_t names_per_entry(const detail::policy_data& p) noexcept;
    void append_entry(std::string& out, const detail::policy_data& p, std::size_t key,
                      std::uint32_t times, const script_call& c) const;

    keyed_calls& of_;
};

class key_writer : public batch_writer {
  public:
    using batch_writer::batch_writer;
    batch_contents encode(const batch_command& to) override;
    [[nodiscard]] bool read(batch_reply& from) override;

  protected:
    [[nodiscard]] batch_contents append_calls(std::string& out) const;
    void append_record(std::string& out, std::string_view beginning, std::size_t entry) const;
    [[nodiscard]] bool read_key(std::size_t entry, batch_reply& from);
};

class shard_writer final : public key_writer {
  public:
    shard_writer(keyed_calls& of, bool is_lasting) : key_writer(of) {
        name_.reserve(is_lasting ? keyed_calls::usual_key_bytes : 0);
    }
    batch_contents encode(const batch_command& to) override;
    [[nodiscard]] bool read(batch_reply& from) override;

  private:
    void order_entries();
    [[nodiscard]] std::string& name_of(std::size_t shard);
    [[nodiscard]] std::size_t shards() const noexcept { // that have keys to be sent
        return sizes_.size() - static_cast<std::size_t>(std::ranges::count(sizes_, 0));
    }

    std::array<std::uint16_t, shard_count> sizes_{}; ///< the numbers of keys
    std::string name_;
};

class joint_writer final : public batch_writer {
  public:
    using batch_writer::batch_writer;
    /// Adds all checks of an operation, or none. Returns false if two of them have the same key and
    /// policy.
    [[nodiscard]] bool add(detail::operation& op, std::string_view prefix);
    /// Lets the policies of the last checks go.
    void clear() noexcept { policies_.clear(); }
    batch_contents encode(const batch_command& to) override;
    [[nodiscard]] bool read(batch_reply& from) override;

  private:
    [[nodiscard]] std::int64_t decide(std::int64_t now);

    std::vector<policy_pointer> policies_; ///< of each check
    std::vector<core::key_state> states_;
    std::vector<decision> answers_;
};

class filter_writer final : public batch_writer {
  public:
    using batch_writer::batch_writer;
    /// Adds an id, or the inspection of a block.
    void add(detail::operation& op, std::string_view prefix, std::string_view key);
    batch_contents encode(const batch_command& to) override;
    [[nodiscard]] bool read(batch_reply& from) override;

  private:
    std::string mark_; ///< of the id being added
};

} // namespace colimit::redis
