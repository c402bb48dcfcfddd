// SPDX-License-Identifier: BSL-1.0
//
// How many different members there were, in little memory: a HyperLogLog that gives exactly the
// number of PFCOUNT, and changes exactly when PFADD says so.
//
//     hash of a member:  | 50 bits: where the first 1 is | 14 bits: the number of a register |
//
// A register keeps the largest such place, 1 to 51, of the members that fall on it; 0 is none.
// Sixteen thousand of them know a count to about 0.8 %. The facts are those of the comments in
// Redis's hyperloglog.c (hash, seed, registers, and the estimator since version 5), the estimator
// is Otmar Ertl's: "New cardinality estimation algorithms for HyperLogLog sketches",
// arXiv:1702.01284, algorithms 5 and 6 and the improved raw estimator.
//
// Few members are kept as a sorted list of registers, 4 bytes each, the first ones in the object
// itself, which is one cache line. Above 1,536 it becomes 12 KiB of registers of 6 bits, and how
// often each value occurs, so that no call has to count through them.

#ifndef COLIMIT_CORE_HYPERLOGLOG_HPP
#define COLIMIT_CORE_HYPERLOGLOG_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace colimit::core {

class hyperloglog {
  public:
    /// A member as the sketch sees it: its register, and the value that it asks for.
    struct mark {
        std::uint32_t place;
        std::uint32_t value;
    };
    [[nodiscard]] static mark mark_of(std::string_view member) noexcept;

    hyperloglog() = default;
    hyperloglog(const hyperloglog&) = delete;
    hyperloglog& operator=(const hyperloglog&) = delete;
    ~hyperloglog() = default;

    [[nodiscard]] std::int64_t count() const noexcept;
    /// The count if the member were added.
    [[nodiscard]] std::int64_t count_with(mark m) const noexcept;

    /// Gets the memory that adding the member takes; false if there is none.
    [[nodiscard]] bool make_room_for(mark m) noexcept;
    /// True when it changed. Without memory it stays as it is.
    bool add(mark m) noexcept;

    void clear() noexcept;

    /// Memory in use, the object's own included.
    [[nodiscard]] std::size_t bytes() const noexcept;
    /// What `bytes` will be when the member has been added.
    [[nodiscard]] std::size_t bytes_with(mark m) const noexcept;

  private:
    static constexpr std::uint32_t place_bits = 14;
    static constexpr std::uint32_t registers = 1U << place_bits;
    static constexpr std::uint32_t most_value = 64 - place_bits + 1;
    static constexpr std::uint32_t value_bits = 6;
    static constexpr std::uint16_t inline_room = 11;
    static constexpr std::uint16_t most_listed = 1'536;

    /// How many registers have each value.
    using histogram = std::array<std::uint16_t, most_value + 1>;

    struct dense {
        std::array<std::uint8_t, registers * value_bits / 8> bits{};
        histogram values{};

        [[nodiscard]] std::uint32_t value(std::uint32_t place) const noexcept;
        void set(std::uint32_t place, std::uint32_t value) noexcept;
    };

    [[nodiscard]] static std::int64_t estimate(const histogram& values) noexcept;
    [[nodiscard]] static std::uint16_t grown(std::uint16_t room) noexcept;
    [[nodiscard]] static std::size_t list_bytes(std::uint16_t room) noexcept;

    /// The listed registers, place * 64 + value, in order.
    [[nodiscard]] std::uint32_t* listed() noexcept { return list_ ? list_.get() : inline_.data(); }
    [[nodiscard]] const std::uint32_t* listed() const noexcept {
        return list_ ? list_.get() : inline_.data();
    }
    [[nodiscard]] std::uint16_t find(std::uint32_t place) const noexcept;
    [[nodiscard]] std::uint32_t value_at(std::uint32_t place) const noexcept;
    [[nodiscard]] histogram values() const noexcept;
    [[nodiscard]] bool needs_room(mark m) const noexcept;
    [[nodiscard]] bool become_dense() noexcept;
    void insert(mark m) noexcept;

    std::unique_ptr<dense> dense_;
    std::unique_ptr<std::uint32_t[]> list_; // NOLINT: a vector would say its size a second time
    std::uint16_t size_ = 0;                ///< of the list, until it becomes dense
    std::uint16_t room_ = inline_room;
    std::array<std::uint32_t, inline_room> inline_{};
};
static_assert(sizeof(hyperloglog) == 64);

} // namespace colimit::core

#endif
