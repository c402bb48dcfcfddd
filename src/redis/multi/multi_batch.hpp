// SPDX-License-Identifier: BSL-1.0
//
// Calls that are sent in one write without a script, each with its own MULTI, on any keys of any
// policies of sliding logs and fixed windows:
//
//     ECHO nonce   TIME   MULTI ... EXEC   MULTI ... EXEC   ...
//
// The replies come one by one; each call is decided by the reply to its EXEC. A batch may also have
// no calls but their cleanup commands, which have no callers. No sockets, no clock of its own.
//
// It is not a kind of script batch: each call is a MULTI on its own key with its own policy and
// clock, so nothing is grouped. What is the same is in redis/queue.

#pragma once

#include <colimit/detail/operation.hpp>
#include <policy/policy_data.hpp>
#include <redis/multi/server_clock.hpp>
#include <redis/multi/transaction.hpp>
#include <redis/protocol/key_tags.hpp>
#include <redis/protocol/reply_error.hpp>
#include <redis/protocol/resp.hpp>
#include <redis/queue/call_batch.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace colimit::redis {

/// Commands to be sent.
struct pending_commands {
    std::string bytes;
    std::uint32_t replies = 0;

    void clear() noexcept {
        bytes.clear();
        replies = 0;
    }
    /// Appends commands with `append(bytes)`, which returns the number of replies. Appends all or
    /// nothing, as a partial command would corrupt those that follow it.
    template<class Append>
    void add(Append append) {
        const auto before = bytes.size();
        try {
            replies += static_cast<std::uint32_t>(append(bytes));
        } catch (...) {
            bytes.resize(before);
            throw;
        }
    }
};

/// The context of all calls of a connection.
struct multi_context {
    server_clock clock;
    std::int64_t here = 0; ///< the time of this process's clock
    std::string origin;    ///< of the connection
    std::uint64_t member = 0;
    std::int64_t grace = 0;
    std::int64_t least_ttl = 0;
    bool keeps_read_only = false; ///< as in the queue's settings
    pending_commands log_cleanup;
    pending_commands window_cleanup; ///< only for the server that counted the tokens

    [[nodiscard]] bool has_cleanup() const noexcept {
        return log_cleanup.replies + window_cleanup.replies != 0;
    }
};

struct multi_call {
    detail::operation* op; ///< null: withdrawn by its caller
    detail::call_request request;
    policy_pointer policy;
    std::size_t key_offset;
    std::size_t key_size;
    std::size_t family_at;  ///< in the key's name
    std::int64_t tokens;    ///< that it adds before it is decided
    bool withdrawn = false; ///< before it was encoded, so it is not sent
    // Set when it is encoded:
    std::uint32_t commands = 0;
    std::uint64_t member = 0;
    std::int64_t earliest = 0;
    std::int64_t latest = 0;
};

class multi_batch final : public batch_of<multi_call> {
  public:
    /// @param is_lasting it gets room for as many at once
    explicit multi_batch(std::size_t most_calls, key_tags tags = key_tags{},
                         bool is_lasting = true);

    /// Removes everything, but keeps the memory.
    void start(std::uint64_t nonce);
    [[nodiscard]] bool takes_calls() const noexcept;
    /// Adds a call. If it throws (bad_alloc), nothing has changed.
    void add(detail::operation& op, std::string_view prefix, std::string_view key,
             const policy_pointer& policy);

    /// Transactions have no calls with ids.
    [[nodiscard]] static constexpr bool has_ids() noexcept { return false; }

    void drop(std::uint32_t index) noexcept override;
    /// Called if no byte of it was sent, or no call that still has a caller was executed: it will
    /// be encoded again, with these calls only.
    void take_back() noexcept;

    [[nodiscard]] bool has_calls() const noexcept { return !calls_.empty(); }
    /// Returns whether a read-only server has refused calls, which keep their callers.
    [[nodiscard]] bool has_refused() const noexcept { return has_refused_; }

    void encode(std::string& out, multi_context& with);
    /// Writes the cleanup commands instead of calls.
    void encode_cleanup(std::string& out, multi_context& with);

    struct progress {
        bool is_over = false;                        ///< no more replies are outstanding
        detail::operation* answered = nullptr;       ///< with `ec` or `result` set
        recovery needs = recovery::keep;             ///< when it is over
        std::optional<errc> failure = {};            ///< an error that no other error has caused
        const detail::policy_data* policy = nullptr; ///< of the current call
    };
    /// Reads the next reply. Returns nullopt if it is not a valid reply to this batch.
    [[nodiscard]] std::optional<progress> read_reply(const resp::decoder& reply,
                                                     std::string_view bytes, multi_context& with);

  private:
    /// The replies to the current call.
    struct reply_progress {
        std::uint32_t replies = 0;
        bool ran_alone = false; ///< a command was executed outside of MULTI
        std::optional<reply_error> error;
    };

    [[nodiscard]] transaction_call view_of(const multi_call& c,
                                           const multi_context& with) const noexcept;
    void encode_call(std::string& out, multi_call& c, multi_context& with);
    [[nodiscard]] bool read_head(const resp::decoder& reply, std::string_view bytes,
                                 multi_context& with);
    [[nodiscard]] bool read_exec(multi_call& c, const resp::decoder& reply, std::string_view bytes,
                                 multi_context& with, detail::operation*& answered);
    void clean_up(const multi_call& c, const cleanup& after, multi_context& with) const;
    void skip_withdrawn() noexcept;

    std::uint64_t nonce_ = 0;
    std::string keys_;
    key_tags tags_;
    std::size_t most_calls_;
    std::size_t events_ = 0; ///< that all calls record

    // The replies:
    std::size_t current_ = 0;         ///< the current call
    std::uint32_t head_ = 0;          ///< number of replies before those of the first call
    std::optional<std::int64_t> now_; ///< the reply to TIME
    bool has_nonce_ = false;          ///< of the replies
    reply_progress progress_;
    recovery worst_ = recovery::keep;
    bool has_refused_ = false;
};

} // namespace colimit::redis
