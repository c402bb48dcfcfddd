// SPDX-License-Identifier: BSL-1.0
//
// What the servers executed, and whether it was within the limits: plain arithmetic, which shares
// nothing with the limiter. Calls are known by their cost, which no other call has, unless it is
// the same call made again.
//
// An account is one history of a key's state. A server that loses the state of a key, or has an
// older one, begins another account; so each loss allows one more capacity, and no more.

#pragma once

#include "machine.hpp"

#include <core/evaluate.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace colimit::simulation {

/// The limits of a policy, for the arithmetic of this check.
struct limit {
    std::int64_t capacity = 0; ///< tokens
    std::int64_t period = 0;   ///< microseconds in which so many come back
    bool is_window = false;    ///< aligned, instead of a bucket
};

/// One account, or the in-process store of a limiter.
class balance {
  public:
    explicit balance(const limit& of) : limit_(of) {}

    /// Returns false if it grants more than the limit.
    [[nodiscard]] bool grant(std::int64_t cost, std::int64_t time);
    void charge(std::int64_t cost, std::int64_t time);
    void refund(std::int64_t cost, std::int64_t time);
    void reset() noexcept { used_ = 0; }
    void add_capacity(std::int64_t tokens) noexcept { limit_.capacity += tokens; }
    void advance(std::int64_t time);

  private:
    limit limit_;
    double used_ = 0;
    std::int64_t time_ = 0;
};

/// An execution of a call. A server that is read-only may only deny, and the call goes elsewhere.
struct execution {
    std::size_t account;
    std::int64_t granted;
    std::int64_t clock; ///< of the server
    bool has_effect;    ///< it is a grant, a charge or a refund
};

/// Calls without an identity, on one key.
struct totals {
    std::int64_t executed = 0;
    std::int64_t granted = 0;
};

class ledger {
  public:
    /// The smallest cost of a call with an identity.
    static constexpr std::int64_t first_cost = 1'000'000;

    ledger(machine& of, std::vector<limit> limits, std::size_t keys)
        : machine_(of), limits_(std::move(limits)), totals_(limits_.size() * keys), keys_(keys) {}

    [[nodiscard]] std::size_t open_account(std::size_t policy);
    [[nodiscard]] std::size_t accounts() const noexcept { return balances_.size(); }

    /// A server executes a call. A call has one effect. With an id it may be made again, and has
    /// one effect on each account: a server that loses a state loses the records of its calls, too.
    void record(std::size_t account, std::size_t policy, std::size_t key,
                const core::call_request& request, const decision& made, bool has_effect,
                bool has_id);

    /// A server's clock has come to this time: the quota has returned until then.
    void advance(std::size_t account, std::int64_t time) { balances_.at(account).advance(time); }

    [[nodiscard]] std::span<const execution> of(std::int64_t cost) const;
    [[nodiscard]] const totals& of(std::size_t policy, std::size_t key) const {
        return totals_[policy * keys_ + key];
    }
    [[nodiscard]] const limit& limit_of(std::size_t policy) const { return limits_[policy]; }

  private:
    machine& machine_;
    std::vector<limit> limits_;
    std::vector<balance> balances_;
    std::vector<std::vector<execution>> executions_; ///< of each call
    std::vector<totals> totals_;
    std::size_t keys_;
};

} // namespace colimit::simulation
