// SPDX-License-Identifier: BSL-1.0
//
// Any bytes as a policy, as a server module gets them: they are refused with a reason, or they are
// the bytes of a policy. With such a policy, any state of a key can be read, changed by any call
// and written. The input is a policy, then the verb, the time, the cost and `at_least` of a call,
// and the value of its key.

#include <base/bytes.hpp>
#include <colimit/error.hpp>
#include <core/evaluate.hpp>
#include <core/policy_encoding.hpp>
#include <core/state_encoding.hpp>
#include <core/verb_traits.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using namespace colimit;

void demand(bool holds) {
    if (!holds)
        std::abort();
}

/// Makes calls on a key with the value until 16 are made.
void make_calls(const core::compiled_policy& rules, std::string_view input) {
    constexpr std::size_t call_bytes = 25;
    if (input.size() < call_bytes)
        return;
    const auto number = [input](std::size_t place, std::int64_t most) {
        const auto bits = detail::read_number<std::uint64_t>(input.data() + place);
        return static_cast<std::int64_t>(bits % (static_cast<std::uint64_t>(most) + 1));
    };
    auto request = core::call_request{};
    request.verb =
        static_cast<core::verb>(static_cast<std::uint8_t>(input[0]) % core::verbs.size());
    request.now = number(1, limits::max_time);
    request.cost = number(9, limits::max_exact_integer);
    request.at_least = std::min(number(17, limits::max_exact_integer), request.cost);
    if (core::traits_of(request.verb).has_duration)
        request.cost = std::min<std::int64_t>(request.cost, limits::max_recovery.count());
    if (request.verb == core::verb::reserve && !rules.can_reserve)
        return;
    auto state = core::decode_value(rules, input.substr(call_bytes));
    auto made = decision{};
    const auto effect = core::evaluate(rules, state, request, made);
    if (effect != core::effect::store)
        return;
    const auto ends = request.now + core::lifetime(rules, state.states, state, request.now);
    const auto value = core::encoded_value{rules, state, std::min(ends, limits::max_time)};
    auto back = core::decode_value(rules, std::string_view{value});
    demand(!back.stale);
    demand(core::encoded_value{rules, back, std::min(ends, limits::max_time)} ==
           std::string_view{value});
}

} // namespace

// The name and type are libFuzzer's.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string bytes{data, data + size};
    auto rest = std::string_view{bytes};
    try {
        const auto rules = core::decode_policy(rest);
        demand(core::encode_policy(rules) == bytes.substr(0, bytes.size() - rest.size()));
        make_calls(rules, rest);
    } catch (const error& e) {
        demand(e.code() == errc::invalid_policy && !e.reason().empty());
        demand(e.reason().size() < 512 && e.reason().find('\n') == std::string::npos);
    }
    try {
        demand(core::encode_filter(core::decode_filter(bytes)) == bytes);
    } catch (const error& e) {
        demand(e.code() == errc::invalid_policy && !e.reason().empty());
    }
    return 0;
}
