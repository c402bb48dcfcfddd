// SPDX-License-Identifier: BSL-1.0
//
// Arguments of COLIMIT.CHECK, as the library sends them.

#pragma once

#include <base/bytes.hpp>
#include <colimit/detail/call_request.hpp>
#include <core/verb_traits.hpp>
#include <policy/policy_data.hpp>
#include <server_module/fake_data.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace colimit::test {

/// Returns the bytes of a call.
[[nodiscard]] inline std::string call_bytes(std::uint16_t key, detail::verb v, double cost,
                                            std::uint16_t times = 1) {
    auto out = std::string{};
    detail::append_number(out, key);
    detail::append_number(out, static_cast<std::uint8_t>(v));
    detail::append_number(out, times);
    detail::append_number(out, cost);
    detail::append_number(out, core::traits_of(v).takes_grant ? cost : 0.0);
    return out;
}

/// Returns a command; no calls are an allow of cost 1 for each key.
[[nodiscard]] inline fake::words check_words(const policy& of, const fake::words& keys,
                                             std::string_view calls = {},
                                             std::string_view clock = {}) {
    auto out = fake::words{"COLIMIT.CHECK", std::to_string(keys.size())};
    out.insert(out.end(), keys.begin(), keys.end());
    out.insert(out.end(),
               {detail::access::data(of)->wire, "7", std::string{clock}, "0", std::string{calls}});
    return out;
}

/// Returns the bytes of a call with an id.
[[nodiscard]] inline std::string id_call_bytes(std::uint16_t key, detail::verb v, double cost,
                                               std::optional<std::string_view> member = {}) {
    auto out = call_bytes(key, v, cost);
    if (v != detail::verb::allow) // at_least is the cost
        out.replace(out.size() - sizeof cost, sizeof cost,
                    out.substr(out.size() - 2 * sizeof cost, sizeof cost));
    if (member) {
        detail::append_number(out, static_cast<std::uint16_t>(member->size()));
        out.append(*member);
    }
    return out.append("policy..member..");
}

/// Returns a command whose calls have ids.
/// @param names the keys, their logs and sketches, or the hashes of shards; then the records
/// @param fields of the keys, all in one shard, if the policy is packed
[[nodiscard]] inline fake::words request_words(const policy& of, const fake::words& names,
                                               std::string_view calls, std::string_view clock = {},
                                               const fake::words& fields = {}) {
    auto out = check_words(of, names, calls, clock);
    out[names.size() + 5] = "0 60000";
    if (fields.empty())
        return out;
    auto& sizes = out.emplace_back();
    detail::append_number(sizes, static_cast<std::uint16_t>(fields.size()));
    out.insert(out.end(), fields.begin(), fields.end());
    return out;
}

} // namespace colimit::test
