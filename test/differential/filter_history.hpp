// SPDX-License-Identifier: BSL-1.0
//
// A random history of a Bloom filter: a few ids on small bitmaps, so that they often share bits, a
// clock that goes to where generations change, and others who meddle with the bitmaps.

#pragma once

#include <colimit/detail/call_request.hpp>
#include <core/bloom.hpp>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace colimit::differential {

enum class filter_event : std::uint8_t {
    ids,     ///< a batch looks them up
    plant,   ///< another client writes bytes to a bitmap
    intrude, ///< another client writes another type of value there
    remove,  ///< another client deletes a bitmap
};

struct filter_step {
    filter_event kind = filter_event::ids;
    std::int64_t now = 0; ///< of ids
    std::vector<std::string> ids = {};
    /// Of each id: `allow` records it, `peek` only asks, `inspect` counts the bits of its block.
    std::vector<detail::verb> verbs = {};
    std::size_t bitmap = 0; ///< that another client changes: its block and parity, see bitmap_at
    std::string bytes = {}; ///< of plant
};

struct filter_history {
    std::uint64_t seed = 0;
    bool server_clock = false;
    core::bloom_shape shape;
    std::vector<filter_step> steps;

    [[nodiscard]] std::size_t bitmaps() const noexcept { return 2 * std::size_t{shape.blocks}; }
    [[nodiscard]] std::size_t ids() const noexcept;
};

/// Where the bitmap of a block for even (0) or odd (1) generations stands in a row of all.
[[nodiscard]] constexpr std::size_t bitmap_at(std::size_t block, std::size_t parity) noexcept {
    return 2 * block + parity;
}

/// A history of about 60 ids.
/// @param server_clock the server's own clock, and generations of milliseconds
[[nodiscard]] filter_history random_filter_history(std::uint64_t seed, bool server_clock);

/// For people: the steps before `end`.
void print(std::ostream& out, const filter_history& h, std::size_t end);

} // namespace colimit::differential
