// SPDX-License-Identifier: BSL-1.0
//
// RESP2 and RESP3, the protocols of Redis: replies are read where they lie, requests are appended.
//
// The decoder is handed all bytes received of the current reply, again and again as more arrive,
// and describes the reply as a flat row of nodes; a container is followed by its elements:
//
//   *2 \r\n $3 \r\n a b c \r\n *1 \r\n :7 \r\n      array(2)  bulk "abc"  array(1)  integer 7
//
// No byte is copied, and none is read twice but the few of a number or mark whose line has not
// ended yet. What a decoder says depends on the bytes alone, never on how they were cut into
// pieces. It trusts nobody: memory follows what has arrived, not what a header promises, and
// everything has a bound. No sockets, no clock.

#ifndef COLIMIT_REDIS_PROTOCOL_RESP_HPP
#define COLIMIT_REDIS_PROTOCOL_RESP_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::redis::resp {

/// Bytes between the type and the CRLF of a line of text. Status and error lines are sentences;
/// the longest that a server sends quote a script's error and stay well below.
inline constexpr std::size_t line_bytes = std::size_t{4} * 1024;

/// Bytes of one bulk string, bulk error or verbatim string. The longest that is asked for is the
/// state of one key, a few hundred bytes; INFO has a few thousand.
inline constexpr std::size_t bulk_bytes = std::size_t{64} * 1024;

/// Containers inside each other, attributes included. Scripts answer with 2, CLUSTER SLOTS with 4.
inline constexpr std::size_t nesting_depth = 8;

/// Nodes of one reply. A batch answers with at most 1,041; the map of a cluster of a thousand
/// servers has about 10,000. A decoder keeps the nodes of its largest reply: 384 KiB.
inline constexpr std::size_t reply_nodes = std::size_t{16} * 1024;

/// Bytes of one reply, and with it of what the reader must buffer. 1,024 values of 8 rules each
/// have 310 KiB.
inline constexpr std::size_t reply_bytes = std::size_t{1024} * 1024;

enum class kind : std::uint8_t {
    simple,
    error,
    integer,
    bulk,
    null, ///< `_`, and RESP2's `$-1` and `*-1`
    array,
    map,
    set,
    push, ///< only as a reply of its own, which answers nothing that was asked
    boolean,
    real,
    big_number,
    verbatim,
    blob_error,
};

[[nodiscard]] constexpr bool is_container(kind k) noexcept {
    return k >= kind::array && k <= kind::push;
}

/// One value of a reply.
struct node {
    resp::kind kind;
    std::uint32_t size;   ///< bytes of text; of a container, its direct elements (map: 2 per pair)
    std::uint32_t offset; ///< where the text begins, from the first byte of the reply
    std::int64_t integer; ///< of an integer, and of a boolean (0, 1); otherwise 0

    bool operator==(const node&) const = default;
};

enum class progress : std::uint8_t { need_more, complete, malformed };

/// Reads one reply at a time. Attributes are read and left out: they have no nodes, and are not
/// the reply. Streamed strings and containers, which no server sends, are refused.
class decoder {
  public:
    decoder() = default;

    /// What becomes of bulk strings longer than `bulk_bytes`.
    enum class long_bulks : std::uint8_t {
        malformed,
        empty, ///< their bytes are left out, see `surplus`
    };
    explicit decoder(long_bulks become) noexcept : long_bulks_(become) {}

    /// `bytes` are all that were received since the end of the previous reply: the same beginning
    /// on each call, though the buffer may have moved, and perhaps replies behind this one. A reply
    /// that is complete stays so until `next`, one that is malformed until `reset`.
    progress feed(std::string_view bytes);

    /// Bytes from `consumed()` on that belong to a long bulk string: they have no place in the
    /// reply. The caller takes those that have arrived out of `bytes`, says so by `cut`, and feeds
    /// what is left. 0 unless long bulk strings are to be empty, and `feed` asked for more.
    [[nodiscard]] std::size_t surplus() const noexcept { return surplus_; }

    /// `count` bytes were taken out, at most `surplus()`.
    void cut(std::size_t count) noexcept { surplus_ -= count; }

    /// Bytes of the complete reply.
    [[nodiscard]] std::size_t consumed() const noexcept { return at_; }

    /// The nodes of the complete reply, at least one. Valid until `next` or `reset`.
    [[nodiscard]] std::span<const node> nodes() const noexcept { return nodes_; }

    /// The text of a node in `bytes`, which begin with the complete reply. Numbers and booleans
    /// have the text of their line, verbatim strings that behind their format; empty for null and
    /// for containers.
    [[nodiscard]] std::string_view text(const node& n, std::string_view bytes) const noexcept;

    /// What is wrong with a malformed reply, in words; empty while nothing is.
    [[nodiscard]] std::string_view violation() const noexcept { return violation_; }

    /// Where it is wrong, from the first byte of the reply.
    [[nodiscard]] std::size_t position() const noexcept { return position_; }

    /// Goes on to the reply behind the complete one; the memory is kept. Behind a malformed reply
    /// there is none, so a violation stays.
    void next() noexcept;

    /// Forgets everything but the memory, for the first reply of another connection.
    void reset() noexcept;

  private:
    struct level {
        std::uint32_t left;  ///< elements still to come, at least one
        std::uint32_t first; ///< nodes before its elements
        bool attribute;
    };

    // Each takes what begins at `at_`, and answers whether it did. If not, either bytes are
    // missing, and it is tried again when there are more, or `state_` is malformed.
    bool take_value(std::string_view bytes);
    bool take_bulk(std::string_view bytes, kind k);
    bool take_body(std::string_view bytes);
    bool take_container(std::string_view bytes, kind k);
    bool take_attribute(std::string_view bytes);
    bool take_integer(std::string_view bytes);
    bool take_text(std::string_view bytes, kind k);
    bool take_boolean(std::string_view bytes);
    bool take_null(std::string_view bytes);

    // Readers of parts, which leave `at_` alone: `end` becomes the place behind the part.
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
    std::size_t at_ = 0;       ///< behind everything taken
    std::size_t searched_ = 0; ///< no end of the current line of text before this
    bool in_body_ = false;     ///< the last node's header is taken, its text is still to come
    progress state_ = progress::need_more;
    std::string_view violation_;
    std::size_t position_ = 0;
    std::size_t surplus_ = 0;
    long_bulks long_bulks_ = long_bulks::malformed;
};

/// The header of an array of `count` elements, which the caller appends.
void append_array(std::string& out, std::size_t count);

void append_bulk(std::string& out, std::string_view text);

/// The header of a bulk string of `size` bytes, which the caller appends, and "\r\n" behind them.
void append_bulk_header(std::string& out, std::size_t size);

/// A whole request: an array of bulk strings, any bytes.
void append_command(std::string& out, std::initializer_list<std::string_view> words);

} // namespace colimit::redis::resp

#endif
