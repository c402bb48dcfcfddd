// SPDX-License-Identifier: BSL-1.0
//
// What a server stores, to be compared with what it has after it read its AOF, and with what its
// replicas have.

#pragma once

#include <support/raw_client.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace colimit::test {

struct stored_key {
    std::string value;    ///< its type and all that it has, in an order of its own
    std::int64_t expires; ///< milliseconds since 1970
};

using dataset = std::map<std::string, stored_key>;

[[nodiscard]] dataset read_dataset(raw_client& server);

/// Compares all keys but those that expire within seconds, as they may be gone on one side.
/// @param now milliseconds since 1970
/// @return how many keys were compared
/// @throws std::runtime_error naming the first key that differs
std::size_t require_equal(const dataset& expected, const dataset& found, std::int64_t now,
                          std::string_view where);

} // namespace colimit::test
