// SPDX-License-Identifier: BSL-1.0
//
// A policy: a name and 1 to 8 rules that are checked together. It is validated and encoded once,
// when it is made; afterwards it is immutable, and a copy costs one reference count.

#ifndef COLIMIT_POLICY_HPP
#define COLIMIT_POLICY_HPP

#include <colimit/failure_mode.hpp>
#include <colimit/rule.hpp>
#include <colimit/storage.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>

namespace colimit {

namespace detail {
struct policy_data;

/// What a policy has besides its rules; set by the members of `policy`.
struct policy_options {
    std::int64_t prevent_duplicate = 0; ///< microseconds; 0: off
    bool shadow = false;
    bool has_failure_mode = false;
    failure_mode on_failure = failure_mode::local;
    colimit::storage storage = storage::per_key;
    bool has_prefix = false;
    inline_name prefix{};
};
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
    /// `/` written as `-`, spaces as `_`, `+` and `:` as `.`; a text above 64 characters is cut,
    /// and ends with a digest of all of it.
    policy(const rule& single); // NOLINT(google-explicit-constructor): allow(key, gcra(5, 1s))

    /// A copy that refuses a second call for a key within `period` of a granted one, however many
    /// tokens are left: double clicks, and messages that are delivered twice. 1 us to 366 days; 0
    /// switches it off. It does not count as one of the rules, always costs 1 and is not refunded.
    template<class Rep, class Period>
    [[nodiscard]] policy prevent_duplicate(std::chrono::duration<Rep, Period> period) const {
        auto options = this->options();
        options.prevent_duplicate = detail::whole_microseconds(period);
        return with(options);
    }

    /// A copy that is evaluated, charged and reported, but refuses nobody: see `rule::shadow`.
    [[nodiscard]] policy shadow(bool on = true) const {
        auto options = this->options();
        options.shadow = on;
        return with(options);
    }

    /// A copy with a failure mode of its own instead of `config::on_failure`.
    [[nodiscard]] policy with_failure_mode(failure_mode mode) const {
        auto options = this->options();
        options.on_failure = mode;
        options.has_failure_mode = true;
        return with(options);
    }

    /// A copy whose state lies in Redis as told: see `storage` for what `storage::shared_hash`
    /// gains and costs.
    /// @throws colimit::error errc::invalid_policy for `storage::shared_hash` where a rule is a
    /// sliding log or
    ///         counts distinct members
    [[nodiscard]] policy with_storage(storage layout) const {
        auto options = this->options();
        options.storage = layout;
        return with(options);
    }

    /// A copy whose keys begin with a prefix of its own instead of `config::prefix`: 1 to 64
    /// characters of `[A-Za-z0-9_.-]`.
    [[nodiscard]] policy with_prefix(std::string_view prefix) const {
        auto options = this->options();
        options.prefix = detail::inline_name{prefix};
        options.has_prefix = true;
        return with(options);
    }

    [[nodiscard]] std::string_view name() const noexcept;
    [[nodiscard]] const detail::policy_options& options() const noexcept;
    [[nodiscard]] std::span<const rule> rules() const noexcept;
    [[nodiscard]] std::size_t size() const noexcept { return rules().size(); }
    [[nodiscard]] const rule& operator[](std::size_t i) const noexcept { return rules()[i]; }

    /// Equal names, rules and options: nothing would change if one took the other's place.
    friend bool operator==(const policy& a, const policy& b) noexcept;

    /// What the stores read: for the library itself.
    [[nodiscard]] const std::shared_ptr<const detail::policy_data>& data() const noexcept {
        return data_;
    }

  private:
    [[nodiscard]] policy with(const detail::policy_options& options) const;

    std::shared_ptr<const detail::policy_data> data_;
};

} // namespace colimit

#endif
