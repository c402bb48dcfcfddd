// SPDX-License-Identifier: BSL-1.0
//
// One check of one bucket, whose numbers the command states, as COLIMIT.ALLOW and CL.THROTTLE make
// it. The key is that of the command, and its value the one that the library writes for a policy
// with the rule `cell(...)`: the library shares it under the policy name `CL.THROTTLE`.

#pragma once

#include <colimit/decision.hpp>
#include <server_module/api.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace colimit::server_module {

/// The numbers of a bucket: `count` tokens return per period, and at most `capacity` fit.
struct bucket_numbers {
    std::int64_t capacity;
    std::int64_t count;
    std::int64_t period_us;

    friend bool operator==(const bucket_numbers&, const bucket_numbers&) = default;
};

/// Returns the period in microseconds: a whole number with a unit (us, ms, s, m, h, d), or without
/// one, in seconds. @throws refusal
[[nodiscard]] std::int64_t read_period(std::string_view text);

/// Makes an `allow` of the cost. A cost of 0 changes nothing. Sends an error, and returns nullopt,
/// if the key has a value that is not the state of such a bucket: it stays as it is.
/// @throws colimit::error if no rule has the numbers
[[nodiscard]] std::optional<decision> check_once(api::context* where, api::string* key,
                                                 const bucket_numbers& numbers, std::int64_t cost);

} // namespace colimit::server_module
