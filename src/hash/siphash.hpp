// SPDX-License-Identifier: BSL-1.0
//
// SipHash (Aumasson and Bernstein, 2012) with 128 bits of output: a short keyed hash, for which
// collisions cannot be constructed without its secret. The store keeps these 128 bits instead of a
// key, so that keys of any length cost the same; among n keys two have the same digest with a
// probability below n^2 / 2^129.

#pragma once

#include <base/bytes.hpp>
#include <colimit/detail/digest.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace colimit::hash {

/// `Compressions` rounds for each 8 bytes and `Finalizations` rounds at the end: 2 and 4 in the
/// paper; 1 and 3 are usual for hash tables, at two thirds of the time.
template<int Compressions, int Finalizations>
class siphash {
  public:
    explicit constexpr siphash(const digest& secret) noexcept
        : v0_(0x736f6d6570736575 ^ secret.low), v1_(0x646f72616e646f6d ^ secret.high ^ 0xee),
          v2_(0x6c7967656e657261 ^ secret.low), v3_(0x7465646279746573 ^ secret.high) {}

    /// Adds eight bytes of the message, as a little-endian number.
    [[gnu::always_inline]] constexpr void add(std::uint64_t word) noexcept {
        v3_ ^= word;
        rounds<Compressions>();
        v0_ ^= word;
        length_ += sizeof word;
    }

    /// Adds the rest of the message, and returns its hash.
    [[nodiscard, gnu::always_inline]] digest finish(std::string_view rest) noexcept {
        const auto* at = rest.data();
        const auto tail = rest.size() % sizeof(std::uint64_t);
        for (const auto* end = at + rest.size() - tail; at != end; at += sizeof(std::uint64_t))
            add(load(at));
        add((static_cast<std::uint64_t>(length_ + tail) << 56) | load_tail(rest, tail));
        v2_ ^= 0xee;
        rounds<Finalizations>();
        const auto low = v0_ ^ v1_ ^ v2_ ^ v3_;
        v1_ ^= 0xdd;
        rounds<Finalizations>();
        return {low, v0_ ^ v1_ ^ v2_ ^ v3_};
    }

  private:
    static constexpr auto load = detail::read_number<std::uint64_t>;

    /// Returns the last `tail` bytes. If eight can be read, they are read at once and shifted: a
    /// loop over a few bytes costs as much as all the rounds.
    [[nodiscard]] static std::uint64_t load_tail(std::string_view rest, std::size_t tail) noexcept {
        if (tail == 0)
            return 0;
        if (rest.size() >= sizeof(std::uint64_t))
            return load(rest.data() + rest.size() - sizeof(std::uint64_t)) >> (64 - 8 * tail);
        std::uint64_t word = 0;
        for (std::size_t i = 0; i < tail; ++i)
            word |= std::uint64_t{static_cast<unsigned char>(rest[i])} << (8 * i);
        return word;
    }

    /// Inline: out of line a call in process takes 8 % longer.
    template<int Count>
    [[gnu::always_inline]] constexpr void rounds() noexcept {
        for (int i = 0; i < Count; ++i) {
            v0_ += v1_;
            v2_ += v3_;
            v1_ = std::rotl(v1_, 13) ^ v0_;
            v3_ = std::rotl(v3_, 16) ^ v2_;
            v0_ = std::rotl(v0_, 32);
            v2_ += v1_;
            v0_ += v3_;
            v1_ = std::rotl(v1_, 17) ^ v2_;
            v3_ = std::rotl(v3_, 21) ^ v0_;
            v2_ = std::rotl(v2_, 32);
        }
    }

    std::uint64_t v0_;
    std::uint64_t v1_;
    std::uint64_t v2_;
    std::uint64_t v3_;
    std::size_t length_ = 0;
};

/// Returns the digest of a policy name. Names are not chosen by clients, so the secret is a
/// constant, and a policy can be hashed once for all stores.
[[nodiscard]] inline digest name_digest(std::string_view policy_name) noexcept {
    return siphash<1, 3>{digest{}}.finish(policy_name);
}

/// The hash state at the beginning of all keys of a policy. The policy's name has a fixed length
/// here, so that name and key are unambiguous.
using key_hash = siphash<1, 3>;

[[nodiscard]] constexpr key_hash begin_key_hash(const digest& secret,
                                                const digest& policy) noexcept {
    auto hash = key_hash{secret};
    hash.add(policy.low);
    hash.add(policy.high);
    return hash;
}

/// Returns the digest of a key.
[[nodiscard, gnu::always_inline]] inline digest key_digest(const key_hash& begun,
                                                           std::string_view key) noexcept {
    auto hash = begun; // a local one stays in registers
    return hash.finish(key);
}

} // namespace colimit::hash
