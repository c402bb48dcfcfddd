// SPDX-License-Identifier: BSL-1.0
//
// A call that is sent as a transaction, and the words of its commands.

#pragma once

#include <base/bytes.hpp>
#include <core/evaluate.hpp>
#include <core/verb_traits.hpp>
#include <policy/policy_data.hpp>
#include <redis/protocol/resp.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace colimit::redis {

/// The name of a key on the server, without the family, which is inserted between the parts.
struct key_parts {
    std::string_view head;
    std::string_view tail;
};

struct transaction_call {
    const detail::policy_data& policy;
    const core::call_request& request;
    key_parts key;
    std::int64_t earliest = 0; ///< possible time of the server's clock
    std::int64_t latest = 0;   ///< possible time of the server's clock
    std::string_view origin;   ///< the first part of the names of its events,
    std::uint64_t member = 0;  ///< and the number of the first one
    std::int64_t tokens = 0;   ///< that it adds before it is decided
    std::int64_t grace = 0;    ///< how long other calls may be in flight
    std::int64_t min_ttl = 0;  ///< of logs, in milliseconds

    [[nodiscard]] const core::compiled_policy& rules() const noexcept { return policy.compiled; }
    /// Returns the tokens that must fit.
    [[nodiscard]] std::int64_t amount() const noexcept {
        return core::traits_of(request.verb).tests_amount ? request.at_least : 0;
    }
};

inline void append_integer(std::string& out, std::int64_t value) {
    resp::append_bulk(out, detail::decimal{value});
}

/// Appends a number directly after a text: `(`, which excludes the end of a range, or the origin of
/// a member.
void append_integer(std::string& out, std::string_view before, std::integral auto value) {
    const auto digits = detail::decimal{value};
    resp::append_bulk_header(out, before.size() + std::string_view{digits}.size());
    out.append(before).append(digits).append("\r\n");
}

/// Appends the name of the key of a family or, if a rule is given, of its own key in the family.
inline void append_name(std::string& out, const key_parts& key, std::string_view family,
                        std::string_view rule = {}) {
    const auto end = std::string_view{rule.empty() ? "" : ":"};
    resp::append_bulk_header(out, key.head.size() + family.size() + rule.size() + end.size() +
                                      key.tail.size());
    out.append(key.head).append(family).append(rule).append(end).append(key.tail).append("\r\n");
}

} // namespace colimit::redis
