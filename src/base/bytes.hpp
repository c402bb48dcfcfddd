// SPDX-License-Identifier: BSL-1.0
//
// Numbers as bytes in little-endian order and as decimal digits; bytes as hexadecimal digits; the
// classes of ASCII characters, whatever the locale.

#pragma once

#include <array>
#include <bit>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace colimit::detail {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they are");

template<class T>
void append_number(std::string& out, T value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    out.append(bytes, sizeof value);
}

/// Appends a whole number of up to 53 bits as a double, the only type of numbers in Lua.
inline void append_double(std::string& out, std::int64_t value) {
    append_number(out, static_cast<double>(value));
}

template<class T>
[[nodiscard]] T read_number(const char* at) noexcept {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

/// The decimal digits of a whole number, without memory from the heap.
class decimal {
  public:
    explicit decimal(std::integral auto value) noexcept
        : end_(std::to_chars(digits_, digits_ + sizeof digits_, value).ptr) {}
    decimal(const decimal&) = delete;
    decimal& operator=(const decimal&) = delete;

    operator std::string_view() const noexcept { return {digits_, end_}; } // NOLINT: it is a text

  private:
    char digits_[24];
    const char* end_;
};

/// Returns the number that was written as `decimal`.
[[nodiscard]] inline std::uint32_t number_of(std::string_view digits) noexcept {
    auto number = std::uint32_t{0};
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return number;
}

/// Returns the number that is written as `digits`, without a sign, a needless zero or anything
/// else; nullopt if it is greater than `most`.
[[nodiscard]] inline std::optional<std::uint64_t> read_decimal(std::string_view digits,
                                                               std::uint64_t most) noexcept {
    const auto* const begin = digits.data();
    const auto* const end = begin + digits.size();
    auto value = std::uint64_t{0};
    const auto read = std::from_chars(begin, end, value);
    if (read.ec != std::errc{} || read.ptr != end || value > most ||
        (digits.size() > 1 && digits.front() == '0'))
        return std::nullopt;
    return value;
}

[[nodiscard]] constexpr bool is_digit(char c) noexcept {
    return c >= '0' && c <= '9';
}

[[nodiscard]] constexpr char lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

[[nodiscard]] constexpr char upper(char c) noexcept {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

inline constexpr std::string_view hex_digits = "0123456789abcdef";

/// Returns the last `Size` hexadecimal digits of a number.
template<std::size_t Size>
[[nodiscard]] constexpr std::array<char, Size> hex_of(std::uint64_t value) noexcept {
    auto hex = std::array<char, Size>{};
    for (auto i = Size; i != 0; value >>= 4U)
        hex[--i] = hex_digits[value & 15U];
    return hex;
}

/// Returns two hexadecimal digits per byte.
template<std::size_t Size>
[[nodiscard]] constexpr std::array<char, 2 * Size>
hex_of(const std::array<unsigned char, Size>& bytes) noexcept {
    auto hex = std::array<char, 2 * Size>{};
    for (std::size_t i = 0; i < Size; ++i) {
        hex[2 * i] = hex_digits[bytes[i] >> 4U];
        hex[2 * i + 1] = hex_digits[bytes[i] & 15U];
    }
    return hex;
}

} // namespace colimit::detail
