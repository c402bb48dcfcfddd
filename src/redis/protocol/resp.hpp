// SPDX-License-Identifier: BSL-1.0
//
// RESP2 and RESP3, the protocols of Redis: replies are decoded in place, requests are appended.
//
// The decoder is given all bytes received of the current reply, again whenever more arrive, and
// describes the reply as a flat sequence of nodes; a container is followed by its elements:
//
//   *2 \r\n $3 \r\n a b c \r\n *1 \r\n :7 \r\n      array(2)  bulk "abc"  array(1)  integer 7
//
// No byte is copied, and none is read twice except the few of a number or mark whose line is
// incomplete. The result depends only on the bytes, never on how they were split into pieces. Input
// is not trusted: memory grows with the received bytes, not with the sizes in headers, and
// everything has a bound. No sockets, no clock.

#pragma once

#include <boost/assert.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::redis::resp {

/// The longest line of text, in bytes between the type and the CRLF. Status and error lines are
/// sentences; the longest that a server sends quote a script's error and are much shorter.
inline constexpr std::size_t line_bytes = std::size_t{4} * 1024;

/// The longest bulk string, bulk error or verbatim string, in bytes. The state of one key has at
/// most a few hundred bytes, INFO a few thousand. A decoder for documents may have a larger bound
/// for bulk strings.
inline constexpr std::size_t bulk_bytes = std::size_t{64} * 1024;

/// Nested containers, including attributes. Replies of scripts have 2, CLUSTER SLOTS has 4.
inline constexpr std::size_t nesting_depth = 8;

/// Nodes per reply. That to a batch has at most 1,041; the map of a cluster of a thousand servers
/// has about 10,000. A decoder keeps the nodes of its largest reply: 384 KiB.
inline constexpr std::size_t reply_nodes = std::size_t{16} * 1024;

/// The longest reply in bytes, which the reader buffers. 1,024 records of calls with ids under 8
/// rules have 420 KiB.
inline constexpr std::size_t reply_bytes = std::size_t{1024} * 1024;

/// The bounds of one reply. A decoder for the map of a cluster may have larger ones.
struct reply_bounds {
    std::size_t nodes = reply_nodes;
    std::size_t bytes = reply_bytes; ///< below 4 GiB
    std::size_t bulk = bulk_bytes;   ///< of one bulk string; less than `bytes`
};

enum class kind : std::uint8_t {
    simple,
    error,
    integer,
    bulk,
    null, ///< `_`, and RESP2's `$-1` and `*-1`
    array,
    map,
    set,
    push, ///< a separate message, not a reply to a command
    boolean,
    real,
    big_number,
    verbatim,
    blob_error,
};

[[nodiscard]] constexpr bool is_container(kind k) noexcept {
    return k >= kind::array && k <= kind::push;
}

[[nodiscard]] constexpr bool is_error(kind k) noexcept {
    return k == kind::error || k == kind::blob_error;
}

/// One value of a reply.
struct node {
    resp::kind kind;
    std::uint32_t size;   ///< bytes of text; of a container, its direct elements (map: 2 per pair)
    std::uint32_t offset; ///< position of the text, from the first byte of the reply
    std::int64_t integer; ///< of an integer, and of a boolean (0, 1); otherwise 0

    bool operator==(const node&) const = default;
};

enum class progress : std::uint8_t { need_more, complete, malformed };

/// Decodes one reply at a time. Attributes are skipped: they have no nodes. Streamed strings and
/// containers, which no server sends, are errors.
class decoder {
  public:
    decoder() = default;

    /// How bulk strings longer than `reply_bounds::bulk` are handled.
    enum class long_bulks : std::uint8_t {
        malformed,
        empty, ///< their bytes are skipped, see `surplus`
    };
    explicit decoder(long_bulks become, const reply_bounds& bounds = {}) noexcept
        : long_bulks_(become), bounds_(bounds) {}

    /// Decodes `bytes`, all that were received since the end of the previous reply: the same
    /// beginning on each call, though the buffer may have moved, and perhaps further replies. A
    /// complete reply stays so until `next`, a malformed one until `reset`.
    progress feed(std::string_view bytes);

