// SPDX-License-Identifier: BSL-1.0
//
// Who answers in the place of a server that does not: the failure modes.
//
//   start of a call -> keep: digests of key and member, the policy, the mode
//   its error       -> answer: the store in this process, or nobody's decision
//
// A call fails when its arguments are long gone, so what the local store will need is kept with
// each call: digests, which are as good as the key itself for a store that no one else reads. They
// are keyed, so that nobody can craft two keys of one digest.

#ifndef COLIMIT_LIMITER_FALLBACK_HPP
#define COLIMIT_LIMITER_FALLBACK_HPP

#include <colimit/config.hpp>
#include <colimit/detail/operation.hpp>
#include <colimit/policy.hpp>
#include <hash/siphash.hpp>
#include <limiter/reservation.hpp>
#include <memory/bloom_filters.hpp>
#include <memory/store.hpp>
#include <policy/policy_data.hpp>

#include <array>
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

    /// Whether `keep` reads the digest.
    [[nodiscard]] bool keeps_key(verb v, const policy_data& p) const noexcept {
        return mode_for(v, p) == failure_mode::local;
    }
    /// Before a call begins: its key and member live no longer than that.
    void keep(operation& op, const hash::digest& key, const policy_pointer& policy) const;
    /// The same for `op.checks`, which have one mode together: the strictest of their policies'.
    /// @param always also where the mode needs nothing of them
    void keep_checks(operation& op, bool always) const;

    /// A call that ended with an error: where its mode decides, it has a result and no error
    /// afterwards.
    void answer(operation& op) noexcept;

    /// A place in line that was had here is given back.
    void unreserve(const reservation& place, std::int64_t cost, std::int64_t end) noexcept;

  private:
    using digest = std::array<std::uint64_t, 2>;

    [[nodiscard]] failure_mode mode_of(const policy_data& p) const noexcept;
    [[nodiscard]] failure_mode mode_for(verb v, const policy_data& p) const noexcept;
    [[nodiscard]] memory::store& store();
    [[nodiscard]] bool is_scaled(const policy_data& p) const noexcept;
    [[nodiscard]] const policy& scaled_of(const policy_data& whole);
    void answer_here(operation& op);
    void answer_seen(operation& op);
    void answer_together(operation& op);
    void answer_alone(const policy_data& whole, std::string_view key, const question& asked,
                      decision& out);
    void mend_never(const policy_data& whole, const question& asked, decision& d) const noexcept;
    void answer_for_nobody(operation& op) const noexcept;

    failure_mode mode_;
    fraction part_;
    std::size_t states_;
    std::chrono::microseconds ask_again_;
    /// Made when it is first needed, and kept.
    std::unique_ptr<memory::store> store_;
    memory::bloom_filters filters_;
    /// Scaled policies by the identities of the whole ones.
    std::map<std::string, policy, std::less<>> scaled_;
};

} // namespace colimit::detail

#endif
