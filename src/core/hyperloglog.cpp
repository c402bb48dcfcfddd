// SPDX-License-Identifier: BSL-1.0
//
// Registers and their estimate. The order of the floating point operations determines how a count
// between two integers is rounded.

#include <core/hyperloglog.hpp>
#include <hash/murmur_hash.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <new>
#include <utility>

namespace colimit::core {
namespace {

constexpr std::uint64_t redis_seed = 0xadc83b19;

/// 1 / (2 ln 2), the limit of the correction for infinitely many registers.
constexpr double alpha = 0.721347520444481703680;

/// Ertl's sigma, the part of registers without a member: x + sum over k of x^(2^k) * 2^(k-1).
[[nodiscard]] double sigma(double x) noexcept {
    if (x == 1.0)
        return std::numeric_limits<double>::infinity();
    auto weight = 1.0;
    auto sum = x;
    for (auto before = -1.0; sum != before;) {
        x *= x;
        before = sum;
        sum += x * weight;
        weight += weight;
    }
    return sum;
}

/// Ertl's tau, the part of full registers: (1 - x - sum over k of (1 - x^(2^-k))^2 * 2^-k) / 3.
[[nodiscard]] double tau(double x) noexcept {
    auto weight = 1.0;
    auto sum = 1 - x;
    for (auto before = -1.0; sum != before;) {
        x = std::sqrt(x);
        before = sum;
        weight *= 0.5;
        sum -= (1 - x) * (1 - x) * weight;
    }
    return sum / 3;
}

} // namespace

hyperloglog::register_update hyperloglog::update_of(std::string_view member) noexcept {
    const auto hash = hash::murmur_hash(member, redis_seed);
    // A 1 after the last bit bounds the search for the first 1.
    const auto rest = (hash >> index_bits) | (std::uint64_t{1} << (64 - index_bits));
    return {static_cast<std::uint32_t>(hash % registers),
            static_cast<std::uint32_t>(std::countr_zero(rest) + 1)};
}

std::int64_t hyperloglog::estimate(const histogram& values) noexcept {
    constexpr auto m = static_cast<double>(registers);
    auto z = m * tau((m - values[max_value]) / m);
    for (auto j = max_value - 1; j >= 1; --j) {
        z += values[j];
        z *= 0.5;
    }
    z += m * sigma(values[0] / m);
    return std::llround(alpha * m * m / z);
}
std::int64_t hyperloglog::count_with(register_update u) const noexcept {
    auto all = values();
    if (const auto old = value_at(u.index); old < u.value) {
        --all[old];
        ++all[u.value];
    }
    return estimate(all);
}

hyperloglog::histogram hyperloglog::values() const noexcept {
    if (dense_)
        return dense_->values;
    auto all = histogram{};
    all[0] = static_cast<std::uint16_t>(registers - size_);
    for (std::uint16_t i = 0; i < size_; ++i)
        ++all[listed()[i] % (1U << value_bits)];
    return all;
}

/// Returns the position of the register in the list, or where it must be inserted.
std::uint16_t hyperloglog::find(std::uint32_t index) const noexcept {
    const auto* first = listed();
    return static_cast<std::uint16_t>(std::lower_bound(first, first + size_, index << value_bits) -
                                      first);
}

std::uint32_t hyperloglog::value_at(std::uint32_t index) const noexcept {
    BOOST_ASSERT(index < registers);
    if (dense_)
        return dense_->value(index);
    const auto i = find(index);
    const auto found = i < size_ && listed()[i] >> value_bits == index;
    return found ? listed()[i] % (1U << value_bits) : 0;
}

/// Returns a size that is half as much again, in multiples of 16 entries, a cache line.
std::uint16_t hyperloglog::grown(std::uint16_t room) noexcept {
    return static_cast<std::uint16_t>(
        std::min<std::uint32_t>((room * 3U / 2U + 16U) / 16U * 16U, max_listed));
}
std::size_t hyperloglog::bytes_with(register_update u) const noexcept {
    if (!needs_room(u))
        return bytes();
    return size_ == max_listed ? sizeof(hyperloglog) + sizeof(dense) : list_bytes(grown(room_));
}
bool hyperloglog::make_room_for(register_update u) noexcept {
    if (!needs_room(u))
        return true;
    if (size_ == max_listed)
        return become_dense();
    const auto room = grown(room_);
    auto list = std::unique_ptr<std::uint32_t[]>{new (std::nothrow) std::uint32_t[room]}; // NOLINT
    if (!list)
        return false;
    std::copy_n(listed(), size_, list.get());
    list_ = std::move(list);
    room_ = room;
    return true;
}

bool hyperloglog::become_dense() noexcept {
    auto made = std::unique_ptr<dense>{new (std::nothrow) dense};
    if (!made)
        return false;
    made->values = values();
    for (std::uint16_t i = 0; i < size_; ++i)
        made->set(listed()[i] >> value_bits, listed()[i] % (1U << value_bits));
    dense_ = std::move(made);
    list_.reset();
    return true;
}

bool hyperloglog::add(register_update u) noexcept {
    BOOST_ASSERT(u.value >= 1 && u.value <= max_value);
    const auto old = value_at(u.index);
    if (old >= u.value || !make_room_for(u))
        return false;
    if (!dense_) {
        insert(u);
        return true;
    }
    dense_->set(u.index, u.value);
    --dense_->values[old];
    ++dense_->values[u.value];
    return true;
}

void hyperloglog::clear() noexcept {
    dense_.reset();
    list_.reset();
    size_ = 0;
    room_ = inline_room;
}

void hyperloglog::insert(register_update u) noexcept {
    auto* first = listed();
    const auto i = find(u.index);
    if (i == size_ || first[i] >> value_bits != u.index) {
        std::copy_backward(first + i, first + size_, first + size_ + 1);
        ++size_;
    }
    first[i] = (u.index << value_bits) | u.value;
}

/// A register is in one byte, or in the end of one and the beginning of the next.
std::uint32_t hyperloglog::dense::value(std::uint32_t index) const noexcept {
    const auto bit = index * value_bits;
    const auto byte = bit / 8;
    const auto next = byte + 1 < bits.size() ? std::uint32_t{bits[byte + 1]} << 8U : 0U;
    return ((bits[byte] | next) >> (bit % 8)) % (1U << value_bits);
}

void hyperloglog::dense::set(std::uint32_t index, std::uint32_t value) noexcept {
    const auto bit = index * value_bits;
    const auto byte = bit / 8;
    const auto mask = ((1U << value_bits) - 1U) << (bit % 8);
    const auto moved = value << (bit % 8);
    bits[byte] = static_cast<std::uint8_t>((bits[byte] & ~mask) | (moved & 255U));
    if (mask > 255U)
        bits[byte + 1] = static_cast<std::uint8_t>((bits[byte + 1] & ~(mask >> 8U)) | moved >> 8U);
}

} // namespace colimit::core
