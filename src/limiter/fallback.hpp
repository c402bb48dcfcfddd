// SPDX-License-Identifier: BSL-1.0
//
// The failure modes: decisions instead of a server that does not reply.
//
//   start of a call -> keep: the digest of the member, the policy, the mode
//   its error       -> answer: the store in this process, or a fixed decision
//
// When a call fails, its arguments are not valid any more, so each call keeps what the local store
// will need: digests, which that store uses as keys. They are keyed, so that clients cannot craft
// two keys with one digest.

#pragma once

#include <colimit/config.hpp>
#include <colimit/detail/operation.hpp>
#include <colimit/policy.hpp>
#include <hash/siphash.hpp>
#include <limiter/reservation.hpp>
#include <memory/bloom_filters.hpp>
#include <memory/store.hpp>
#include <policy/policy_data.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace colimit::detail {

class fallback {
  public:
    explicit fallback(const config& settings);

    /// Returns whether failure modes apply to this error: see failure_mode.
    [[nodiscard]] static bool may_decide(error_code why) noexcept;

    /// Stores the data for the failure mode. Called before a call begins: its member is valid only
    /// until then.
    void keep(operation& op, const policy_pointer& policy) const;
    /// Like `keep`, for `op.checks`, which have one mode: the strictest of their policies',
    /// without those in shadow mode unless all are.
    /// @param always even if the mode needs no data
    void keep_checks(operation& op, bool always) const;

    /// Applies the failure mode to a call that ended with an error: if the mode decides it, it has
    /// a result and no error afterwards.
    void answer(operation& op) noexcept;

    /// Releases a reservation of the local store.
    void unreserve(const reservation& entry, std::int64_t cost, const decision& reserved) noexcept;

  private:
    [[nodiscard]] failure_mode mode_of(const policy_data& p) const noexcept {
        return p.options.has_failure_mode ? p.options.on_failure : mode_;
    }
    /// Returns the mode of a single call.
    [[nodiscard]] failure_mode mode_for(const operation& op, const policy_data& p) const noexcept;
    [[nodiscard]] memory::store& store();
    [[nodiscard]] bool is_scaled(const policy_data& p) const noexcept;
    [[nodiscard]] const policy& scaled_of(const policy_data& whole);
    /// Returns false if the error stands.
    [[nodiscard]] bool answer_seen(operation& op);
    void answer_single(operation& op);
    void answer_together(operation& op);
    void answer_alone(const policy_data& whole, std::string_view key, const call_request& request,
                      decision& out);
    void cap_to_full_limit(const policy_data& whole, const call_request& request,
                           decision& d) const noexcept;
    void decide_statically(operation& op) const noexcept;

    failure_mode mode_;
    fraction part_;
    std::size_t states_;
    std::chrono::microseconds ask_again_;
    /// Constructed on first use, and kept.
    std::unique_ptr<memory::store> store_;
    memory::bloom_filters filters_;
    /// Scaled policies by the identities of the original ones.
    std::map<std::string, policy, std::less<>> scaled_;
};

} // namespace colimit::detail
