// SPDX-License-Identifier: BSL-1.0
//
// Computes the digests of calls with ids. Users choose keys and ids, so it must not be possible to
// find two pairs with the same name of a record. The digests in records only tell when an id is
// used for another call by mistake: they are short.

#include <hash/sha256.hpp>
#include <policy/request_digest.hpp>

#include <cstring>

namespace colimit::detail {

std::array<unsigned char, 16> record_digest(std::string_view key, std::string_view id) noexcept {
    auto length = std::array<char, 8>{};
    const auto size = static_cast<std::uint64_t>(key.size());
    std::memcpy(length.data(), &size, length.size());
    return hash::sha256({{length.data(), length.size()}, key, id});
}

core::call_digests digests_of(const policy_data& p, const call_request& request) noexcept {
    auto made = core::call_digests{.policy = p.version};
    if (p.compiled.has_distinct) {
        const auto digest = hash::sha256(request.member);
        std::memcpy(&made.member, digest.data(), sizeof made.member);
    }
    return made;
}

} // namespace colimit::detail
