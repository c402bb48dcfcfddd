// SPDX-License-Identifier: BSL-1.0
//
// Where keys are if `config::advanced.hash_tags` has its default.

#pragma once

#include <redis/protocol/key_tags.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace colimit::test {

inline const redis::key_tags usual_tags{};

[[nodiscard]] inline std::size_t tag_of(std::string_view key) {
    return usual_tags.of(key);
}

[[nodiscard]] inline std::size_t shard_of(std::string_view key) {
    return usual_tags.shard_of(usual_tags.of(key));
}

[[nodiscard]] inline std::uint16_t slot_of(std::string_view key) {
    return usual_tags.slot(usual_tags.of(key));
}

} // namespace colimit::test
