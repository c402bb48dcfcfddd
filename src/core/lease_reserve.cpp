// SPDX-License-Identifier: BSL-1.0
//
// Which rules may have leases, of which length, and the capacity that they leave.

#include <colimit/limits.hpp>
#include <core/lease_reserve.hpp>
#include <core/rule_compiler.hpp>
#include <core/rule_kind.hpp>

#include <algorithm>
#include <bit>

namespace colimit::core {
namespace {

void check_at_most(const std::string& where, std::string_view what, std::int64_t length,
                   std::int64_t most) {
    if (length > most)
        refuse(where, "leases: longer than " + std::string{what} + " (got " +
                          std::to_string(length) + " us, expected at most " + std::to_string(most) +
                          " us)");
}

} // namespace

std::int64_t ceil_of_product(std::int64_t a, std::int64_t b, std::int64_t c) noexcept {
    BOOST_ASSERT(a >= 0 && b >= 0 && c >= 1 && c <= std::int64_t{1} << 60);
    // Long multiplication and division, bit by bit: quotient * c + rest is the product so far.
    auto quotient = std::int64_t{0};
    auto rest = std::int64_t{0};
    for (auto bit = std::bit_width(static_cast<std::uint64_t>(a)); bit-- > 0;) {
        const auto adds = (a >> bit & 1) != 0;
        rest = 2 * rest + (adds ? b % c : 0);
        quotient = 2 * quotient + (adds ? b / c : 0) + rest / c;
        rest %= c;
    }
    return quotient + (rest == 0 ? 0 : 1);
}

void check_lease_length(const std::string& where, std::int64_t length) {
    constexpr auto least = limits::min_lease.count();
    constexpr auto most = limits::max_lease.count();
    if (length == detail::no_duration)
        refuse(where, "leases: must be a whole number of microseconds");
    if (length < least || length > most)
        refuse(where, "leases: out of range (got " + std::to_string(length) + " us, expected " +
                          std::to_string(least) + " us to " + std::to_string(most) + " us)");
}

rule with_lease_reserve(const std::string& where, const rule& r, const compiled_rule& whole,
                        std::int64_t length) {
    if (!can_lease(whole.kind))
        refuse(where, "a " + std::string{to_string(r.kind())} + " cannot have leases");
    const auto is_continuous = is_bucket(r.kind()) && r.refill() == refill::continuous;
    if (is_bucket(r.kind()))
        check_at_most(where, "a tenth of the time in which it fills", length,
                      full_recovery(whole) / 10);
    if (!is_continuous) {
        check_at_most(where, "its period", length, whole.period * whole.unit);
        return r;
    }
    const auto reserve = ceil_of_product(length, r.count(), r.period().count());
    if (reserve >= r.capacity())
        refuse(where, "leases: leave no token, as it refills " + std::to_string(reserve) +
                          " within their " + std::to_string(length) + " us and its capacity is " +
                          std::to_string(r.capacity()));
    const auto left = r.burst(r.capacity() - reserve);
    return r.has_initial() ? left.initially(std::min(r.initial(), left.capacity())) : left;
}

} // namespace colimit::core
