// SPDX-License-Identifier: BSL-1.0
//
// Whether the batches of a connection are executed by the server module. The handshake has asked
// for it; afterwards a server may lose it or get it, and a user the permission for its commands:
//
//   used   -> not used   when the server has not executed a batch for this reason
//   not used -> used     when it has replied to the question, which is sent before a batch: a
//   second
//                        later, and then after pauses that double up to a minute, as servers count
//                        unknown commands and log denials
//
// The question is sent in the same write as a batch, and its reply is read before that of the
// batch, so it needs no state of its own on the connection. A connection may last for months.

#pragma once

#include <colimit/module_use.hpp>
#include <redis/protocol/server_module.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace colimit::redis {

class module_route {
  public:
    // Pauses before questions, in microseconds.
    static constexpr std::int64_t first_pause = 1'000'000;
    static constexpr std::int64_t longest_pause = 60'000'000;

    explicit module_route(module_use use) noexcept : use_(use) {}

    void begin_connection(module_state found) noexcept {
        state_ = found;
        is_seen_denied_ = false;
        expect_it_soon();
    }

    [[nodiscard]] bool is_required() const noexcept { return use_ == module_use::required; }
    /// Returns whether checks are executed by the module, or ids of Bloom filters.
    [[nodiscard]] bool is_used(bool for_ids = false) const noexcept {
        return state_ == module_state::usable && !(for_ids && is_seen_denied_);
    }

    /// Returns whether the question is to be sent now.
    [[nodiscard]] bool takes_question(std::int64_t now) noexcept {
        if (use_ != module_use::if_available || is_used(true))
            return false;
        if (ask_at_ && now < *ask_at_)
            return false;
        const auto was_set = ask_at_.has_value();
        ask_at_ = now + pause_;
        pause_ = std::min(2 * pause_, longest_pause);
        return was_set;
    }

    /// Returns whether the reply differs from the state before it.
    bool read_answer(module_state answer) noexcept {
        is_seen_denied_ = is_seen_denied_ && answer != module_state::usable;
        return std::exchange(state_, answer) != answer;
    }

    /// Called when the server has not executed a command of the module.
    /// @param for_ids COLIMIT.SEEN
    void lose(bool for_ids, bool is_denied) noexcept {
        if (for_ids && is_denied) {
            // The reply to the question is that for checks, so pauses double until it is tried.
            is_seen_denied_ = true;
            return;
        }
        state_ = is_denied ? module_state::denied : module_state::absent;
        expect_it_soon();
    }

  private:
    void expect_it_soon() noexcept {
        ask_at_.reset();
        pause_ = first_pause;
    }

    module_use use_;
    module_state state_ = module_state::absent;
    bool is_seen_denied_ = false;        ///< the user may run COLIMIT.CHECK, but not COLIMIT.SEEN
    std::optional<std::int64_t> ask_at_; ///< nullopt: not known before the next batch is sent
    std::int64_t pause_ = first_pause;
};

} // namespace colimit::redis
