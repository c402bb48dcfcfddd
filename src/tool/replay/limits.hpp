// SPDX-License-Identifier: BSL-1.0
//
// What a log is replayed against: one policy for the client of each request, or a document of
// policies whose routes decide which policies limit a request, and under which keys.

#pragma once

#include <tool/replay/access_log.hpp>

#include <colimit/policy.hpp>
#include <colimit/policy_document.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tool::replay {

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
    explicit limits(colimit::policy_document document);

    [[nodiscard]] const std::vector<colimit::policy>& policies() const noexcept {
        return policies_;
    }
    /// Returns false if the key of each request is its client.
    [[nodiscard]] bool has_routes() const noexcept { return document_.has_value(); }

    /// Returns the rules of all policies, one after another, as text.
    [[nodiscard]] std::vector<std::string> rules() const;
    /// Returns the index in `rules()` of a policy's first rule.
    [[nodiscard]] std::size_t first_rule(std::size_t policy) const noexcept {
        return first_rule_[policy];
    }

    /// With routes: returns the checks of a request, or the reason why its key is not known.
    struct call_reading {
        call checks;
        std::string_view problem;
    };
    [[nodiscard]] call_reading call_of(const log_line& line) const;

  private:
    void add(const colimit::policy& p);

    std::vector<colimit::policy> policies_; ///< in the order of names
    std::vector<std::size_t> first_rule_;
    std::size_t rule_count_ = 0;
    std::optional<colimit::policy_document> document_;
};

} // namespace tool::replay
