// SPDX-License-Identifier: BSL-1.0
//
// Calls for two keys under a policy with leases, and the tokens that their callers were granted.

#pragma once

#include <colimit/limiter.hpp>
#include <support/coroutine_run.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

namespace colimit::test {

/// A number for each of the two keys.
using of_keys = std::array<std::int64_t, 2>;

/// A bucket that repays nothing, and whose leases do not end, while a test runs.
[[nodiscard]] const policy& leased_policy();

/// Returns how many tokens of a key were used when the store or a lease decided.
[[nodiscard]] std::int64_t used_tokens(const decision& d);

/// How a call has ended.
struct leased_call {
    std::int64_t cost = 0;
    int completions = 0;
    error_code ec;
    decision result;

    [[nodiscard]] bool was_decided_by(decision_source s) const { return !ec && result.source == s; }
};

class lease_calls {
  public:
    /// @param number of these keys: equal numbers are equal keys
    lease_calls(limiter& by, int number);

    /// Makes calls with these costs, in one event-loop iteration and so in one command, and waits
    /// until they have ended. A key whose cost is 0 has none.
    asio::awaitable<void> make(of_keys costs);

    /// Returns how many tokens the server has charged to each key.
    /// @param look a limiter that asks the server itself
    asio::awaitable<of_keys> charged(limiter& look) const;

    [[nodiscard]] const leased_call& last(std::size_t key) const { return *last_[key]; }
    /// Returns the tokens of calls that the store has allowed, and those of calls that leases have.
    [[nodiscard]] of_keys by_store() const { return granted_by(decision_source::store); }
    [[nodiscard]] of_keys by_lease() const { return granted_by(decision_source::lease); }
    /// Returns whether each call completed once, and none with another result than its tokens, all
    /// of them, or an error.
    [[nodiscard]] bool are_sound() const;

  private:
    struct made {
        std::size_t key;
        std::shared_ptr<leased_call> call;
    };

    [[nodiscard]] of_keys granted_by(decision_source s) const;

    limiter& limiter_;
    std::array<std::string, 2> keys_;
    std::deque<made> all_;
    std::array<std::shared_ptr<leased_call>, 2> last_;
};

} // namespace colimit::test
