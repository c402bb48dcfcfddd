// SPDX-License-Identifier: BSL-1.0
//
// A policy: a name and 1 to 8 rules that are checked together. It is validated and encoded once, by
// its constructor; then it is immutable, and a copy costs one reference count.

#pragma once

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
struct access;
struct policy_data;

/// Options of a policy, set by the members of `policy`.
struct policy_options {
    std::int64_t prevent_duplicate = 0; ///< microseconds; 0: off
    bool shadow = false;
    bool has_failure_mode = false;
    failure_mode on_failure = failure_mode::local;
    colimit::storage storage = storage::per_key;
    bool has_prefix = false;
    inline_name prefix{};
    bool has_leases = false;
    std::int64_t leases = 0; ///< microseconds
};
} // namespace detail

/// A named set of rules. All of them must allow a call, and a denied call charges none of them.
///
/// The store finds the state by the names of the policy and its rules: two policies of one name
/// share their counters, and a policy with changed numbers continues with the existing state.
///
/// @par Errors
/// The constructors throw `colimit::error` with `errc::invalid_policy`; `what()` names the policy,
/// the rule and the reason.
///
/// @par Threads
/// Immutable: one policy may be used from all threads.
class policy {
  public:
    /// @param name 1 to 64 characters of `[A-Za-z0-9._-]`.
    template<std::same_as<rule>... Rules>
        requires(sizeof...(Rules) >= 1)
    explicit policy(std::string_view name, const Rules&... rules)
        : policy(name, std::span<const rule>{std::initializer_list<rule>{rules...}}) {}

    policy(std::string_view name, std::span<const rule> rules);

    /// Converts a rule, or 1 to 8 rules that are checked together: a `rules`, the result of
    /// `parse_rules`, or any other contiguous range. So every verb takes `gcra(5, 1s)` as a policy.
    ///
    /// The policy's name is the rule's text, with `/` written as `-`, spaces as `_`, `+` and `:` as
    /// `.`; the texts of several rules are joined with `..`. A text of more than 64 characters is
    /// truncated and ends with a digest of all of it, as does the text of several rules of which
    /// one is named. A second rule of an algorithm without a name is called `gcra_2`, and so on. A
    /// rule whose numbers are changed starts afresh, because its text is a different name: make a
    /// policy with a name where that matters.
    ///
    /// Each thread keeps up to 64 such policies, so a repeated conversion finds the policy that it
    /// made before: about 50 ns, without an allocation. They are in a table of 32 pairs by a hash
    /// of the rules, so of three in one pair only the last two are kept. A new policy is validated
    /// and encoded, which takes microseconds: with more than a few rules, make the policies once.
    policy(const rule& single) // NOLINT(google-explicit-constructor): allow(key, gcra(5, 1s))
        : policy(std::span<const rule>{&single, 1}, unnamed{}) {}
    template<class Rules>
        requires(std::convertible_to<const Rules&, std::span<const rule>>)
    policy(const Rules& several) // NOLINT(google-explicit-constructor): allow(key, rules{...})
        : policy(std::span<const rule>{several}, unnamed{}) {}

    /// Returns a copy that denies a second call for a key within `period` of a granted one, however
    /// many tokens are left: for double clicks and messages that are delivered twice. 1 us to 366
    /// days; 0 disables it. It does not count as one of the rules, always costs 1 and is not
    /// refunded.
    template<class Rep, class Period>
    [[nodiscard]] policy prevent_duplicate(std::chrono::duration<Rep, Period> period) const {
        auto options = this->options();
        options.prevent_duplicate = detail::whole_microseconds(period);
        return with(options);
    }

    /// Returns a copy that is evaluated, charged and reported, but never denies: see
    /// `rule::shadow`.
    [[nodiscard]] policy shadow(bool on = true) const {
        auto options = this->options();
        options.shadow = on;
        return with(options);
    }

