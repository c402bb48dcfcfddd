// SPDX-License-Identifier: BSL-1.0
//
// The hash slot in which a limiter keeps the states of a key.

#pragma once

#include <hash/fnv1a.hpp>
#include <redis/protocol/hash_slot.hpp>
#include <redis/protocol/key.hpp>

#include <cstddef>
#include <string_view>

namespace colimit::test {

[[nodiscard]] inline std::size_t slot_of_key(std::string_view key) {
    return redis::hash_slot(redis::tag(redis::tag_of(hash::fnv1a_64(key))));
}

} // namespace colimit::test
