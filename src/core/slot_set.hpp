// SPDX-License-Identifier: BSL-1.0
//
// The holders of the places of a `concurrent` rule, in process: the twin of the script's sorted
// set. A holder is an id and the end of its lease; its place is taken until then. The set also has
// the last fencing token.
//
// A lease that ends later than one lease after `now` was stored by a longer version of the rule, or
// before the clock was set back. It counts as if it ended then, and `shorten` makes it end then:
// so no place is blocked for longer than one lease after the clock was set back.

#pragma once

#include <colimit/detail/call_request.hpp>
#include <colimit/limits.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace colimit::core {

class slot_set {
  public:
    struct holder {
        std::int64_t end; ///< of its lease
        std::array<char, detail::holder_bytes> id;
    };
    static constexpr std::int64_t max_token = limits::max_exact_integer;

    [[nodiscard]] bool is_empty() const noexcept { return holders_.empty() && token_ == 0; }
    /// Returns all holders, including those whose lease has ended, by its end.
    [[nodiscard]] std::span<const holder> holders() const noexcept { return holders_; }
    /// Returns the last fencing token, or 0.
    [[nodiscard]] std::int64_t token() const noexcept { return token_; }
    /// Returns the token of the next grant, which is larger than the last one and not below `now`:
    /// so tokens grow even if the set was forgotten.
    [[nodiscard]] std::int64_t next_token(std::int64_t now) const noexcept;
    /// Makes the next token larger than this one, too.
    void pass_token(std::int64_t token) noexcept { token_ = std::max(token_, token); }
    /// Returns the memory in use, including the object itself.
    [[nodiscard]] std::size_t bytes() const noexcept {
        return sizeof(slot_set) + holders_.capacity() * sizeof(holder);
    }
    /// Returns the memory in use after `make_room`.
    [[nodiscard]] std::size_t bytes_with_room(std::int64_t now) const noexcept;

    /// Returns the number of holders whose lease has not ended.
    [[nodiscard]] std::int64_t count(std::int64_t now) const noexcept;
    /// Returns whether the lease of a holder has not ended.
    [[nodiscard]] bool holds(std::string_view id, std::int64_t now) const noexcept;
    /// Returns when the last lease ends, or 0 if there are no holders.
    [[nodiscard]] std::int64_t last_end(std::int64_t now, std::int64_t lease) const noexcept;
    /// Returns when so many leases will have ended that fewer than `limit` are left, which `count`
    /// is not below.
    [[nodiscard]] std::int64_t free_at(std::int64_t now, std::int64_t limit,
                                       std::int64_t lease) const noexcept;

    /// Makes room for `add` at this time. Returns false without memory.
    [[nodiscard]] bool make_room(std::int64_t now) noexcept;
    /// Makes leases end at most one lease after `now`. Returns whether it found longer ones.
    bool shorten(std::int64_t now, std::int64_t lease) noexcept;
    /// Forgets ended leases, and gives a holder a new one and the next token. A holder that `holds`
    /// keeps one place. `make_room` returned true.
    void add(std::string_view id, std::int64_t now, std::int64_t lease) noexcept;
    /// Gives a new lease to a holder that `holds`.
    void extend(std::string_view id, std::int64_t now, std::int64_t lease) noexcept;
    /// Removes a holder. Returns whether it was there.
    bool remove(std::string_view id) noexcept;
    /// Forgets all, and the token.
    void clear() noexcept { *this = {}; }

  private:
    [[nodiscard]] std::size_t first_after(std::int64_t t) const noexcept;
    void insert(std::string_view id, std::int64_t end) noexcept;

    std::vector<holder> holders_; ///< by the end of their leases
    std::int64_t token_ = 0;
};

} // namespace colimit::core
