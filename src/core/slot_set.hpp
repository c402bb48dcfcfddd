// SPDX-License-Identifier: BSL-1.0
//
// The holders of the slots of a `concurrent` rule, in process: the twin of the script's sorted
// set. A holder is an id and the end of its lease; its slot is taken until then. The set also has
// the last fencing token.
//
// A lease that ends later than one lease after `now` was stored by a longer version of the rule, or
// before the clock was set back. It counts as if it ended then, and `shorten` makes it end then:
// so no slot is blocked for longer than one lease after the clock was set back.
//
// A set may have `limits::max_concurrent` holders, each of which is renewed in each third of a
// lease. So they are in two search trees: by the end of their leases, with the number of holders in
// each subtree, and by their ids. Every call takes a time that grows with the logarithm of the
// number of holders. The trees are treaps, and share nodes that are in one array.

#pragma once

#include <colimit/detail/call_request.hpp>
#include <colimit/limits.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
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

    /// The memory of a holder, in bytes.
    static constexpr std::size_t holder_size = 48;

    [[nodiscard]] bool is_empty() const noexcept { return size() == 0 && token_ == 0; }
    /// Returns all holders, including those whose lease has ended, by its end.
    [[nodiscard]] std::vector<holder> holders() const;
    /// Returns when the last lease ends, or has ended; 0 if there are no holders.
    [[nodiscard]] std::int64_t latest() const noexcept;
    /// Returns the last fencing token, or 0.
    [[nodiscard]] std::int64_t token() const noexcept { return token_; }
    /// Returns the token of the next grant, which is larger than the last one and not below `now`:
    /// so tokens grow even if the set was forgotten.
    [[nodiscard]] std::int64_t next_token(std::int64_t now) const noexcept;
    /// Makes the next token larger than this one, too.
    void pass_token(std::int64_t token) noexcept { token_ = std::max(token_, token); }
    /// Returns the memory in use, including the object itself.
    [[nodiscard]] std::size_t bytes() const noexcept {
        return sizeof(slot_set) + nodes_.capacity() * sizeof(node);
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
    /// keeps one slot. `make_room` returned true.
    void add(std::string_view id, std::int64_t now, std::int64_t lease) noexcept;
    /// Gives a new lease to a holder that `holds`.
    void extend(std::string_view id, std::int64_t now, std::int64_t lease) noexcept;
    /// Removes a holder. Returns whether it was there.
    bool remove(std::string_view id) noexcept;
    /// Forgets all, and the token.
    void clear() noexcept { *this = {}; }

  private:
    using index = std::uint32_t;
    static constexpr index none = UINT32_MAX;
    /// Of leases that end at one time, ids decide.
    enum order : std::uint8_t { by_end, by_id };
    struct node {
        holder own;
        std::array<std::array<index, 2>, 2> children; ///< by order: before it and after it
        index size;                                   ///< of the subtree by the end of leases
    };
    static_assert(sizeof(node) == holder_size);

    [[nodiscard]] static bool is_before(order o, const holder& a, const holder& b) noexcept;
    [[nodiscard]] index size_of(index root) const noexcept {
        return root == none ? 0 : nodes_[root].size;
    }
    [[nodiscard]] std::size_t size() const noexcept { return size_of(roots_[by_end]); }
    void recount(order o, index root) noexcept;
    void split(order o, index root, const holder& at, index& before, index& after) noexcept;
    [[nodiscard]] index merge(order o, index before, index after) noexcept;
    [[nodiscard]] index without(order o, index root, index removed) noexcept;
    void append_to(std::vector<holder>& all, index root) const;

    [[nodiscard]] bool has_room(std::int64_t now) const noexcept;
    [[nodiscard]] std::size_t ended(std::int64_t t) const noexcept;
    [[nodiscard]] index at(std::size_t position) const noexcept;
    [[nodiscard]] index find(std::string_view id) const noexcept;
    void insert(std::string_view id, std::int64_t end) noexcept;
    void erase(index removed) noexcept;

    std::vector<node> nodes_;
    std::array<index, 2> roots_{none, none};
    index free_ = none; ///< the first unused node; its first child is the next one
    std::int64_t token_ = 0;
};

} // namespace colimit::core
