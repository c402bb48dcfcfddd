// SPDX-License-Identifier: BSL-1.0
//
// A HyperLogLog: counts different members in little memory. It returns exactly the number of
// PFCOUNT, and changes exactly when PFADD reports a change.
//
//     hash of a member:  | 50 bits: the position of the first 1 | 14 bits: the register |
//
// A register keeps the largest position, 1 to 51, of the members that map to it; 0 means none.
// With 16,384 registers the standard error is about 0.8 %. Hash, seed, registers and estimator
// (since version 5) are documented in the comments of Redis's hyperloglog.c. The estimator is Otmar
// Ertl's: "New cardinality estimation algorithms for HyperLogLog sketches", arXiv:1702.01284,
// algorithms 5 and 6 and the improved raw estimator.
//
// Up to 1,536 used registers are a sorted list, 4 bytes each; the first ones are in the object
// itself, which is one cache line. More become 12 KiB of registers of 6 bits, and a histogram of
// their values, so that no call has to read all of them.
//
// It is Redis's own estimator so that both stores deny the same member. The estimate needs only how
// many registers have each value, which a dense sketch keeps up to date: a count takes the same
// time for any number of members.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace colimit::core {

class hyperloglog {
  public:
    /// The effect of a member: its register, and the lowest value that the register must have.
    struct register_update {
        std::uint32_t index;
        std::uint32_t value;
    };
    [[nodiscard]] static register_update update_of(std::string_view member) noexcept;

    hyperloglog() = default;
    hyperloglog(const hyperloglog&) = delete;
    hyperloglog& operator=(const hyperloglog&) = delete;
    ~hyperloglog() = default;

    [[nodiscard]] std::int64_t count() const noexcept {
        return size_ == 0 ? 0 : estimate(values());
    }
    /// Returns the count after the member were added.
    [[nodiscard]] std::int64_t count_with(register_update u) const noexcept;

    /// Allocates the memory to add the member. Returns false without an effect if it cannot.
    [[nodiscard]] bool make_room_for(register_update u) noexcept;
    /// Returns whether the sketch changed, which it does not without memory.
    bool add(register_update u) noexcept;

    void clear() noexcept;

    /// Returns the memory in use, including the object itself.
    [[nodiscard]] std::size_t bytes() const noexcept {
        return dense_ ? sizeof(hyperloglog) + sizeof(dense) : list_bytes(room_);
    }
    /// Returns the memory in use after the member has been added.
    [[nodiscard]] std::size_t bytes_with(register_update u) const noexcept;

  private:
    static constexpr std::uint32_t index_bits = 14;
    static constexpr std::uint32_t registers = 1U << index_bits;
    static constexpr std::uint32_t max_value = 64 - index_bits + 1;
    static constexpr std::uint32_t value_bits = 6;
    static constexpr std::uint16_t inline_room = 11;
    static constexpr std::uint16_t max_listed = 1'536;

    /// The number of registers with each value.
    using histogram = std::array<std::uint16_t, max_value + 1>;

    struct dense {
        std::array<std::uint8_t, registers * value_bits / 8> bits{};
        histogram values{};

        [[nodiscard]] std::uint32_t value(std::uint32_t index) const noexcept;
        void set(std::uint32_t index, std::uint32_t value) noexcept;
    };

    [[nodiscard]] static std::int64_t estimate(const histogram& values) noexcept;
    [[nodiscard]] static std::uint16_t grown(std::uint16_t room) noexcept;
    [[nodiscard]] static std::size_t list_bytes(std::uint16_t room) noexcept {
        return sizeof(hyperloglog) + (room > inline_room ? room * sizeof(std::uint32_t) : 0);
    }

    /// Returns the sorted list of registers, as index * 64 + value.
    [[nodiscard]] std::uint32_t* listed() noexcept { return list_ ? list_.get() : inline_.data(); }
    [[nodiscard]] const std::uint32_t* listed() const noexcept {
        return list_ ? list_.get() : inline_.data();
    }
    [[nodiscard]] std::uint16_t find(std::uint32_t index) const noexcept;
    [[nodiscard]] std::uint32_t value_at(std::uint32_t index) const noexcept;
    [[nodiscard]] histogram values() const noexcept;
    [[nodiscard]] bool needs_room(register_update u) const noexcept {
        return !dense_ && size_ == room_ && value_at(u.index) == 0;
    }
    [[nodiscard]] bool become_dense() noexcept;
    void insert(register_update u) noexcept;

    std::unique_ptr<dense> dense_;
    std::unique_ptr<std::uint32_t[]> list_; // NOLINT: a vector would store its size again
    std::uint16_t size_ = 0;                ///< of the list, until it becomes dense
    std::uint16_t room_ = inline_room;
    std::array<std::uint32_t, inline_room> inline_{};
};
static_assert(sizeof(hyperloglog) == 64);

} // namespace colimit::core