    /// Returns the number of bytes from `consumed()` on that belong to a long bulk string and are
    /// to be skipped. The caller removes those that have arrived from `bytes`, calls `cut`, and
    /// feeds the rest. 0 unless long bulk strings are to be empty, and `feed` needs more.
    [[nodiscard]] std::size_t surplus() const noexcept { return surplus_; }

    /// Called when `count` bytes were removed, at most `surplus()`.
    void cut(std::size_t count) noexcept {
        BOOST_ASSERT(count <= surplus_);
        surplus_ -= count;
    }

    /// Returns the size of the complete reply in bytes.
    [[nodiscard]] std::size_t consumed() const noexcept { return at_; }

    /// Returns the nodes of the complete reply, at least one. Valid until `next` or `reset`.
    [[nodiscard]] std::span<const node> nodes() const noexcept { return nodes_; }

    [[nodiscard]] const node& first() const noexcept {
        BOOST_ASSERT(state_ == progress::complete);
        return nodes_.front();
    }

    /// Returns the text of a node in `bytes`, which begin with the complete reply. Numbers and
    /// booleans have the text of their line, verbatim strings that after their format; empty for
    /// null and for containers.
    [[nodiscard]] std::string_view text(const node& n, std::string_view bytes) const noexcept;

    /// Returns the problem of a malformed reply; empty if there is none.
    [[nodiscard]] std::string_view violation() const noexcept { return violation_; }

    /// Returns the position of the problem, from the first byte of the reply.
    [[nodiscard]] std::size_t position() const noexcept { return position_; }

    /// Continues with the reply after the complete one; the memory is kept. There is none after a
    /// malformed reply, so a violation stays.
    void next() noexcept;

    /// Resets everything but keeps the memory, for the first reply of another connection.
    void reset() noexcept;

  private:
    struct level {
        std::uint32_t left;  ///< elements still to come, at least one
        std::uint32_t first; ///< number of nodes before its elements
        bool attribute;
    };

    // Each reads a value at `at_`, and returns whether it could. If not, either bytes are missing,
    // and it is tried again when there are more, or `state_` is malformed.
    bool take_value(std::string_view bytes);
    bool take_bulk(std::string_view bytes, kind k);
    bool take_body(std::string_view bytes);
    bool take_container(std::string_view bytes, kind k);
    bool take_attribute(std::string_view bytes);
    bool take_integer(std::string_view bytes);
    bool take_text(std::string_view bytes, kind k);
    bool take_boolean(std::string_view bytes);
    bool take_null(std::string_view bytes);

    // These read parts and do not change `at_`: `end` is set to the position after the part.
    bool read_number(std::string_view bytes, std::int64_t& value, std::size_t& end);
    bool read_line_end(std::string_view bytes, std::size_t from, std::size_t& end);

    bool admit(std::int64_t count, std::int64_t each);
    bool append(kind k, std::size_t offset, std::size_t size, std::int64_t integer);
    void open(std::uint32_t elements, std::size_t end, bool attribute);
    bool end_value(std::size_t end);
    bool fail(std::size_t position, std::string_view words);

    std::vector<node> nodes_;
    std::array<level, nesting_depth> levels_{};
    std::size_t depth_ = 0;
    std::size_t at_ = 0;       ///< position after everything that was read
    std::size_t searched_ = 0; ///< no end of the current line of text before this
    bool in_body_ = false;     ///< the last node's header was read, its text is still missing
    progress state_ = progress::need_more;
    std::string_view violation_;
    std::size_t position_ = 0;
    std::size_t surplus_ = 0;
    long_bulks long_bulks_ = long_bulks::malformed;
    reply_bounds bounds_;
};

/// Appends a type and its number, as one line.
void append_header(std::string& out, char type, std::size_t number);

/// Appends the header of an array of `count` elements, which the caller appends.
inline void append_array(std::string& out, std::size_t count) {
    append_header(out, '*', count);
}

void append_bulk(std::string& out, std::string_view text);

/// Appends the header of a bulk string of `size` bytes, which the caller appends, and "\r\n".
inline void append_bulk_header(std::string& out, std::size_t size) {
    append_header(out, '$', size);
}

/// Appends a complete request: an array of bulk strings, any bytes.
void append_command(std::string& out, std::initializer_list<std::string_view> words);

} // namespace colimit::redis::resp