    /// Returns a copy with this failure mode instead of `config::on_failure`.
    /// @throws colimit::error with `errc::invalid_policy` for `allow` and `local` if a rule is
    /// `concurrent`: only the server knows the holders of its slots
    [[nodiscard]] policy with_failure_mode(failure_mode mode) const {
        auto options = this->options();
        options.on_failure = mode;
        options.has_failure_mode = true;
        return with(options);
    }

    /// Returns a copy with this storage layout in Redis; `storage` documents the trade-offs of
    /// `storage::shared_hash`.
    /// @throws colimit::error with `errc::invalid_policy` for `storage::shared_hash` if a rule is a
    /// sliding log, or counts distinct members or holders of slots
    [[nodiscard]] policy with_storage(storage layout) const {
        auto options = this->options();
        options.storage = layout;
        return with(options);
    }

    /// Returns a copy whose keys begin with this prefix, 1 to 64 of `[A-Za-z0-9._-]`. Not for use
    /// with `config::prefix` itself: in process those would be two states, on a server one.
    [[nodiscard]] policy with_prefix(std::string_view prefix) const {
        auto options = this->options();
        options.prefix = detail::inline_name{prefix};
        options.has_prefix = true;
        return with(options);
    }

    /// Returns a copy with leases: a limiter with a server may take tokens for several calls of a
    /// key at once, and decides those calls without asking the server until `length` has passed:
    /// `decision_source::lease`. What it has not spent by then lapses. Only keys with several calls
    /// within `length` benefit.
    ///
    /// The limit stays exact, as tokens are taken before they are spent. A continuous bucket repays
    /// them meanwhile, so its burst pays for it: under the copy every call, leased or not, in every
    /// process and store, is decided with a capacity that is lower by what the rule refills within
    /// `length`, rounded up to a token. That capacity is `decision::limit`. Other rules keep their
    /// limits; their leases end with the window, or with the next refill of a stepwise or aligned
    /// bucket.
    ///
    /// `block`, `reset` and lower limits by other processes take effect when leases end, those by
    /// this limiter at once. Other verbs leave what is held, and ask the server.
    /// `config::advanced.max_leases` bounds the number of leases.
    ///
    /// Processes whose policies of one name have leases of different lengths, or leases and none,
    /// may together admit as much more as the rule refills within the difference. So change the
    /// length of a policy that is in use in two steps, first to the longer one of both with
    /// `config::advanced.max_leases = 0`.
    ///
    /// @param length 1 ms to 1 h, at most a tenth of the time in which each bucket fills, and at
    /// most the period of each stepwise or aligned bucket and each window
    /// @throws colimit::error with `errc::invalid_policy` for other lengths, for sliding logs,
    /// `distinct`, `concurrent` and `prevent_duplicate`, and for a bucket that would have no token
    template<class Rep, class Period>
    [[nodiscard]] policy with_leases(std::chrono::duration<Rep, Period> length) const {
        auto options = this->options();
        options.leases = detail::whole_microseconds(length);
        options.has_leases = true;
        return with(options);
    }

    /// Returns the length of leases; 0 without leases.
    [[nodiscard]] std::chrono::microseconds leases() const noexcept {
        return std::chrono::microseconds{options().leases};
    }

    [[nodiscard]] std::string_view name() const noexcept;
    [[nodiscard]] std::span<const rule> rules() const noexcept;
    [[nodiscard]] std::size_t size() const noexcept { return rules().size(); }
    [[nodiscard]] const rule& operator[](std::size_t i) const noexcept { return rules()[i]; }

    /// Compares names, rules and options: equal policies are interchangeable.
    friend bool operator==(const policy& a, const policy& b) noexcept;

  private:
    friend struct detail::access;

    struct unnamed {};
    policy(std::span<const rule> rules, unnamed);

    [[nodiscard]] const detail::policy_options& options() const noexcept;
    [[nodiscard]] policy with(const detail::policy_options& options) const;

    std::shared_ptr<const detail::policy_data> data_;
};

} // namespace colimit
