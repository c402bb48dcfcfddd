// SPDX-License-Identifier: BSL-1.0
//
// Reads the arguments of a script call.

#include <base/bytes.hpp>
#include <colimit/limits.hpp>
#include <server_module/refusal.hpp>
#include <server_module/script_arguments.hpp>

#include <charconv>
#include <optional>
#include <string>
#include <system_error>

namespace colimit::server_module {
namespace {

[[nodiscard]] std::optional<std::int64_t> number_in(std::string_view text) noexcept {
    auto number = std::int64_t{0};
    const auto* first = text.data();
    const auto* last = first + text.size();
    const auto [end, code] = std::from_chars(first, last, number);
    const auto begins_well = !text.empty() && detail::is_digit(text.front()); // not `-0`
    if (!begins_well || code != std::errc{} || end != last || number > limits::max_exact_integer)
        return std::nullopt;
    return number;
}

} // namespace

std::int64_t whole_number(std::string_view text, std::string_view name, std::int64_t least) {
    const auto number = number_in(text);
    if (!number || *number < least)
        refuse(name, "not a number in range",
               "a whole number from " + std::to_string(least) + " to 9007199254740991");
    return *number;
}

void tell_keys(api::context* where, api::string** words, int count) noexcept {
    const auto keys = count < 2 ? std::nullopt : number_in(api::text_of(words[1]));
    if (!keys)
        return;
    for (int i = 2; i < count && i - 1 <= *keys; ++i)
        api::key_at(where, i);
}

script_arguments script_arguments::read(std::span<api::string*> after_name) {
    if (after_name.empty()) // Redis 6.2 does not know the arity of the command
        refuse("arguments", "none", "numkeys and the keys");
    const auto keys = whole_number(api::text_of(after_name[0]), "numkeys");
    const auto given = after_name.size() - 1;
    if (keys == 0 || static_cast<std::uint64_t>(keys) > given)
        refuse("numkeys", "not a number of keys", "1 to the number of arguments after it");
    const auto found = script_arguments{
        .all = after_name,
        .keys = after_name.subspan(1, static_cast<std::size_t>(keys)),
        .rest = after_name.subspan(1 + static_cast<std::size_t>(keys)),
    };
    if (found.rest.size() < fewest_arguments)
        refuse("arguments", "too few after the keys",
               "policy, nonce, clock, shortest TTL and calls");
    return found;
}

command_clock script_arguments::clock(api::context* where) const {
    auto clock = command_clock::read(api::text_of(rest[2]));
    // Only a master, and the AOF, tell the time at which they have decided.
    if (!clock || (clock->source == clock_source::origin && !is_replicated_or_loading(where)))
        refuse("clock", "not a time", "nothing, or microseconds from 0 to 4503599627370496");
    return *clock;
}

namespace {

/// @param least of the TTL, in milliseconds
[[nodiscard]] std::int64_t ttl_in(std::string_view text, std::string_view name,
                                  std::int64_t least) {
    // Longer than this is not a time that the server accepts.
    constexpr auto longest = std::int64_t{1} << 42;
    const auto ttl = whole_number(text, name, least);
    if (ttl > longest)
        refuse(name, "too long", "up to 4398046511104 milliseconds");
    return ttl;
}

} // namespace

std::int64_t script_arguments::least_ttl() const {
    const auto text = api::text_of(rest[3]);
    return ttl_in(text.substr(0, text.find(' ')), "shortest TTL", 0);
}

std::optional<std::int64_t> script_arguments::record_ttl() const {
    const auto text = api::text_of(rest[3]);
    const auto at = text.find(' ');
    if (at == std::string_view::npos)
        return std::nullopt;
    return ttl_in(text.substr(at + 1), "TTL of records", 1);
}

} // namespace colimit::server_module
