// SPDX-License-Identifier: BSL-1.0
//
// A policy: a name and 1 to 8 rules that are checked together. It is validated and encoded once,
// when it is made; afterwards it is immutable, and a copy costs one reference count.

#ifndef COLIMIT_POLICY_HPP
#define COLIMIT_POLICY_HPP

#include <colimit/rule.hpp>

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>

namespace colimit {

namespace detail {
struct policy_data;
} // namespace detail

/// A named set of rules. All of them must allow a call, and a refused call charges none of them.
///
/// The name and the rules' names find the state in the store: two policies of one name share their
/// counters, and a policy whose numbers changed goes on with the state that is there.
///
/// @par Errors
/// The constructors throw `colimit::error` with `errc::invalid_policy`; `what()` names the policy,
/// the rule and the reason.
///
/// @par Threads
/// Immutable: one policy may be used from all threads.
class policy {
  public:
    /// @param name 1 to 64 characters of `[A-Za-z0-9_.-]`.
    template<std::same_as<rule>... Rules>
        requires(sizeof...(Rules) >= 1)
    explicit policy(std::string_view name, const Rules&... rules)
        : policy(name, std::span<const rule>{std::initializer_list<rule>{rules...}}) {}

    policy(std::string_view name, std::span<const rule> rules);

    /// A bare rule, for the first line somebody writes: the policy's name is the rule's text, with
    /// `/` written as `-` and spaces as `_`; a text above 64 characters is cut, and ends with a
    /// digest of all of it.
    policy(const rule& single); // NOLINT(google-explicit-constructor): allow(key, gcra(5, 1s))

    [[nodiscard]] std::string_view name() const noexcept;
    [[nodiscard]] std::span<const rule> rules() const noexcept;
    [[nodiscard]] std::size_t size() const noexcept { return rules().size(); }
    [[nodiscard]] const rule& operator[](std::size_t i) const noexcept { return rules()[i]; }

    /// What the stores read: for the library itself.
    [[nodiscard]] const std::shared_ptr<const detail::policy_data>& data() const noexcept {
        return data_;
    }

  private:
    std::shared_ptr<const detail::policy_data> data_;
};

} // namespace colimit

#endif
