// SPDX-License-Identifier: BSL-1.0
//
// The executable model of `seen`: bitmaps as the bytes that a server should hold, one id after
// another.

#pragma once

#include "filter_history.hpp"

#include <core/bloom.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace colimit::differential {

class filter_model {
  public:
    struct bitmap {
        std::optional<std::string> bytes;
        bool foreign = false;
        /// Set by the current step: the generation until whose end, and one more, it is kept.
        std::optional<std::int64_t> kept_for;
    };

    explicit filter_model(const core::bloom_shape& shape)
        : shape_(shape), bitmaps_(2 * std::size_t{shape.blocks}) {}

    [[nodiscard]] bitmap& operator[](std::size_t i) { return bitmaps_[i]; }

    /// Prepares a block for its ids. Returns false if it holds another type of value: then no id is
    /// looked up.
    bool begin_block(std::size_t block, std::int64_t now) {
        generation_ = now / shape_.ttl;
        current_ = &place_of(block, generation_);
        other_ = &place_of(block, generation_ + 1);
        has_current_ = is_asked(*current_, generation_);
        has_other_ = is_asked(*other_, generation_ + 1);
        return !current_->foreign && !other_->foreign;
    }

    /// Returns whether an id of that block has been here.
    [[nodiscard]] bool knows(const core::bloom_bits& mark) const {
        return (has_other_ && has(*other_, mark)) || (has_current_ && has(*current_, mark));
    }

    /// Returns the bits that are set in the lines of that block, of both generations.
    [[nodiscard]] std::array<std::int64_t, 2> set_bits() const {
        const auto bits_of = [this](const bitmap& b, bool is_asked) {
            auto sum = std::int64_t{0};
            const auto end =
                std::min<std::size_t>(b.bytes ? b.bytes->size() : 0, shape_.block_bytes());
            for (auto i = std::size_t{core::bloom_shape::head_bytes}; is_asked && i < end; ++i)
                sum += std::popcount(static_cast<unsigned char>((*b.bytes)[i]));
            return sum;
        };
        return {bits_of(*current_, has_current_), bits_of(*other_, has_other_)};
    }

    /// Returns whether an id of that block has been here; it has from now on.
    bool seen(const core::bloom_bits& mark) {
        if (has_current_)
            end_lateness(*current_, generation_);
        if (has_other_)
            end_lateness(*other_, generation_ + 1);
        if (has_other_ && has(*other_, mark))
            return true;
        if (!has_current_) {
            current_->bytes = std::string(shape_.block_bytes(), '\0');
            write_head(*current_, generation_);
            has_current_ = true;
        }
        if (has(*current_, mark))
            return true;
        auto& bytes = *current_->bytes;
        bytes.resize(std::max(bytes.size(), at(mark) + shape_.line_bytes()));
        const auto line = line_of(*current_, mark);
        for (std::size_t i = 0; i < shape_.words; ++i) {
            const auto word = line[i] | mark.words[i];
            std::memcpy(bytes.data() + at(mark) + 4 * i, &word, sizeof word);
        }
        return false;
    }

  private:
    using words = std::array<std::uint32_t, core::bloom_shape::max_words>;

    [[nodiscard]] bitmap& place_of(std::size_t block, std::int64_t generation) {
        return bitmaps_[bitmap_at(block, static_cast<std::size_t>(generation % 2))];
    }

    [[nodiscard]] std::size_t at(const core::bloom_bits& mark) const noexcept {
        return core::bloom_shape::head_bytes + std::size_t{mark.line} * shape_.line_bytes();
    }

    /// Bytes that are not there are 0.
    [[nodiscard]] words line_of(const bitmap& b, const core::bloom_bits& mark) const {
        auto line = words{};
        if (b.bytes->size() > at(mark))
            std::memcpy(line.data(), b.bytes->data() + at(mark),
                        std::min<std::size_t>(shape_.line_bytes(), b.bytes->size() - at(mark)));
        return line;
    }

    [[nodiscard]] bool has(const bitmap& b, const core::bloom_bits& mark) const {
        const auto line = line_of(b, mark);
        return core::has_bits({line.data(), shape_.words}, mark);
    }

    static void write_head(bitmap& b, std::int64_t generation) {
        const auto head = static_cast<double>(generation + 1);
        std::memcpy(b.bytes->data(), &head, sizeof head);
        b.kept_for = generation;
    }

    [[nodiscard]] static double head_of(const bitmap& b) {
        auto head = 0.0;
        std::memcpy(&head, b.bytes->data(), sizeof head);
        return head;
    }

    /// A bitmap from after generation `own` becomes of that one.
    static void end_lateness(bitmap& b, std::int64_t own) {
        if (head_of(b) > static_cast<double>(own + 1))
            write_head(b, own);
    }

    /// Returns whether it is to be asked: it is of the previous generation or of a later one.
    [[nodiscard]] bool is_asked(const bitmap& b, std::int64_t own) const {
        if (b.foreign || !b.bytes || b.bytes->size() < core::bloom_shape::head_bytes)
            return false;
        const auto head = head_of(b);
        const auto parity = std::fabs(std::fmod(head - 1, 2)); // NaN of what is no number
        return !(head < static_cast<double>(generation_)) && parity == static_cast<double>(own % 2);
    }

    core::bloom_shape shape_;
    std::vector<bitmap> bitmaps_;
    std::int64_t generation_ = 0;
    bitmap* current_ = nullptr;
    bitmap* other_ = nullptr;
    bool has_current_ = false;
    bool has_other_ = false;
};

} // namespace colimit::differential
