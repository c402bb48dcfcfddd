// SPDX-License-Identifier: BSL-1.0
//
// The decoder reads value by value. It stops before a value whose line is incomplete, or inside a
// bulk string whose header has been read, and continues there. Each check reads bytes in order and
// only up to the faulty one, so the result does not depend on the pieces in which they arrive.

#include <base/bytes.hpp>
#include <redis/protocol/resp.hpp>

#include <algorithm>
#include <charconv>
#include <limits>

namespace colimit::redis::resp {
namespace {

using detail::is_digit;

/// Removes the digits at the beginning of `text`, and returns whether there were any.
bool drop_digits(std::string_view& text) noexcept {
    const auto size = text.size();
    while (!text.empty() && is_digit(text.front()))
        text.remove_prefix(1);
    return text.size() != size;
}

bool drop(std::string_view& text, std::string_view any_of) noexcept {
    if (text.empty() || any_of.find(text.front()) == std::string_view::npos)
        return false;
    text.remove_prefix(1);
    return true;
}

[[nodiscard]] bool is_big_number(std::string_view text) noexcept {
    drop(text, "-");
    return drop_digits(text) && text.empty();
}

[[nodiscard]] bool is_real(std::string_view text) noexcept {
    drop(text, "-");
    if (text == "inf" || text == "nan")
        return true;
    if (!drop_digits(text))
        return false;
    if (drop(text, ".") && !drop_digits(text))
        return false;
    if (!drop(text, "eE"))
        return text.empty();
    drop(text, "+-");
    return drop_digits(text) && text.empty();
}

} // namespace

progress decoder::feed(std::string_view bytes) {
    const auto readable = bytes.substr(0, bounds_.bytes);
    BOOST_ASSERT(readable.size() >= at_);
    while (state_ == progress::need_more && surplus_ == 0 && at_ < readable.size() &&
           take_value(readable)) {
    }
    if (state_ == progress::need_more && surplus_ == 0 && readable.size() == bounds_.bytes)
        fail(bounds_.bytes, "the reply is too long");
    return state_;
}

std::string_view decoder::text(const node& n, std::string_view bytes) const noexcept {
    if (is_container(n.kind))
        return {};
    BOOST_ASSERT(n.offset + n.size <= at_ && at_ <= bytes.size());
    return {bytes.data() + n.offset, n.size};
}

void decoder::next() noexcept {
    if (state_ != progress::malformed)
        reset();
}

void decoder::reset() noexcept {
    nodes_.clear();
    depth_ = 0;
    at_ = 0;
    searched_ = 0;
    in_body_ = false;
    state_ = progress::need_more;
    violation_ = {};
    position_ = 0;
    surplus_ = 0;
}

bool decoder::take_value(std::string_view bytes) {
    if (in_body_)
        return take_body(bytes);
    switch (bytes[at_]) {
    case '$':
        return take_bulk(bytes, kind::bulk);
    case '*':
        return take_container(bytes, kind::array);
    case ':':
        return take_integer(bytes);
    case '+':
        return take_text(bytes, kind::simple);
    case '-':
        return take_text(bytes, kind::error);
    case '_':
        return take_null(bytes);
    case '#':
        return take_boolean(bytes);
    case ',':
        return take_text(bytes, kind::real);
    case '(':
        return take_text(bytes, kind::big_number);
    case '=':
        return take_bulk(bytes, kind::verbatim);
    case '!':
        return take_bulk(bytes, kind::blob_error);
    case '%':
        return take_container(bytes, kind::map);
    case '~':
        return take_container(bytes, kind::set);
    case '>':
        return take_container(bytes, kind::push);
    case '|':
        return take_attribute(bytes);
    default:
        return fail(at_, "no type of value begins with this byte");
    }
}

bool decoder::take_bulk(std::string_view bytes, kind k) {
    std::int64_t size = 0;
    std::size_t end = 0;
    if (!read_number(bytes, size, end))
        return false;
    if (size == -1 && k == kind::bulk)
        return append(kind::null, at_ + 1, 0, 0) && end_value(end);
    if (size < 0)
        return fail(at_ + 1, "a negative length");
    const auto most = k == kind::bulk ? bounds_.bulk : bulk_bytes;
    const auto is_long = size > static_cast<std::int64_t>(most);
    if (is_long && (k != kind::bulk || long_bulks_ == long_bulks::malformed))
        return fail(at_ + 1, "a bulk string longer than 64 KiB");
    if (size < 4 && k == kind::verbatim)
        return fail(at_ + 1, "a verbatim string without a format");
    if (!append(k, end, is_long ? 0 : static_cast<std::size_t>(size), 0))
        return false;
    at_ = end;
    in_body_ = true;
    surplus_ = is_long ? static_cast<std::size_t>(size) : 0;
    return !is_long && take_body(bytes);
}

bool decoder::take_body(std::string_view bytes) {
    auto& value = nodes_.back();
    std::size_t end = std::size_t{value.offset} + value.size;
    if (bytes.size() < end)
        return false;
    if (value.kind == kind::verbatim && bytes[value.offset + 3] != ':')
        return fail(value.offset + 3U, "a verbatim string without a format");
    if (!read_line_end(bytes, end, end))
        return false;
    if (value.kind == kind::verbatim) {
        value.offset += 4;
        value.size -= 4;
    }
    in_body_ = false;
    return end_value(end);
}

bool decoder::take_container(std::string_view bytes, kind k) {
    if (k == kind::push && depth_ > 0)
        return fail(at_, "a push inside a reply");
    std::int64_t count = 0;
    std::size_t end = 0;
    if (!read_number(bytes, count, end))
        return false;
    if (count == -1 && k == kind::array)
        return append(kind::null, at_ + 1, 0, 0) && end_value(end);
    const auto each = k == kind::map ? 2 : 1;
    if (!admit(count, each))
        return false;
    const auto elements = static_cast<std::uint32_t>(count * each);
    if (!append(k, at_ + 1, elements, 0))
        return false;
    if (elements == 0)
        return end_value(end);
    open(elements, end, false);
    return true;
}

bool decoder::take_attribute(std::string_view bytes) {
    std::int64_t count = 0;
    std::size_t end = 0;
    if (!read_number(bytes, count, end) || !admit(count, 2))
        return false;
    if (count == 0)
        at_ = end;
    else
        open(static_cast<std::uint32_t>(count * 2), end, true);
    return true;
}

bool decoder::take_integer(std::string_view bytes) {
    std::int64_t value = 0;
    std::size_t end = 0;
    return read_number(bytes, value, end) && append(kind::integer, at_ + 1, end - at_ - 3, value) &&
           end_value(end);
}

bool decoder::take_text(std::string_view bytes, kind k) {
    const auto begin = at_ + 1;
    const auto last = std::min(bytes.size(), begin + line_bytes + 1);
    searched_ = std::max(searched_, begin);
    while (searched_ < last && bytes[searched_] != '\r' && bytes[searched_] != '\n')
        ++searched_;
    const auto size = searched_ - begin;
    if (size > line_bytes)
        return fail(begin + line_bytes, "a line longer than 4 KiB");
    std::size_t end = 0;
    if (!read_line_end(bytes, searched_, end))
        return false;
    const auto text = bytes.substr(begin, size);
    if (k == kind::real && !is_real(text))
        return fail(begin, "not a real number");
    if (k == kind::big_number && !is_big_number(text))
        return fail(begin, "not a big number");
    return append(k, begin, size, 0) && end_value(end);
}

bool decoder::take_boolean(std::string_view bytes) {
    if (bytes.size() < at_ + 2)
        return false;
    const auto letter = bytes[at_ + 1];
    if (letter != 't' && letter != 'f')
        return fail(at_ + 1, "not a boolean");
    std::size_t end = 0;
    return read_line_end(bytes, at_ + 2, end) &&
           append(kind::boolean, at_ + 1, 1, letter == 't' ? 1 : 0) && end_value(end);
}

bool decoder::take_null(std::string_view bytes) {
    std::size_t end = 0;
    return read_line_end(bytes, at_ + 1, end) && append(kind::null, at_ + 1, 0, 0) &&
           end_value(end);
}

// Reads a number in the only form that servers use: no plus, no leading zero, no minus zero.
bool decoder::read_number(std::string_view bytes, std::int64_t& value, std::size_t& end) {
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    auto i = at_ + 1;
    const bool negative = i < bytes.size() && bytes[i] == '-';
    i += negative ? 1 : 0;
    const auto first = i;
    std::uint64_t magnitude = 0;
    for (; i < bytes.size() && is_digit(bytes[i]); ++i) {
        const auto digit = static_cast<std::uint64_t>(bytes[i] - '0');
        if (magnitude == 0 && (i > first || (negative && digit == 0)))
            return fail(i, "a number with a needless zero");
        if (magnitude > most / 10 ||
            (magnitude == most / 10 && digit > most % 10 + (negative ? 1U : 0U)))
            return fail(i, "a number beyond 64 bits");
        magnitude = magnitude * 10 + digit;
    }
    if (i == bytes.size())
        return false;
    if (i == first)
        return fail(i, bytes[i] == '?' ? "a streamed value" : "not a whole number");
    value = static_cast<std::int64_t>(negative ? -magnitude : magnitude);
    return read_line_end(bytes, i, end);
}

bool decoder::read_line_end(std::string_view bytes, std::size_t from, std::size_t& end) {
    if (from < bytes.size() && bytes[from] != '\r')
        return fail(from, "not CRLF where a line ends");
    if (bytes.size() < from + 2)
        return false;
    if (bytes[from + 1] != '\n')
        return fail(from + 1, "not CRLF where a line ends");
    end = from + 2;
    return true;
}

bool decoder::admit(std::int64_t count, std::int64_t each) {
    if (count < 0)
        return fail(at_ + 1, "a negative length");
    if (count > static_cast<std::int64_t>(bounds_.nodes) / each)
        return fail(at_ + 1, "too many values in a reply");
    if (depth_ == nesting_depth)
        return fail(at_, "containers more than 8 deep");
    return true;
}

bool decoder::append(kind k, std::size_t offset, std::size_t size, std::int64_t integer) {
    if (nodes_.size() == bounds_.nodes)
        return fail(at_, "too many values in a reply");
    BOOST_ASSERT(bounds_.bytes <= std::numeric_limits<std::uint32_t>::max());
    nodes_.push_back(
        {k, static_cast<std::uint32_t>(size), static_cast<std::uint32_t>(offset), integer});
    return true;
}

void decoder::open(std::uint32_t elements, std::size_t end, bool attribute) {
    levels_[depth_++] = {elements, static_cast<std::uint32_t>(nodes_.size()), attribute};
    at_ = end;
}

bool decoder::end_value(std::size_t end) {
    at_ = end;
    while (depth_ > 0) {
        auto& container = levels_[depth_ - 1];
        if (--container.left > 0)
            return true;
        --depth_;
        if (container.attribute) {
            nodes_.resize(container.first);
            return true; // An attribute belongs to the next value, and is not a value itself.
        }
    }
    state_ = progress::complete;
    return true;
}

bool decoder::fail(std::size_t position, std::string_view words) {
    state_ = progress::malformed;
    violation_ = words;
    position_ = position;
    return false;
}

void append_header(std::string& out, char type, std::size_t number) {
    char line[1 + std::numeric_limits<std::size_t>::digits10 + 1 + 2];
    line[0] = type;
    auto* end = std::to_chars(line + 1, std::end(line), number).ptr;
    *end++ = '\r';
    *end++ = '\n';
    out.append(line, end);
}

void append_bulk(std::string& out, std::string_view text) {
    append_bulk_header(out, text.size());
    out.append(text);
    out.append("\r\n", 2);
}

void append_command(std::string& out, std::initializer_list<std::string_view> words) {
    append_array(out, words.size());
    for (const auto word : words)
        append_bulk(out, word);
}

} // namespace colimit::redis::resp
