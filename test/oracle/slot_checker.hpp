// SPDX-License-Identifier: BSL-1.0
//
// What processes with slots have recorded, and how it is judged, by plain arithmetic: no code of
// the library decides here.
//
// A process that finds its slot not lost has had it since the grant, as a lost slot is never
// regained. So it believed to have the place from the server's time of the grant until its clock
// just before it asked, for sure: what is reported is wrong however long it was halted in between.

#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace colimit::oracle {

struct slot_limit {
    std::string_view name;
    std::int64_t places;
    std::int64_t lease; ///< microseconds
};

inline constexpr auto slot_limits = std::array{
    slot_limit{"one", 1, 100'000},
    slot_limit{"two", 2, 200'000},
    slot_limit{"three", 3, 400'000},
};
inline constexpr auto longest_lease = slot_limits.back().lease;

/// Keys under each limit; all processes share them.
inline constexpr std::size_t slot_keys = 2;

/// The rules of slots, each of which a client may leave out.
enum class slot_flaw : std::uint8_t {
    none,
    check_then_add, ///< in two steps
    never_expires,  ///< the store counts holders whose lease has ended
    ignores_loss,   ///< a slot is never lost
    revives,        ///< a renewal after the end of the lease takes the place again
    from_arrival,   ///< a lease begins when its reply comes, not when the request is sent
    keeps_renewing, ///< also after the release, which is not sent
    forgets_token,  ///< tokens start again when all places are free
};

/// A slot of one key, from the server's time of its grant until the process last knew that it was
/// not lost, in microseconds of the clock that all processes of this machine have.
struct holding {
    std::int64_t granted;
    std::int64_t believed;
    std::uint64_t token;
};

/// Returns at how many grants more than `places` believed to have a place.
[[nodiscard]] std::int64_t crowded_grants(std::int64_t places, const std::vector<holding>& all);

/// Returns how many tokens are not larger than those of all earlier grants.
[[nodiscard]] std::int64_t wrong_tokens(std::vector<holding> all);

} // namespace colimit::oracle
