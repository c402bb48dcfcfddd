// SPDX-License-Identifier: BSL-1.0
//
// The ranges that <colimit/config.hpp> states, as code.

#include <colimit/error.hpp>
#include <config_check.hpp>
#include <core/plan.hpp>

#include <string>
#include <string_view>

namespace colimit {
namespace {

using std::chrono::milliseconds;

[[nodiscard]] std::string text_of(milliseconds value) {
    return std::to_string(value.count()) + " ms";
}

template<class Integer>
[[nodiscard]] std::string text_of(Integer value) {
    return std::to_string(value);
}

template<class Value>
void check(std::string_view member, Value value, Value least, Value most) {
    if (value < least || value > most)
        throw error{errc::invalid_config, "config::" + std::string{member} + " must be " +
                                              text_of(least) + " to " + text_of(most) + ", is " +
                                              text_of(value)};
}

void check_times(const config& settings) {
    constexpr auto least = milliseconds{1};
    constexpr auto most = milliseconds{std::chrono::hours{1}};
    check("timeout", settings.timeout, least, most);
    check("connect_timeout", settings.connect_timeout, least, most);
    check("reconnect_least", settings.reconnect_least, least, most);
    check("reconnect_most", settings.reconnect_most, least, most);
    if (settings.reconnect_most < settings.reconnect_least)
        throw error{errc::invalid_config,
                    "config::reconnect_most must be at least config::reconnect_least (" +
                        text_of(settings.reconnect_least) + "), is " +
                        text_of(settings.reconnect_most)};
    check("minimum_ttl", settings.minimum_ttl, milliseconds{0},
          milliseconds{std::chrono::hours{24} * 366});
}

void check_share(const share& part) {
    constexpr auto most = std::int64_t{1'000'000};
    check("local_share.denominator", part.denominator, std::int64_t{1}, most);
    check("local_share.numerator", part.numerator, std::int64_t{1}, part.denominator);
}

void check_bounds(const config& settings) {
    using size = std::size_t;
    check("max_in_flight", settings.max_in_flight, size{1}, size{16'777'216});
    check("batch_size", settings.batch_size, size{1}, size{1'024});
    check("batches_in_flight", settings.batches_in_flight, size{1}, size{64});
    check("deny_cache", settings.deny_cache, size{0}, size{16'777'216});
    check("memory_keys", settings.memory_keys, size{1}, size{1'073'741'824});
    check("resp", settings.resp, 2, 3);
}

} // namespace

void validate(const config& settings) {
    core::check_name(settings.prefix, "config::prefix", true, errc::invalid_config);
    check_times(settings);
    check_share(settings.local_share);
    check_bounds(settings);
}

} // namespace colimit
