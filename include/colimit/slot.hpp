// SPDX-License-Identifier: BSL-1.0
//
// A slot of a `concurrent` rule: kept by renewals while the object lives, and given back with it.

#pragma once

#include <colimit/decision.hpp>
#include <colimit/error.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace colimit {

class slot;

namespace detail {
struct held_slot; // src/limiter/held_slot.hpp
struct operation;
/// Returns the slot that a call of `acquire` has ended with.
[[nodiscard]] slot take_slot(operation& op) noexcept;
} // namespace detail

/// The result of `limiter::acquire`. If the call was granted, it holds one slot of the policy's
/// `concurrent` rule; otherwise it is empty.
///
/// @par Leases The store gives the slot for the rule's lease. The limiter renews it at a third of
/// that, together with its other calls, and tries again after errors. The lease is counted here
/// from before its request was sent, so it ends here no later than in the store, unless the store's
/// clock is set forward. If it could not be renewed until then, or if the store has forgotten the
/// holder, the slot is lost: another holder may have it. Use `fencing_token` where that must
/// do no harm.
///
/// @par Lifetimes A slot may outlive its limiter and its context. Once the limiter is closed or
/// destroyed nothing renews the slot, and releasing it does nothing: the store frees it when the
/// lease ends.
///
/// @par Threads As its limiter. With `config::thread_safe`, different slots may be used in
/// different threads, and one slot in one thread at a time.
class slot {
  public:
    /// Makes an empty slot, whose decision is a denial.
    slot() noexcept { decision_.outcome = outcome::denied; }
    /// As `release`.
    ~slot() { release(); }
    slot(slot&& other) noexcept
        : held_(std::exchange(other.held_, nullptr)), decision_(std::move(other.decision_)),
          token_(other.token_) {}
    slot& operator=(slot&& other) noexcept {
        if (this != &other) {
            release();
            held_ = std::exchange(other.held_, nullptr);
            decision_ = std::move(other.decision_);
            token_ = other.token_;
        }
        return *this;
    }
    slot(const slot&) = delete;
    slot& operator=(const slot&) = delete;

    /// Returns whether the slot was granted, and neither released nor moved away. It may be lost.
    [[nodiscard]] explicit operator bool() const noexcept { return held_ != nullptr; }

    /// Returns the decision of `acquire`: for an empty slot why it was denied.
    [[nodiscard]] const colimit::decision& decision() const noexcept { return decision_; }

    /// Returns a number that is larger than that of every earlier grant for this key and policy, or
    /// 0 if there was no grant. (It is the store's time in microseconds, or the last number plus 1:
    /// so it may be smaller after the store has forgotten the key, by an eviction or `reset`, and
    /// its clock was set back.) A resource that refuses numbers below the largest that it has seen
    /// is safe from a holder that has lost its slot without noticing it yet.
    [[nodiscard]] std::uint64_t fencing_token() const noexcept { return token_; }

    /// Returns whether the lease has ended, or the store has forgotten the holder. A lost slot is
    /// never regained.
    ///
    /// Each call compares the end of the lease with `std::chrono::steady_clock`, so the result is
    /// right at once when the event loop or the whole process was halted. On Linux this clock
    /// stands still while the machine is suspended: a slot that was given away meanwhile is lost
    /// here when its next renewal is denied. `fencing_token` helps until then.
    [[nodiscard]] bool lost() const noexcept;

    /// Emits the signal once, when the slot is lost, on the limiter's executor; soon, if it is
    /// lost already. The signal must live until the slot is released or destroyed, or until this is
    /// called with another one. After the limiter was closed nothing is emitted.
    ///
    /// With `config::thread_safe` it is emitted in any thread of the limiter's executor: the
    /// limiter then needs a strand as its executor, on which the slot is used.
    void cancel_when_lost(
        boost::asio::cancellation_signal& signal,
        boost::asio::cancellation_type type = boost::asio::cancellation_type::terminal) noexcept;

    /// Gives the slot back and makes the object empty; does nothing if it is empty. Does not wait:
    /// the limiter sends the release with its next batch, and again after an error until the lease
    /// ends. Charges nothing, and returns nothing to the other rules.
    void release() noexcept;

  private:
    friend slot detail::take_slot(detail::operation& op) noexcept;

    slot(std::shared_ptr<detail::held_slot> held, colimit::decision d, std::uint64_t token) noexcept
        : held_(std::move(held)), decision_(std::move(d)), token_(token) {}

    std::shared_ptr<detail::held_slot> held_;
    colimit::decision decision_;
    std::uint64_t token_ = 0;
};

namespace detail {

/// Completion tokens of `acquire`.
template<class Token>
concept slot_token = boost::asio::completion_token_for<Token, void(error_code, slot)>;

/// For `acquire`.
struct acquired_slot {
    [[nodiscard]] slot operator()(operation& op) const noexcept { return take_slot(op); }
};

} // namespace detail

} // namespace colimit
