// SPDX-License-Identifier: BSL-1.0
//
// Makes commands: first a valid one, then perhaps changes to it.

#include <server_module/hostile_commands.hpp>

#include <base/bytes.hpp>
#include <core/bloom.hpp>
#include <core/policy_encoding.hpp>
#include <core/rule_kind.hpp>
#include <differential/random_policy.hpp>
#include <policy/policy_data.hpp>
#include <support/rng.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>

namespace colimit::test {
namespace {

using detail::append_number;

constexpr std::size_t key_count = 6;
constexpr auto expires_in = "60000"; // of what is planted, in milliseconds

/// A policy as the module gets it.
struct wire_policy {
    std::string bytes;
    std::size_t keys_each = 1;
    bool has_members = false; ///< its calls have them
    bool has_rules = true;
};

[[nodiscard]] std::vector<wire_policy> make_policies(bool packed) {
    auto d = rng{packed ? 2U : 1U};
    auto made = std::vector<wire_policy>{};
    while (made.size() < 64)
        for (const auto& p : differential::random_versions(d, d.percent(30), packed)) {
            const auto& rules = detail::access::data(p)->compiled;
            if (rules.has_slots) // the module refuses it
                continue;
            const auto sketches = std::ranges::count_if(rules.rules(), core::has_sketch);
            made.push_back({core::encode_policy(rules),
                            1 + (rules.has_log ? 1U : 0U) + static_cast<std::size_t>(sketches),
                            rules.has_distinct});
        }
    if (!packed)
        made.push_back({.bytes = detail::once_policy()->wire, .has_rules = false});
    return made;
}

[[nodiscard]] const wire_policy& any_policy(choices& from, bool packed) {
    static const auto plain = make_policies(false);
    static const auto in_hashes = make_policies(true);
    const auto& all = packed ? in_hashes : plain;
    return all[from.below(all.size())];
}

/// Returns a key of a family; a few have one name in all families.
[[nodiscard]] std::string any_key(choices& from, std::string_view family) {
    const auto number = from.below(key_count);
    return "{c}" + std::string{number == 0 ? "" : family} + std::to_string(number);
}

[[nodiscard]] std::string odd_number(choices& from) {
    static constexpr std::string_view odd[] = {
        "",    "0",   "1",  "2",  "-1",  "9007199254740991", "9007199254740992",    "3600000",
        "1e3", "nan", " 1", "1 ", "0x1", "2147483648",       "18446744073709551615"};
    return std::string{from.pick(odd)};
}

[[nodiscard]] std::string any_clock(choices& from) {
    if (from.percent(60))
        return "";
    if (from.percent(20))
        return odd_number(from);
    const auto now = 1'700'000'000'000'000 + static_cast<std::int64_t>(from.below(1U << 30U)) * 9;
    return (from.percent(30) ? "@" : "") + std::to_string(now);
}

[[nodiscard]] double any_cost(choices& from) {
    constexpr auto infinite = std::numeric_limits<double>::infinity();
    static constexpr double odd[] = {1e15,
                                     9007199254740991.0,
                                     9007199254740992.0,
                                     -1,
                                     0.5,
                                     1e300,
                                     infinite,
                                     std::numeric_limits<double>::quiet_NaN()};
    return from.percent(10) ? from.pick(odd) : static_cast<double>(from.below(1'000));
}

/// How often a call is made: seldom so often that it takes a second, for which a fuzzer has no
/// time.
[[nodiscard]] std::uint16_t any_times(choices& from) {
    if (from.percent(99))
        return static_cast<std::uint16_t>(from.below(4));
    return from.percent(95) || !from.are_endless() ? 255 : 65'535;
}

[[nodiscard]] std::uint8_t any_verb(choices& from, bool joint, const wire_policy& of) {
    static constexpr std::uint8_t of_no_rules[] = {1, 4, 5, 8, 8, 8};
    if (from.percent(5))
        return static_cast<std::uint8_t>(from.below(14));
    if (joint)
        return 0;
    return of.has_rules ? static_cast<std::uint8_t>(from.below(8)) : from.pick(of_no_rules);
}

void append_member(choices& from, std::string& out) {
    const auto member = from.bytes(from.below(12));
    append_number(out, static_cast<std::uint16_t>(member.size()));
    out += member;
}

void append_call(choices& from, std::string& out, std::size_t key, bool joint,
                 const wire_policy& of) {
    append_number(out, static_cast<std::uint16_t>(key));
    append_number(out, any_verb(from, joint, of));
    append_number(out, any_times(from));
    const auto cost = any_cost(from);
    append_number(out, cost);
    append_number(out, from.percent(70) ? std::min(cost, 1.0) : any_cost(from));
    if (of.has_members)
        append_member(from, out);
}

/// Returns the keys of a policy in an order that its calls may have.
[[nodiscard]] std::vector<std::size_t> in_any_order(choices& from, std::size_t keys,
                                                    std::size_t first = 0) {
    auto all = std::vector<std::size_t>(keys);
    std::iota(all.begin(), all.end(), first);
    for (auto left = keys; left > 1 && from.percent(50); --left)
        std::swap(all[left - 1], all[from.below(left)]);
    return all;
}

[[nodiscard]] std::string any_calls(choices& from, std::size_t keys, const wire_policy& of) {
    auto out = std::string{};
    if (!of.has_members && from.percent(40)) {
        const auto size = from.below(3);
        for (std::size_t key = 0; key < keys && size != 0; ++key) {
            const auto times = any_times(from);
            size == 2 ? append_number(out, times)
                      : append_number(out, static_cast<std::uint8_t>(times));
        }
        return out;
    }
    for (const auto key : in_any_order(from, keys))
        for (auto calls = 1 + from.below(2); calls > 0; --calls)
            append_call(from, out, key, false, of);
    return out;
}

/// Returns a call with an id for each key: of those arguments that a call may have, most of them.
[[nodiscard]] std::string calls_with_ids(choices& from, std::size_t keys, bool has_members) {
    static constexpr std::uint8_t verbs[] = {0, 0, 2, 3, 9};
    auto out = std::string{};
    for (std::size_t key = 0; key < keys; ++key) {
        append_number(out, static_cast<std::uint16_t>(key));
        append_number(out, from.percent(95) ? from.pick(verbs) : std::uint8_t{1});
        append_number(out, from.percent(98) ? std::uint16_t{1} : any_times(from));
        const auto cost = any_cost(from);
        append_number(out, cost);
        append_number(out, from.percent(70) ? std::min(cost, 1.0) : any_cost(from));
        if (has_members)
            append_member(from, out);
        out += from.bytes(16);
    }
    return out;
}

/// Appends what follows the keys of all commands with the script's arguments.
void append_common(choices& from, words& out, std::string policy, std::string calls,
                   bool has_ids = false) {
    out.push_back(std::move(policy));
    out.push_back(std::to_string(from.below(1U << 16U)));
    out.push_back(any_clock(from));
    out.push_back(from.percent(96) ? "0" : odd_number(from));
    if (has_ids)
        out.back() += from.percent(96) ? " 60000" : ' ' + odd_number(from);
    out.push_back(std::move(calls));
}

/// Appends the names of keys, of their logs if they have any, and of their other parts.
void append_names(choices& from, words& out, std::size_t keys, std::size_t keys_each) {
    for (std::size_t i = 0; i < keys * keys_each; ++i)
        out.push_back(any_key(from, i < keys                             ? "k"
                                    : i < 2 * keys && keys_each % 2 == 0 ? "l"
                                                                         : "s"));
}

[[nodiscard]] words plain_check(choices& from, bool has_ids) {
    const auto& policy = any_policy(from, false);
    const auto keys = 1 + from.below(4);
    const auto names = keys * (policy.keys_each + (has_ids ? 1 : 0));
    auto out = words{"COLIMIT.CHECK", std::to_string(names)};
    append_names(from, out, keys, policy.keys_each);
    while (out.size() < names + 2)
        out.push_back(any_key(from, "r"));
    append_common(from, out, policy.bytes,
                  has_ids ? calls_with_ids(from, keys, policy.has_members)
                          : any_calls(from, keys, policy),
                  has_ids);
    return out;
}

[[nodiscard]] words joint_check(choices& from) {
    auto keys = words{};
    auto policies = std::string{};
    auto calls = std::string{};
    auto counts = std::string{};
    const auto groups = 1 + from.below(4);
    for (std::size_t g = 0, first = 0; g < groups; ++g) {
        const auto& policy = any_policy(from, false);
        const auto size = from.percent(70) ? 1 : 1 + from.below(3);
        policies += policy.bytes;
        append_names(from, keys, size, policy.keys_each);
        for (const auto key : in_any_order(from, size, first))
            append_call(from, calls, key, true, policy);
        append_number(counts, static_cast<std::uint16_t>(size));
        first += size;
    }
    auto out = words{"COLIMIT.CHECK", std::to_string(keys.size())};
    out.insert(out.end(), keys.begin(), keys.end());
    append_common(from, out, policies, calls);
    out.push_back(counts);
    return out;
}

[[nodiscard]] words packed_check(choices& from, bool has_ids) {
    const auto& policy = any_policy(from, true);
    const auto shards = 1 + from.below(2);
    auto names = words{};
    auto sizes = std::string{};
    auto fields = words{};
    for (std::size_t s = 0; s < shards; ++s) {
        names.push_back(any_key(from, "h"));
        names.push_back(any_key(from, "o"));
        const auto size = 1 + from.below(3);
        append_number(sizes, static_cast<std::uint16_t>(size));
        for (std::size_t i = 0; i < size; ++i)
            fields.push_back("k:" + std::to_string(from.below(8)));
    }
    for (std::size_t i = 0; has_ids && i < fields.size(); ++i)
        names.push_back(any_key(from, "r"));
    auto out = words{"COLIMIT.CHECK", std::to_string(names.size())};
    out.insert(out.end(), names.begin(), names.end());
    append_common(from, out, policy.bytes,
                  has_ids ? calls_with_ids(from, fields.size(), policy.has_members)
                          : any_calls(from, fields.size(), policy),
                  has_ids);
    out.push_back(sizes);
    out.insert(out.end(), fields.begin(), fields.end());
    return out;
}

[[nodiscard]] words seen(choices& from) {
    static const auto shape = core::make_bloom(1'000, 0.01, 60'000'000);
    const auto blocks = 1 + from.below(2);
    auto out = words{"COLIMIT.SEEN", std::to_string(2 * blocks)};
    for (std::size_t i = 0; i < 2 * blocks; ++i)
        out.push_back(any_key(from, "f"));
    auto ids = std::string{};
    for (auto left = from.below(6); left > 0; --left) {
        static constexpr std::uint16_t kinds[] = {0, 1, 2, 16'384, 32'768, 65'535};
        const auto line = from.below(shape.lines);
        const auto first =
            std::to_string(core::bloom_shape::head_bytes + line * shape.line_bytes());
        const auto last =
            std::to_string(core::bloom_shape::head_bytes + (line + 1) * shape.line_bytes() - 1);
        append_number(ids, static_cast<std::uint16_t>(from.percent(80) ? 0 : from.pick(kinds)));
        for (const auto& text : {first, last}) {
            append_number(ids, static_cast<std::uint8_t>(text.size()));
            ids += text;
        }
        for (std::uint32_t w = 0; w < shape.words; ++w)
            append_number(ids, std::uint32_t{1} << from.below(32));
    }
    append_common(from, out, core::encode_filter(shape), ids);
    return out;
}

[[nodiscard]] words one_check(choices& from) {
    auto out = words{from.percent(50) ? "COLIMIT.ALLOW" : "CL.THROTTLE", any_key(from, "t")};
    for (std::size_t i = 2 + from.below(3); i > 0; --i)
        out.push_back(from.percent(80) ? std::to_string(from.below(100)) : odd_number(from));
    if (out.front() == "COLIMIT.ALLOW" && out.size() > 4 && from.percent(50))
        out[4] += from.percent(50) ? "s" : "ms";
    return out;
}

void change_bytes(choices& from, std::string& word) {
    switch (word.empty() ? 4 : from.below(5)) {
    case 0:
        word[from.below(word.size())] = static_cast<char>(from.below(256));
        break;
    case 1:
        word.resize(from.below(word.size()));
        break;
    case 2:
        word.erase(from.below(word.size()), 1 + from.below(8));
        break;
    case 3:
        word.insert(from.below(word.size()), from.bytes(1 + from.below(8)));
        break;
    default:
        word = from.percent(70) ? odd_number(from) : from.bytes(from.below(40));
    }
}

/// Changes the arguments of a command: its name stays.
void spoil(choices& from, words& command) {
    for (auto changes = 1 + from.below(3); changes > 0; --changes) {
        if (command.size() == 1) {
            command.push_back(odd_number(from));
            continue;
        }
        const auto at = 1 + from.below(command.size() - 1);
        const auto place = command.begin() + static_cast<std::ptrdiff_t>(at);
        switch (from.below(5)) {
        case 0:
            command.erase(place);
            break;
        case 1:
            command.insert(place, odd_number(from));
            break;
        case 2:
            command.resize(at);
            break;
        default:
            change_bytes(from, command[at]);
        }
    }
}

} // namespace

words script_command(choices& from) {
    const auto which = from.below(85);
    return which < 30   ? plain_check(from, false)
           : which < 40 ? plain_check(from, true)
           : which < 55 ? joint_check(from)
           : which < 65 ? packed_check(from, false)
           : which < 70 ? packed_check(from, true)
                        : seen(from);
}

words module_command(choices& from) {
    auto command = from.percent(85) ? script_command(from) : one_check(from);
    if (from.percent(40))
        spoil(from, command);
    return command;
}

words foreign_command(choices& from) {
    static constexpr std::string_view families[] = {"k", "l", "s", "h", "o", "f", "t", "r"};
    const auto key = any_key(from, from.pick(families));
    switch (from.below(5)) {
    case 0:
        return {"SET", key, from.bytes(from.below(120)), "PX", expires_in};
    case 1: // the value keeps its TTL
        return {"SET", key, from.bytes(8 + 36 * from.below(4)), "XX", "KEEPTTL"};
    case 2:
        return {"EVAL",
                "redis.call('RPUSH', KEYS[1], 'x') return redis.call('PEXPIRE', KEYS[1], 60000)",
                "1", key};
    case 3:
        return {"EVAL",
                "redis.call(ARGV[1], KEYS[1], ARGV[2], ARGV[3]) "
                "return redis.call('PEXPIRE', KEYS[1], 60000)",
                "1",
                key,
                from.percent(50) ? "HSET" : "ZADD",
                from.percent(50) ? "" : std::to_string(from.below(1U << 30U)),
                from.bytes(from.below(100))};
    default:
        return {"DEL", key};
    }
}

words hostile_command(choices& from) {
    return from.percent(90) ? module_command(from) : foreign_command(from);
}

} // namespace colimit::test
