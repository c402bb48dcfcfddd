// SPDX-License-Identifier: BSL-1.0
//
// Appends the numbers in the order in which the scripts unpack them.

#include <base/bytes.hpp>
#include <core/policy_encoding.hpp>

#include <cstdint>

namespace colimit::core {

using detail::append_double;
using detail::append_number;

std::string encode_policy(const compiled_policy& rules) {
    auto out = std::string{};
    append_number(out, static_cast<std::uint8_t>(rules.size));
    append_number(out, static_cast<std::uint8_t>(rules.slots));
    append_number(out, static_cast<std::uint8_t>((rules.shadow ? 1 : 0) + (rules.packed ? 2 : 0)));
    for (const auto& l : rules.all()) {
        append_number(out, l.tag);
        append_number(out, static_cast<std::uint8_t>(l.kind));
        append_number(out,
                      static_cast<std::uint8_t>((l.shadow ? 1 : 0) + (l.counts_denied ? 2 : 0)));
        for (const auto number : {l.capacity, l.num, l.den, l.unit, l.most, l.period, l.count,
                                  l.offset, l.initial, static_cast<std::int64_t>(l.calendar)})
            append_double(out, number);
    }
    if (rules.packed)
        append_double(out, rules.generation);
    return out;
}

std::string encode_filter(const bloom_shape& shape) {
    auto out = std::string{};
    append_number(out, static_cast<std::uint8_t>(shape.words));
    append_double(out, shape.ttl);
    append_double(out, static_cast<std::int64_t>(shape.block_bytes()));
    return out;
}

} // namespace colimit::core
