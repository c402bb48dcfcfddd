// SPDX-License-Identifier: BSL-1.0
//
// What a log is replayed against: rules for the client of each request; one policy of a document,
// with its keys; or a document whose routes decide which policies limit a request, and under which
// keys. Clients and keys are those of a service: an IPv6 client is a network.

#pragma once

#include <tool/replay/access_log.hpp>

#include <colimit/decision.hpp>
#include <colimit/policy.hpp>
#include <colimit/policy_document.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tool::replay {

/// Returns whether one of the words between these characters is an address, perhaps with its port.
[[nodiscard]] bool has_address(std::string_view text, std::string_view separators) noexcept;

/// Returns why a text with addresses is not a client; empty if it may be one. Lists, as proxies
/// write them, and texts with the port of a connection would be many clients.
[[nodiscard]] std::string_view key_problem(std::string_view key) noexcept;

/// One key of a request, and an index of `limits::policies`.
struct check {
    std::size_t policy;
    std::string key;
};

/// All checks of a request: it is allowed if all of them are. Empty: no policy limits it.
using call = std::vector<check>;

class limits {
  public:
    explicit limits(const colimit::policy& each);
    /// Applies the routes of the document.
    explicit limits(colimit::policy_document document);
    /// Applies one policy of a document to each request.
    /// @param has_requests false: the log has only clients, so the key is the client, unless the
    /// policy has one for all
    limits(colimit::policy_document document, std::string_view policy, bool has_requests);

    [[nodiscard]] const std::vector<colimit::policy>& policies() const noexcept {
        return policies_;
    }
    /// Returns false if the key of each request is its client.
    [[nodiscard]] bool has_keys() const noexcept { return document_.has_value(); }

    /// Returns the client of a request as keys have it: an address without its port, of IPv6 by its
    /// prefix. What is not an address is returned as it is.
    [[nodiscard]] std::string client_of(std::string_view written) const;

    /// Returns the rules of all policies, one after another, as text; `prevent_duplicate` is behind
    /// those of its policy. Those in shadow mode say that they deny here.
    [[nodiscard]] std::vector<std::string> rules() const;
    /// Returns the index in `rules()` of what has denied a call under a policy.
    [[nodiscard]] std::size_t denying_rule(std::size_t policy,
                                           const colimit::decision& d) const noexcept;

    /// With keys: returns the checks of a request, or the reason why its key is not known.
    struct call_reading {
        call checks;
        std::string_view problem;
    };
    [[nodiscard]] call_reading call_of(const log_line& line) const;

  private:
    void add(const colimit::policy& p);
    /// Returns the policies of a request; the one that was chosen, or those of its route.
    [[nodiscard]] std::span<const colimit::keyed_policy>
    policies_of(std::optional<std::size_t> route) const;

    std::vector<colimit::policy> policies_; ///< in the order of names
    std::vector<std::size_t> first_rule_;
    std::vector<std::string> rules_; ///< of all policies, without the names of these
    colimit::address_prefixes prefixes_;
    std::optional<colimit::policy_document> document_; ///< that makes the keys
    const colimit::keyed_policy* chosen_ = nullptr;    ///< of the document; nullptr: the routes
    bool has_requests_ = true;
};

} // namespace tool::replay
