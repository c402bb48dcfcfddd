// SPDX-License-Identifier: BSL-1.0
//
// A block of a Bloom filter in the server: the number of its generation, and lines of bits. It is
// read and written in place. Missing bytes are 0.

#pragma once

#include <core/bloom.hpp>
#include <server_module/command_run.hpp>
#include <server_module/key_handle.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace colimit::server_module {

class bitmap {
  public:
    /// Opens the bitmap of generation `number`, if now is in generation `current`.
    bitmap(command_run& run, api::string* name, const core::bloom_shape& shape, std::int64_t number,
           std::int64_t current) noexcept;

    /// Returns whether the key has a value of another type.
    [[nodiscard]] bool is_foreign() const noexcept;
    /// Returns whether there is a bitmap of this generation, or of a later one.
    [[nodiscard]] bool exists() const noexcept { return exists_; }
    /// Returns whether it is of a later generation: it was written before the clock was set back.
    [[nodiscard]] bool is_late() const noexcept { return is_late_; }

    /// Returns whether all bits of the words are set in the line that begins at a byte.
    [[nodiscard]] bool has_all(std::size_t first, std::string_view words) const noexcept;
    /// Returns how many bits are set.
    [[nodiscard]] std::int64_t count(std::size_t first, std::size_t size) const noexcept;

    /// Makes it an empty one of the generation, in its full size at once: growing it bit by bit
    /// would copy it repeatedly and leave it twice as large.
    void create() noexcept;
    /// Makes it one of the generation.
    void set_generation() noexcept;
    void set_all(std::size_t first, std::string_view words) noexcept;

  private:
    [[nodiscard]] std::string_view bytes() const noexcept;
    void overwrite(std::size_t first, std::string_view with) noexcept;

    command_run& run_;
    api::string* name_;
    const core::bloom_shape& shape_;
    std::int64_t number_;
    key_handle key_;
    bool exists_ = false;
    bool is_late_ = false;
};

} // namespace colimit::server_module
