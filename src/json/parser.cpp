// SPDX-License-Identifier: BSL-1.0
//
// Boost.JSON, compiled into this one file under another name: boost::json is
// boost::colimit_private_json here. So no compiled Boost.JSON is needed, and a program that links
// one, or includes <boost/json/src.hpp> itself, perhaps of another version, has no symbol twice.
// Its events become colimit's own values, since its own would merge members of one name and round
// large numbers.

#define json colimit_private_json // NOLINT(readability-identifier-naming): renames a namespace
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/src.hpp>
#undef json

#include <colimit/error.hpp>
#include <colimit/limits.hpp>
#include <json/parser.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

namespace colimit::json {
namespace {

namespace boost_json = boost::colimit_private_json;

/// Takes the parser's events and keeps what is open on a stack of its own.
class builder {
  public:
    static constexpr auto max_object_size = std::numeric_limits<std::size_t>::max();
    static constexpr auto max_array_size = max_object_size;
    static constexpr auto max_key_size = max_object_size;
    static constexpr auto max_string_size = max_object_size;

    [[nodiscard]] value take() { return std::move(root_); }

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
        name_ = std::exchange(text_, {});
        return true;
    }

    bool on_string_part(boost_json::string_view part, std::size_t, error_code&) {
        return append(part);
    }
    bool on_string(boost_json::string_view part, std::size_t, error_code&) {
        append(part);
        return add_text(kind::string);
    }

    bool on_number_part(boost_json::string_view part, error_code&) { return append(part); }
    bool on_int64(std::int64_t, boost_json::string_view part, error_code&) { return number(part); }
    bool on_uint64(std::uint64_t, boost_json::string_view part, error_code&) {
        return number(part);
    }
    bool on_double(double, boost_json::string_view part, error_code&) { return number(part); }

    bool on_bool(bool truth, error_code&) {
        auto v = make(kind::boolean);
        v.truth = truth;
        return add(std::move(v));
    }
    bool on_null(error_code&) { return add(make(kind::null)); }
    bool on_comment_part(boost_json::string_view, error_code&) { return true; }
    bool on_comment(boost_json::string_view, error_code&) { return true; }

  private:
    [[nodiscard]] value make(json::kind k) {
        if (!open_.empty() && open_.back().content.size() == limits::json_members)
            throw error{errc::invalid_policy, "JSON: an array or object has more than " +
                                                  std::to_string(limits::json_members) + " values"};
        if (++values_ > limits::json_values)
            throw error{errc::invalid_policy, "JSON: the document has more than " +
                                                  std::to_string(limits::json_values) + " values"};
        auto v = value{};
        v.kind = k;
        v.name = std::exchange(name_, {});
        return v;
    }

    bool append(boost_json::string_view part) {
        text_.append(part.data(), part.size());
        return true;
    }

    bool add(value&& v) {
        (open_.empty() ? root_ : open_.back().content.emplace_back()) = std::move(v);
        return true;
    }

    bool add_text(json::kind k) {
        auto v = make(k);
        v.text = std::exchange(text_, {});
        return add(std::move(v));
    }

    bool number(boost_json::string_view part) {
        append(part);
        return add_text(kind::number);
    }

    bool open(json::kind k) {
        open_.push_back(make(k));
        return true;
    }

    bool close() {
        auto done = std::move(open_.back());
        open_.pop_back();
        return add(std::move(done));
    }

    value root_;
    std::vector<value> open_;
    std::string name_;
    std::string text_;
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
        return "nested deeper than " + std::to_string(limits::json_depth) + " levels";
    if (ec == boost_json::error::incomplete)
        return "the document ends too early";
    return ec.message();
}

} // namespace

value parse(std::string_view text) {
    if (text.size() > limits::json_bytes)
        throw error{errc::invalid_policy,
                    "JSON: the document is too long: " + std::to_string(limits::json_bytes) +
                        " bytes are allowed, it has " + std::to_string(text.size())};
    boost_json::parse_options options;
    options.max_depth = limits::json_depth;
    boost_json::basic_parser<builder> parser{options};
    error_code ec;
    const auto read = parser.write_some(false, text.data(), text.size(), ec);
    if (ec)
        refuse(text, read, reason_of(ec));
    if (read != text.size())
        refuse(text, read, "something follows the end of the document");
    return parser.handler().take();
}

} // namespace colimit::json
