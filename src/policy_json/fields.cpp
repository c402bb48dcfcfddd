// SPDX-License-Identifier: BSL-1.0
//
// Checked access to values, and the error messages.

#include <colimit/limits.hpp>
#include <core/compiled_policy.hpp>
#include <policy_json/fields.hpp>
#include <rule_text/cursor.hpp>
#include <rule_text/times.hpp>

#include <algorithm>
#include <charconv>
#include <vector>

namespace colimit::json {
namespace {

/// Numbers with more digits are shortened in messages.
constexpr std::size_t shown_digits = 40;

[[nodiscard]] std::string path_of(const std::string& object, std::string_view name) {
    const auto is_plain = !name.empty() && name.size() <= limits::max_name_length &&
                          std::ranges::all_of(name, core::is_name_character);
    if (!is_plain)
        return object + "[" + text::quoted(name) + "]";
    return (object.empty() ? "" : object + ".") + std::string{name};
}

} // namespace

std::string node_ref::described() const {
    switch (value_->kind) {
    case kind::null:
        return "null";
    case kind::boolean:
        return value_->truth ? "true" : "false";
    case kind::number:
        return std::string{written().substr(0, shown_digits)} +
               (written().size() > shown_digits ? "..." : "");
    case kind::string:
        return "the text " + text::quoted(written());
    case kind::array:
        return "an array";
    case kind::object:
        return "an object";
    }
    return {};
}

void node_ref::refuse(const std::string& reason) const {
    throw error{errc::invalid_policy, (path_.empty() ? "the document" : path_) + ": " + reason};
}

void node_ref::unexpected(std::string_view expected) const {
    refuse("invalid value (got " + described() + ", expected " + std::string{expected} + ")");
}

node_ref node_ref::element(std::size_t i) const {
    return {*document_, document_->inside(*value_, i), path_ + "[" + std::to_string(i) + "]"};
}

node_ref node_ref::member(std::size_t i) const {
    return {*document_, document_->inside(*value_, i), path_of(path_, name_of(i))};
}

std::int64_t node_ref::integer(std::int64_t least, std::int64_t most) const {
    const auto digits = written();
    if (!is(kind::number))
        unexpected("a whole number");
    const auto is_negative = digits.starts_with('-');
    if (!std::ranges::all_of(digits.substr(is_negative ? 1 : 0), text::is_digit))
        unexpected("a whole number without fraction and exponent");
    auto number = std::int64_t{0};
    const auto [end, failed] =
        std::from_chars(digits.data(), digits.data() + digits.size(), number);
    const auto is_too_large = failed != std::errc{};
    if (is_too_large ? is_negative : number < least)
        unexpected("at least " + std::to_string(least));
    if (is_too_large || number > most)
        unexpected("at most " + std::to_string(most));
    return number;
}

bool node_ref::boolean() const {
    if (!is(kind::boolean))
        unexpected("true or false");
    return value_->truth;
}

std::string_view node_ref::text(std::string_view expected) const {
    if (!is(kind::string))
        unexpected(expected);
    return written();
}

std::string_view node_ref::name_text() const {
    const auto name = text("a name");
    core::check_name(name, path_, true, errc::invalid_policy);
    return name;
}

std::int64_t node_ref::duration() const {
    if (is(kind::number))
        unexpected("a text with a unit, such as \"5s\"");
    const auto written = text("a duration such as \"5s\"");
    return with_path([&] { return text::parse_duration(written); });
}

fields::fields(node_ref object) : object_(std::move(object)) {
    if (!object_.is(kind::object))
        object_.unexpected("an object");
    std::vector<node_ref> members;
    members.reserve(object_.size());
    for (std::size_t i = 0; i < object_.size(); ++i)
        members.push_back(object_.member(i));
    std::ranges::sort(members, {}, &node_ref::name);
    const auto twin = std::ranges::adjacent_find(members, {}, &node_ref::name);
    if (twin != members.end())
        twin->refuse("is given twice");
}

void fields::allow_only(std::span<const std::string_view> names) const {
    for (std::size_t i = 0; i < object_.size(); ++i)
        if (const auto field = object_.member(i); std::ranges::count(names, field.name()) == 0)
            field.refuse("unknown field (expected one of " + text::listed(names) + ")");
}

std::size_t fields::find(std::string_view name) const noexcept {
    std::size_t i = 0;
    while (i < object_.size() && object_.name_of(i) != name)
        ++i;
    return i;
}
node_ref fields::operator[](std::string_view name) const {
    const auto i = find(name);
    if (i == object_.size())
        object_.refuse(std::string{name} + " is missing");
    return object_.member(i);
}

} // namespace colimit::json
