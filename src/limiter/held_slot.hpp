// SPDX-License-Identifier: BSL-1.0
//
// A slot of a `concurrent` rule, from the call that asks for it until it is given back or its
// lease ends. It has the memory for its renewals and its release, so neither fails for lack of it.

#pragma once

#include <async/call_pool.hpp>
#include <colimit/detail/operation.hpp>
#include <policy/policy_data.hpp>

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/intrusive/set_hook.hpp>

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace colimit::detail {

struct held_slot;

/// A call without a caller that renews or releases a slot, which lives at least as long.
struct slot_call final : operation {
    slot_call(limiter_core& core, std::shared_ptr<held_slot> of, finish_function f)
        : operation(core, f), slot(std::move(of)) {}

    std::shared_ptr<held_slot> slot;
};

enum class slot_state : std::uint8_t {
    asking,    ///< its call of `acquire` has not ended, or has ended without it
    held,      ///< it is renewed
    lost,      ///< its lease has ended, or the store has forgotten it
    releasing, ///< it is to be given back
    ended,     ///< it was given back, or the limiter was closed
};

/// All that may change is guarded by the lock of the pool.
struct held_slot final : boost::intrusive::set_base_hook<>,
                         std::enable_shared_from_this<held_slot> {
    static constexpr auto never = std::numeric_limits<std::int64_t>::max();

    [[nodiscard]] std::string_view id() const noexcept { return {holder.data(), holder.size()}; }

    std::shared_ptr<call_pool> pool; ///< of the limiter, which the slot may outlive
    limiter_core* core = nullptr;    ///< valid unless it is `ended`
    std::string key;
    policy_pointer policy;
    std::array<char, holder_bytes> holder{};
    std::int64_t lease = 0;    ///< of the policy's rule
    std::int64_t now = 0;      ///< that its caller supplied, or store_clock
    std::int64_t began = 0;    ///< its call of `acquire`, of the steady clock, as the next ones are
    std::int64_t asked_at = 0; ///< not after the latest request for its lease was sent
    std::int64_t ends = 0;     ///< its lease
    std::int64_t turn = 0;     ///< when its turn began, see key_queues.hpp
    std::int64_t due = never;  ///< when there is something to do
    slot_state state = slot_state::asking;
    bool may_be_held = false; ///< its call was cancelled after it may have been sent
    asio::cancellation_signal* signal = nullptr;
    asio::cancellation_type signal_type{};
    std::shared_ptr<held_slot> kept;  ///< itself, while the limiter has it in its list
    std::optional<slot_call> renewal; ///< while it is under way
    std::optional<slot_call> release;
};

/// Releases the slot if it is held, or forgets that it is lost. Takes the lock.
void give_back(held_slot& of) noexcept;

/// What a call of `acquire` is attached to. If nothing takes the slot, it is released.
struct acquisition : attachment {
    acquisition() = default;
    explicit acquisition(std::shared_ptr<held_slot> asked_for) : slot(std::move(asked_for)) {}
    ~acquisition() override;

    [[nodiscard]] static held_slot& slot_of(const operation& op) noexcept {
        return *static_cast<const acquisition&>(*op.attached).slot;
    }

    std::shared_ptr<held_slot> slot; ///< null for calls of `wait`
};

} // namespace colimit::detail
