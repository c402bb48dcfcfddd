// SPDX-License-Identifier: BSL-1.0
//
// Parses the elements of `X-Forwarded-For` and `Forwarded`.

#include <http/forwarding_fields.hpp>

#include <base/bytes.hpp>
#include <core/compiled_policy.hpp>
#include <http/address_text.hpp>
#include <http/blanks.hpp>
#include <rule_text/cursor.hpp>

#include <algorithm>

namespace colimit::http {
namespace {

using boost::asio::ip::address;
constexpr auto npos = std::string_view::npos;

/// Returns whether the quote at this position is a character of a quoted string.
[[nodiscard]] bool is_escaped(std::string_view line, std::size_t quote) noexcept {
    auto begin = quote;
    while (begin > 0 && line[begin - 1] == '\\')
        --begin;
    return (quote - begin) % 2 == 1;
}

/// Returns the position of the last comma that is not in a quoted string, or npos.
[[nodiscard]] std::size_t last_comma(std::string_view line, bool has_quotes) noexcept {
    if (!has_quotes)
        return line.rfind(',');
    auto is_quoted = false;
    for (auto i = line.size(); i-- > 0;) {
        if (line[i] == '"' && !is_escaped(line, i))
            is_quoted = !is_quoted;
        else if (line[i] == ',' && !is_quoted)
            return i;
    }
    return npos;
}

/// Returns whether it is a port, or an obfuscated one: `80`, `_secret` (RFC 7239, section 6.3).
[[nodiscard]] bool is_port(std::string_view text) noexcept {
    const auto is_number = text.size() <= 5 && std::ranges::all_of(text, detail::is_digit);
    const auto is_obfuscated =
        text.starts_with('_') && std::ranges::all_of(text, core::is_name_character);
    return is_obfuscated ? text.size() > 1 : !text.empty() && is_number;
}

/// Parses an address, perhaps with a port: `192.0.2.1:80`, `[2001:db8::1]:80`.
[[nodiscard]] std::optional<address> parse_host(std::string_view text) noexcept {
    const auto bracket = text.find(']');
    if (text.starts_with('[') && bracket != npos) {
        const auto host = text.substr(1, bracket - 1);
        const auto port = text.substr(bracket + 1);
        const auto is_v6 = host.find(':') != npos;
        const auto has_end = port.empty() || (port[0] == ':' && is_port(port.substr(1)));
        return is_v6 && has_end ? parse_address(host) : std::nullopt;
    }
    const auto colon = text.find(':');
    const auto has_port = colon != npos && text.find(':', colon + 1) == npos;
    if (has_port && !is_port(text.substr(colon + 1)))
        return std::nullopt;
    return parse_address(has_port ? text.substr(0, colon) : text);
}

[[nodiscard]] bool is_token_character(char c) noexcept {
    return text::is_word_character(c) || std::string_view{"!#$%&'*+-.^`|~"}.find(c) != npos;
}

/// A value without quotes. Some proxies write `for=[2001:db8::1]:80`, which needs them.
[[nodiscard]] bool is_value_character(char c) noexcept {
    return is_token_character(c) || c == '[' || c == ']' || c == ':';
}

/// A value in a `Forwarded` element, with its escapes: no address has any.
[[nodiscard]] std::optional<std::string_view> take_value(std::string_view& text) noexcept {
    if (!text.starts_with('"')) {
        const auto end = std::ranges::find_if_not(text, is_value_character) - text.begin();
        const auto value = text.substr(0, static_cast<std::size_t>(end));
        text.remove_prefix(value.size());
        return value.empty() ? std::nullopt : std::optional{value};
    }
    auto end = text.find('"', 1);
    while (end != npos && is_escaped(text, end))
        end = text.find('"', end + 1);
    if (end == npos)
        return std::nullopt;
    const auto value = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    return value;
}

/// Returns the only `for` of an element; nullopt if it has none, several, or another syntax.
[[nodiscard]] std::optional<std::string_view> for_value(std::string_view element) noexcept {
    auto found = std::optional<std::string_view>{};
    while (true) {
        element = without_blanks(element);
        const auto name = element.substr(0, element.find('='));
        if (name.size() == element.size() || !std::ranges::all_of(name, is_token_character))
            return std::nullopt;
        element.remove_prefix(name.size() + 1);
        const auto value = take_value(element);
        const auto is_for = text::same_word(name, "for");
        if (!value || (is_for && found))
            return std::nullopt;
        if (is_for)
            found = value;
        element = without_blanks(element);
        if (element.empty())
            return found;
        if (element.front() != ';')
            return std::nullopt;
        element.remove_prefix(1);
    }
}

} // namespace

forwarding_list::forwarding_list(const header_fields& fields, syntax s) : syntax_(s) {
    const auto* const name = s == syntax::pairs ? "Forwarded" : "X-Forwarded-For";
    fields.for_each(name, [this](std::string_view line) {
        if (line.find_first_not_of(" \t,") == npos)
            return;
        newest_ = (newest_ + 1) % lines_.size();
        lines_[newest_] = line;
        count_ = std::min(count_ + 1, lines_.size());
    });
}

std::optional<address> forwarding_list::next() {
    const auto element = last_element();
    if (element.empty())
        return std::nullopt;
    const auto host = syntax_ == syntax::pairs ? for_value(element) : std::optional{element};
    const auto parsed = host ? parse_host(*host) : std::nullopt;
    return parsed ? std::optional{canonical(*parsed)} : std::nullopt;
}

/// Empty elements are ignored, as in every list (RFC 9110, section 5.6.1).
std::string_view forwarding_list::last_element() {
    while (count_ != 0) {
        auto& line = lines_[newest_];
        const auto comma = last_comma(line, syntax_ == syntax::pairs);
        const auto element = without_blanks(line.substr(comma == npos ? 0 : comma + 1));
        line = line.substr(0, comma == npos ? 0 : comma);
        if (comma == npos) {
            newest_ = (newest_ + lines_.size() - 1) % lines_.size();
            --count_;
        }
        if (!element.empty())
            return element;
    }
    return {};
}

} // namespace colimit::http
