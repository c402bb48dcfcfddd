// SPDX-License-Identifier: BSL-1.0
//
// The events of Boost.JSON's parser become colimit's own values, because Boost.JSON's values would
// merge members of one name and round large numbers.
//
// Both are errors here, with the original text. The walk over the values has one function per
// level, so no input recurses.

#include <colimit/error.hpp>
#include <colimit/limits.hpp>
#include <policy_json/value.hpp>

#include <boost/json/basic_parser_impl.hpp>
#ifdef COLIMIT_COMPILES_BOOST_JSON
#include <boost/json/src.hpp>
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

namespace colimit::json {
namespace {

namespace boost_json = boost::json;

/// Handles the parser's events. Arrays and objects that are not closed yet are on a separate stack,
/// with their values so far; when one is closed, its values are appended to the document.
class builder {
  public:
    static constexpr auto max_object_size = std::numeric_limits<std::size_t>::max();
    static constexpr auto max_array_size = max_object_size;
    static constexpr auto max_key_size = max_object_size;
    static constexpr auto max_string_size = max_object_size;

    /// @param bytes of the document; its texts together are not longer.
    void expect(std::size_t bytes) { made_.texts.reserve(bytes); }
    [[nodiscard]] document take() {
        made_.root = stack_.front();
        return std::move(made_);
    }

    bool on_document_begin(error_code&) { return true; }
    bool on_document_end(error_code&) { return true; }

    bool on_object_begin(error_code&) { return open(kind::object); }
    bool on_object_end(std::size_t, error_code&) { return close(); }
    bool on_array_begin(error_code&) { return open(kind::array); }
    bool on_array_end(std::size_t, error_code&) { return close(); }

    bool on_key_part(boost_json::string_view part, std::size_t, error_code&) {
        return append(part);
    }
    bool on_key(boost_json::string_view part, std::size_t, error_code&) {
        append(part);
        name_ = take_text();
        return true;
    }

    bool on_string_part(boost_json::string_view part, std::size_t, error_code&) {
        return append(part);
    }
    bool on_string(boost_json::string_view part, std::size_t, error_code&) {
        append(part);
        return add(kind::string);
    }

    bool on_number_part(boost_json::string_view part, error_code&) { return append(part); }
    bool on_int64(std::int64_t, boost_json::string_view part, error_code&) { return number(part); }
    bool on_uint64(std::uint64_t, boost_json::string_view part, error_code&) {
        return number(part);
    }
    bool on_double(double, boost_json::string_view part, error_code&) { return number(part); }

    bool on_bool(bool truth, error_code&) { return add(kind::boolean, truth); }
    bool on_null(error_code&) { return add(kind::null); }
    bool on_comment_part(boost_json::string_view, error_code&) { return true; }
    bool on_comment(boost_json::string_view, error_code&) { return true; }

  private:
    bool append(boost_json::string_view part) {
        made_.texts.append(part.data(), part.size());
        return true;
    }

    /// Returns the text that was appended since the last call.
    [[nodiscard]] part take_text() {
        const auto end = static_cast<std::uint32_t>(made_.texts.size());
        const auto begin = std::exchange(text_begin_, end);
        return {.begin = begin, .size = end - begin};
    }

    bool add(json::kind k, bool truth = false) {
        if (!open_.empty() && stack_.size() - open_.back() == limits::max_json_members)
            throw error{errc::invalid_policy, "JSON: an array or object has more than " +
                                                  std::to_string(limits::max_json_members) +
                                                  " values"};
        if (++values_ > limits::max_json_values)
            throw error{errc::invalid_policy, "JSON: the document has more than " +
                                                  std::to_string(limits::max_json_values) +
                                                  " values"};
        stack_.push_back(
            {.name = std::exchange(name_, {}), .content = take_text(), .kind = k, .truth = truth});
        return true;
    }

    bool number(boost_json::string_view part) {
        append(part);
        return add(kind::number);
    }

    bool open(json::kind k) {
        add(k);
        open_.push_back(stack_.size());
        return true;
    }

    bool close() {
        const auto inside = stack_.begin() + static_cast<std::ptrdiff_t>(open_.back());
        auto& closed = stack_[open_.back() - 1];
        closed.content = {.begin = static_cast<std::uint32_t>(made_.values.size()),
                          .size = static_cast<std::uint32_t>(stack_.end() - inside)};
        made_.values.insert(made_.values.end(), inside, stack_.end());
        stack_.erase(inside, stack_.end());
        open_.pop_back();
        return true;
    }

    document made_;
    std::vector<value> stack_;
    std::vector<std::size_t>
        open_; ///< where on the stack the values of each open array or object begin
    part name_;
    std::uint32_t text_begin_ = 0;
    std::size_t values_ = 0;
};

[[noreturn]] void refuse(std::string_view text, std::size_t at, const std::string& reason) {
    const auto before = text.substr(0, at);
    const auto line = 1 + std::ranges::count(before, '\n');
    const auto line_start = before.rfind('\n') + 1; // 0 if there is none
    throw error{errc::invalid_policy, "JSON, line " + std::to_string(line) + ", column " +
                                          std::to_string(at - line_start + 1) + ": " + reason};
}

[[nodiscard]] std::string reason_of(const error_code& ec) {
    if (ec == boost_json::error::too_deep)
        return "nested deeper than " + std::to_string(limits::max_json_depth) + " levels";
    if (ec == boost_json::error::incomplete)
        return "the document ends too early";
    return ec.message();
}

} // namespace

document parse(std::string_view text, std::size_t most) {
    if (text.size() > most)
        throw error{errc::invalid_policy,
                    "JSON: document too long (got " + std::to_string(text.size()) +
                        " bytes, expected at most " + std::to_string(most) + ")"};
    if (text.starts_with("\xef\xbb\xbf"))
        throw error{
            errc::invalid_policy,
            "JSON: the document begins with a byte order mark (expected UTF-8 without one: save it "
            "without, or remove its first three bytes)"};
    if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
        throw error{errc::invalid_policy, "JSON: the document is UTF-16 (expected UTF-8)"};
    boost_json::parse_options options;
    options.max_depth = limits::max_json_depth;
    boost_json::basic_parser<builder> parser{options};
    parser.handler().expect(text.size());
    error_code ec;
    const auto read = parser.write_some(false, text.data(), text.size(), ec);
    if (ec)
        refuse(text, read, reason_of(ec));
    if (read != text.size())
        refuse(text, read, "something follows the end of the document");
    return parser.handler().take();
}

} // namespace colimit::json
