// SPDX-License-Identifier: BSL-1.0
//
// The options that say what limits a key: rules in the command line, or a policy of a file.

#pragma once

#include <colimit/policy.hpp>
#include <colimit/policy_document.hpp>
#include <colimit/rule.hpp>

#include <CLI/CLI.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tool {

/// Reads a document of policies.
/// @throws std::runtime_error with one sentence that names the file
[[nodiscard]] colimit::policy_document read_document(const std::string& path);

/// @param instead what is possible: other commands for a key, or other rules
/// @throws std::runtime_error if a rule is `concurrent`: its slots are held, not charged
void require_no_places(std::span<const colimit::rule> rules, const std::string& instead);

/// @param source of the calls, which has no members: `load`, `a log`
/// @throws std::runtime_error if a rule is `distinct`
void require_no_members(std::span<const colimit::rule> rules, const std::string& source);

/// A key, and the policy that limits it.
struct limited_key {
    colimit::policy limit;
    std::string key;
};

/// A key under several policies.
struct limited_keys {
    struct other {
        std::string policy;
        std::string form; ///< of its keys: `ip=ADDRESS;route=/login`
    };
    std::vector<limited_key> all;
    std::vector<other> others; ///< policies that have keys of another form
};

struct policy_options {
    std::vector<std::string> rules; ///< texts of `parse_rules`
    std::string file;               ///< a document of policies
    std::string name;               ///< a policy of the file, or of the rules
    bool is_packed = false;

    /// Declares all but `--packed`.
    void declare(CLI::App& app);
    void declare_packed(CLI::App& app);

    /// Returns whether there is any of the options. Without rules and a file, `policy` refuses it.
    [[nodiscard]] bool is_given() const noexcept {
        return !rules.empty() || !file.empty() || !name.empty() || is_packed;
    }
    /// Returns the rules of `--rule`, in their order.
    /// @throws colimit::error if a text is not valid
    [[nodiscard]] std::vector<colimit::rule> parsed_rules() const;
    /// Returns the policy, which ends with an error if the server does not answer.
    /// @throws std::runtime_error with one sentence if there is none, or it is not valid
    [[nodiscard]] colimit::policy policy() const { return policy_in(document()); }
    /// As `policy`, of a document that was read before: a pipe can be read once.
    [[nodiscard]] colimit::policy
    policy_in(const std::optional<colimit::policy_document>& read) const {
        return policies_of(read, true).front();
    }
    /// As `policy`; without `--policy` all policies of the file.
    [[nodiscard]] std::vector<colimit::policy> policies() const {
        return policies_of(document(), false);
    }
    /// Returns the policy, and the key under which a service counts it: `service_key`.
    [[nodiscard]] limited_key limited(const std::string& key) const;
    /// As `limited`; without `--policy` for all policies of the file that have keys of this form.
    /// @throws other_form if none has
    [[nodiscard]] limited_keys all_limited(const std::string& key) const;
    /// Returns the document of the file; nullopt if there are rules instead.
    /// @throws std::runtime_error if there is neither, or both
    [[nodiscard]] std::optional<colimit::policy_document> document() const;

  private:
    [[nodiscard]] std::vector<colimit::policy>
    policies_of(const std::optional<colimit::policy_document>& read, bool is_one) const;
};

} // namespace tool
