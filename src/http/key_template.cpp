// SPDX-License-Identifier: BSL-1.0
//
// Key templates: the parser, and the keys of requests. Each part is one field of a key, so the
// fields of two keys of a template can be compared one by one.
//
// A value that is repeated counts as missing. Which of two equal header fields or parameters a
// server reads is not known here; if the key had the other one, or both, a client could choose a
// new key for each request and still be the same client.

#include <colimit/http_key.hpp>

#include <base/bytes.hpp>
#include <colimit/detail/access.hpp>
#include <colimit/error.hpp>
#include <colimit/limits.hpp>
#include <core/compiled_policy.hpp>
#include <http/blanks.hpp>
#include <http/path.hpp>
#include <rule_text/cursor.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

namespace colimit::http {
namespace {

/// In the order of `key_template::kind`.
constexpr std::array<std::string_view, 7> kind_names = {"ip",     "route",  "method", "user",
                                                        "global", "header", "query"};
constexpr std::string_view tag_name = "tag";
constexpr std::string_view verified_name = "verified";
constexpr std::string_view expected_part =
    "a part: ip, route, method, user, global, header:NAME, query:NAME, verified:header:NAME, "
    "verified:query:NAME, tag:NAME";

/// The field of a part without a value; no scope has this name.
constexpr std::string_view no_value = "none";

/// Returns the value of a field; nullopt if it is missing or empty, or given several times.
[[nodiscard]] std::optional<std::string_view> field_value(const header_fields& fields,
                                                          std::string_view name) {
    auto found = std::string_view{};
    auto count = 0;
    fields.for_each(name, [&](std::string_view value) {
        found = without_blanks(value);
        ++count;
    });
    return count == 1 && !found.empty() ? std::optional{found} : std::nullopt;
}

/// Returns the method, as long as clients cannot choose among many.
[[nodiscard]] std::string_view method_value(std::string_view method) noexcept {
    constexpr std::array<std::string_view, 8> known = {"GET",     "POST",    "PUT",   "DELETE",
                                                       "CONNECT", "OPTIONS", "TRACE", "PATCH"};
    const auto is = [method](std::string_view name) {
        return std::ranges::equal(method, name, {}, detail::upper);
    };
    if (is("HEAD"))
        return "GET";
    const auto* const found = std::ranges::find_if(known, is);
    return found != known.end() ? *found : "other";
}

/// Asks the server; if it throws, it does not know the value.
[[nodiscard]] bool is_known(const request& r, const key_context& context, std::string_view part,
                            std::string_view value) noexcept {
    try {
        return context.verifier != nullptr && *context.verifier &&
               (*context.verifier)(r, part, value);
    } catch (...) {
        return false;
    }
}

/// Returns the name in a field of a key such as `header:x-api-key`.
[[nodiscard]] std::string_view name_in(std::string_view field) noexcept {
    return field.substr(field.find(':') + 1);
}

/// Returns the decoded text, which is in the buffer unless it needs no decoding.
[[nodiscard]] std::string_view decoded(std::string_view text, std::string& buffer) {
    if (text.find_first_of("%+") == std::string_view::npos)
        return text;
    buffer.clear();
    while (!text.empty()) {
        const auto escaped = escaped_byte(text);
        buffer += escaped.value_or(text.front() == '+' ? ' ' : text.front());
        text.remove_prefix(escaped ? 3 : 1);
    }
    return buffer;
}

/// Returns the value of a parameter in the query of a request target, encoded as forms are: `+` is
/// a space, and a percent sign without two digits is itself; nullopt if it is missing or empty, or
/// given several times.
/// @param buffer holds a value that has to be decoded
[[nodiscard]] std::optional<std::string_view>
query_parameter(std::string_view query, std::string_view name, std::string& buffer) {
    auto found = std::optional<std::string_view>{};
    while (!query.empty()) {
        const auto pair = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(pair.size() + 1, query.size()));
        const auto key = pair.substr(0, pair.find('='));
        if (decoded(key, buffer) != name)
            continue;
        if (found)
            return std::nullopt;
        found = pair.substr(std::min(key.size() + 1, pair.size()));
    }
    if (!found || found->empty())
        return std::nullopt;
    return decoded(*found, buffer);
}

} // namespace

struct key_template::parser {
    text::cursor at;
    key_template& made; // NOLINT(cppcoreguidelines-avoid-const-or-ref-data-members)
    std::size_t count = 0;

    void parse() {
        do {
            parse_part();
        } while (at.take('+'));
        if (!at.at_end())
            at.unexpected(at.at(), "+, | or the end");
        if (made.parts_.empty())
            at.refuse(0,
                      "a tag alone is no key; add what identifies a client, such as ip+tag:NAME");
    }

    void parse_part() {
        auto part = alternatives{};
        at.skip_blanks();
        const auto start_of_part = at.at();
        do {
            at.skip_blanks();
            const auto start = at.at();
            const auto word = at.take_all(core::is_name_character);
            if (word == tag_name)
                return parse_tag(start, part);
            if (!part.empty() && always_has_value(part.back()))
                at.refuse(start, "an alternative to " + part.back().name +
                                     " is never used, as that always has a value");
            part.push_back(parse_source(start, word));
            if (const auto* const earlier = value_before_last(part))
                at.refuse(start, "an alternative to " + earlier->name +
                                     " is never used, as it has no other value");
            at.skip_blanks();
        } while (at.take('|'));
        if (std::ranges::find(made.parts_, part) != made.parts_.end())
            at.refuse(start_of_part, "a part is given twice, which makes no other key");
        made.parts_.push_back(std::move(part));
    }

    [[nodiscard]] source parse_source(std::size_t start, std::string_view word) {
        if (word == verified_name)
            return parse_verified();
        const auto known = std::ranges::find(kind_names, word);
        if (known == kind_names.end())
            at.unexpected(start, std::string{expected_part});
        if (++count > limits::max_key_template_parts)
            at.refuse(start, "too many parts and alternatives (expected at most " +
                                 std::to_string(limits::max_key_template_parts) + ")");
        const auto k = static_cast<kind>(known - kind_names.begin());
        auto name = std::string{word};
        if (k == kind::header || k == kind::query)
            name.append(":").append(parse_name(k == kind::header));
        return {.kind = k, .name = std::move(name)};
    }

    [[nodiscard]] source parse_verified() {
        const auto colon = at.at();
        if (!at.take(':'))
            at.unexpected(colon, "a colon and header:NAME or query:NAME");
        const auto start = at.at();
        const auto word = at.take_all(core::is_name_character);
        if (word != "header" && word != "query")
            at.unexpected(start, "header:NAME or query:NAME");
        auto made = parse_source(start, word);
        made.is_verified = true;
        return made;
    }

    void parse_tag(std::size_t start, const alternatives& before) {
        if (!before.empty())
            at.refuse(start, "a tag is not an alternative");
        if (made.tag_)
            at.refuse(start, "a key has one tag, and this is the second");
        made.tag_ = parse_name(false);
        at.skip_blanks();
        if (at.at('|'))
            at.refuse(at.at(), "a tag has no alternatives");
    }

    [[nodiscard]] std::string parse_name(bool in_lower_case) {
        const auto colon = at.at();
        if (!at.take(':'))
            at.unexpected(colon, "a colon and a name");
        const auto start = at.at();
        auto name = std::string{at.take_all(core::is_name_character)};
        if (name.empty())
            at.unexpected(start, "a name of [A-Za-z0-9_.-]");
        if (name.size() > limits::max_name_length)
            at.refuse(start, "the name is too long (got " + std::to_string(name.size()) +
                                 " characters, expected at most " +
                                 std::to_string(limits::max_name_length) + ")");
        if (in_lower_case)
            std::ranges::transform(name, name.begin(), detail::lower);
        return name;
    }

    /// Returns an earlier alternative that has a value whenever the last one has.
    [[nodiscard]] static const source* value_before_last(const alternatives& part) noexcept {
        const auto earlier = std::span{part}.first(part.size() - 1);
        const auto found = std::ranges::find_if(earlier, [&last = part.back()](const source& s) {
            return s.name == last.name && (!s.is_verified || last.is_verified);
        });
        return found != earlier.end() ? &*found : nullptr;
    }

    [[nodiscard]] static bool always_has_value(const source& s) noexcept {
        return s.kind == kind::ip || s.kind == kind::route || s.kind == kind::method ||
               s.kind == kind::global;
    }
};

key_template::key_template(std::string_view text) {
    if (text.size() > limits::max_key_template_bytes)
        throw error{errc::invalid_policy, "key template: too long (got " +
                                              std::to_string(text.size()) +
                                              " bytes, expected at most " +
                                              std::to_string(limits::max_key_template_bytes) + ")"};
    parser{{"key template", text}, *this}.parse();
}

scoped_key key_template::key_of(const request& r, const key_context& context) const {
    using detail::access;
    auto key = access::empty_key<scoped_key>();
    auto buffer = std::string{};
    const auto add = [&](const source& s, std::optional<std::string_view> value) {
        if (value && s.is_verified && !is_known(r, context, s.name, *value))
            return false;
        if (value)
            key = access::with_field(key, s.name, *value);
        return value.has_value();
    };
    const auto add_source = [&](const source& s) {
        switch (s.kind) {
        case kind::ip:
            key = key.address(context.client, context.prefixes);
            return true;
        case kind::route:
            return add(s, context.route);
        case kind::method:
            return add(s, method_value(r.method));
        case kind::user:
            return context.user && !context.user->empty() && add(s, context.user);
        case kind::global:
            key = access::with_name(key, s.name);
            return true;
        case kind::header:
            return add(s, field_value(r.fields, name_in(s.name)));
        case kind::query:
            return add(s, query_parameter(split_target(r.target).query, name_in(s.name), buffer));
        }
        return false;
    };
    for (const auto& part : parts_)
        if (!std::ranges::any_of(part, add_source))
            key = access::with_name(key, no_value);
    return tag_ ? key.tagged(*tag_) : key;
}

bool key_template::is_chosen_by_client() const noexcept {
    return std::ranges::any_of(parts_, [](const alternatives& part) {
        return std::ranges::any_of(part, [](const source& s) {
            return !s.is_verified && (s.kind == kind::header || s.kind == kind::query);
        });
    });
}

bool key_template::uses_user() const noexcept {
    return std::ranges::any_of(parts_, [](const alternatives& part) {
        return std::ranges::find(part, kind::user, &source::kind) != part.end();
    });
}

std::string to_string(const key_template& t) {
    auto out = std::string{};
    for (const auto& part : t.parts_)
        for (const auto& s : part) {
            if (!out.empty())
                out += &s == &part.front() ? '+' : '|';
            if (s.is_verified)
                out.append(verified_name).append(":");
            out += s.name;
        }
    return t.tag_ ? out + "+tag:" + *t.tag_ : out;
}

} // namespace colimit::http
