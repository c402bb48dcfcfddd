// SPDX-License-Identifier: BSL-1.0
//
// Every range that <colimit/config.hpp> and <colimit/advanced_config.hpp> document is checked at
// both of its ends.

#include <api/config_check.hpp>
#include <colimit/adaptive_limit.hpp>
#include <colimit/limiter.hpp>
#include <colimit/limits.hpp>
#include <colimit/policy_source.hpp>
#include <redis/protocol/key_tags.hpp>
#include <support/refusal.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstddef>
#include <string>

BOOST_AUTO_TEST_SUITE(configuration)

namespace {

using namespace std::chrono_literals;
using colimit::advanced_config;
using colimit::config;
using std::chrono::milliseconds;

[[nodiscard]] std::string reason(const config& settings) {
    return colimit::test::refusal(colimit::errc::invalid_config, [&] {
        colimit::validate(settings);
        return 0;
    });
}

/// The part of a configuration that has the member.
[[nodiscard]] config& owner_of(config& settings, const config* /*tag*/) {
    return settings;
}
[[nodiscard]] advanced_config& owner_of(config& settings, const advanced_config* /*tag*/) {
    return settings.advanced;
}

template<class Value, class Owner>
void check_range(Value Owner::* member, Value least, Value most, const std::string& option,
                 const std::string& range) {
    auto settings = config{};
    settings.advanced.reconnect_delay_min = 1ms;
    settings.advanced.reconnect_delay_max = 1h;
    settings.advanced.request_ttl = 24h;
    const auto reason_with = [&](Value value) {
        owner_of(settings, static_cast<const Owner*>(nullptr)).*member = value;
        return reason(settings);
    };
    const auto one = Value{1};
    BOOST_TEST(reason_with(least) == "not refused");
    BOOST_TEST(reason_with(most) == "not refused");
    for (const auto& refused : {reason_with(least - one), reason_with(most + one)}) {
        BOOST_TEST(refused.starts_with(option + ": out of range (got "));
        BOOST_TEST(refused.ends_with(", expected " + range + ")"));
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(the_defaults_are_valid) {
    BOOST_TEST(reason({}) == "not refused");
}

/// The figures that the pages of include/ state.
BOOST_AUTO_TEST_CASE(the_defaults_are_what_the_guides_say) {
    const auto c = config{};
    const auto& a = c.advanced;
    BOOST_TEST((c.timeout == 100ms && a.connect_timeout == 1s));
    BOOST_TEST((a.reconnect_delay_min == 10ms && a.reconnect_delay_max == 1500ms));
    BOOST_TEST((a.ping_interval == 500ms && a.tcp_user_timeout == 1s && a.tcp_keep_alive == 15s));
    BOOST_TEST((a.deny_cache_max_age == 1s && a.request_ttl == 5min && a.min_key_ttl == 0ms));
    BOOST_TEST((a.max_leases == 65'536 && a.deny_cache == 65'536 && a.hash_tags == 64));
    BOOST_TEST((c.on_failure == colimit::failure_mode::local && !c.thread_safe));
    BOOST_TEST((colimit::limits::breaker_failures == 5 && colimit::limits::breaker_probes == 2));
    BOOST_TEST((colimit::limits::probe_pause_max == 250ms));
    BOOST_TEST(
        (colimit::limits::max_rules_per_policy == 8 && colimit::limits::max_concurrent == 100'000));
    BOOST_TEST((colimit::limits::max_request_bytes == 256 &&
                colimit::limits::max_exact_integer == (1LL << 53) - 1));
    BOOST_TEST((colimit::policy_source_options{}.poll_interval == 250ms)); // "within a second"
    BOOST_TEST((colimit::concurrent(1) == colimit::concurrent(1).lease(30s)));
    const auto limit = colimit::adaptive_options{};
    BOOST_TEST((limit.algorithm == colimit::adaptive_algorithm::gradient2));
    BOOST_TEST(
        (limit.gradient2.max_window == 1s && limit.gradient2.long_window == 600)); // ten minutes
    BOOST_TEST((limit.brpc.window == 1s && limit.brpc.remeasure_interval == 50s));
}

BOOST_AUTO_TEST_CASE(times_are_1_ms_to_1_h) {
    const std::string range = "1 ms to 3600000 ms";
    check_range(&config::timeout, 1ms, milliseconds{1h}, "config::timeout", range);
    check_range(&advanced_config::connect_timeout, 1ms, milliseconds{1h},
                "config::advanced.connect_timeout", range);
    check_range(&advanced_config::reconnect_delay_min, 1ms, milliseconds{1h},
                "config::advanced.reconnect_delay_min", range);
    check_range(&advanced_config::reconnect_delay_max, 1ms, milliseconds{1h},
                "config::advanced.reconnect_delay_max", range);
    check_range(&advanced_config::deny_cache_max_age, 1ms, milliseconds{1h},
                "config::advanced.deny_cache_max_age", range);
    const std::string or_none = "0 ms to 3600000 ms";
    check_range(&advanced_config::ping_interval, 0ms, milliseconds{1h},
                "config::advanced.ping_interval", or_none);
    check_range(&advanced_config::tcp_user_timeout, 0ms, milliseconds{1h},
                "config::advanced.tcp_user_timeout", or_none);
    check_range(&advanced_config::tcp_keep_alive, 0s, std::chrono::seconds{1h},
                "config::advanced.tcp_keep_alive", "0 s to 3600 s");
    check_range(&advanced_config::request_ttl, milliseconds{1s}, milliseconds{24h},
                "config::advanced.request_ttl", "1000 ms to 86400000 ms");
    check_range(&advanced_config::min_key_ttl, 0ms, milliseconds{24h * 366},
                "config::advanced.min_key_ttl", "0 ms to 31622400000 ms");
}

BOOST_AUTO_TEST_CASE(records_live_twice_as_long_as_calls) {
    auto settings = config{};
    settings.timeout = 3s;
    settings.advanced.request_ttl = 6s;
    BOOST_TEST(reason(settings) == "not refused");
    settings.advanced.request_ttl = 5999ms;
    BOOST_TEST(reason(settings) == "config::advanced.request_ttl: less than twice config::timeout, "
                                   "until when a call with an id "
                                   "may be sent again (got 5999 ms, expected at least 6000 ms)");
}

BOOST_AUTO_TEST_CASE(bounds_stay_in_their_ranges) {
    using size = std::size_t;
    check_range(&advanced_config::max_in_flight, size{1}, size{16'777'216},
                "config::advanced.max_in_flight", "1 to 16777216");
    check_range(&advanced_config::max_waiting, size{1}, size{16'777'216},
                "config::advanced.max_waiting", "1 to 16777216");
    check_range(&advanced_config::batch_size, size{1}, size{1'024}, "config::advanced.batch_size",
                "1 to 1024");
    check_range(&advanced_config::batches_in_flight, size{1}, size{64},
                "config::advanced.batches_in_flight", "1 to 64");
    check_range(&advanced_config::local_max_states, size{1}, size{1'073'741'824},
                "config::advanced.local_max_states", "1 to 1073741824");
    check_range(&advanced_config::max_leases, size{0}, size{16'777'216},
                "config::advanced.max_leases", "0 to 16777216");
    check_range(&advanced_config::resp_version, 2, 3, "config::advanced.resp_version", "2 to 3");
}

BOOST_AUTO_TEST_CASE(a_number_of_tags_is_a_power_of_two) {
    BOOST_TEST(config{}.advanced.hash_tags == colimit::redis::key_tags{}.count());
    for (std::size_t count = 1; count <= 16'384; count *= 2)
        BOOST_TEST(reason({.advanced = {.hash_tags = count}}) == "not refused");
    for (const std::size_t refused : {0U, 16'385U, 32'768U})
        BOOST_TEST(reason({.advanced = {.hash_tags = refused}}) ==
                   "config::advanced.hash_tags: out of range (got " + std::to_string(refused) +
                       ", expected 1 to 16384)");
    BOOST_TEST(reason({.advanced = {.hash_tags = 100}}) ==
               "config::advanced.hash_tags: not a power of two (got 100, expected 64 or 128)");
}

BOOST_AUTO_TEST_CASE(a_refusal_names_the_member_its_range_and_its_value) {
    BOOST_TEST(reason({.timeout = 0ms}) ==
               "config::timeout: out of range (got 0 ms, expected 1 ms to 3600000 ms)");
    BOOST_TEST(reason({.timeout = -5ms}) ==
               "config::timeout: out of range (got -5 ms, expected 1 ms to 3600000 ms)");
    BOOST_TEST(reason({.advanced = {.max_in_flight = static_cast<std::size_t>(-1)}}) ==
               "config::advanced.max_in_flight: out of range (got 18446744073709551615, expected 1 "
               "to 16777216)");
}

BOOST_AUTO_TEST_CASE(the_pauses_between_attempts_do_not_shrink) {
    BOOST_TEST(reason({.advanced = {.reconnect_delay_min = 10ms, .reconnect_delay_max = 10ms}}) ==
               "not refused");
    BOOST_TEST(reason({.advanced = {.reconnect_delay_min = 10ms, .reconnect_delay_max = 9ms}}) ==
               "config::advanced.reconnect_delay_max: less than "
               "config::advanced.reconnect_delay_min (got 9 ms, "
               "expected at least 10 ms)");
}

BOOST_AUTO_TEST_CASE(a_share_is_a_part_of_one) {
    BOOST_TEST(reason({.local_fraction = {1, 1'000'000}}) == "not refused");
    BOOST_TEST(reason({.local_fraction = {4, 4}}) == "not refused");
    BOOST_TEST(reason({.local_fraction = {5, 4}}) ==
               "config::local_fraction.numerator: out of range (got 5, expected 1 to 4)");
    BOOST_TEST(reason({.local_fraction = {0, 4}}) ==
               "config::local_fraction.numerator: out of range (got 0, expected 1 to 4)");
    BOOST_TEST(reason({.local_fraction = {1, 0}}) ==
               "config::local_fraction.denominator: out of range (got 0, expected 1 to 1000000)");
    BOOST_TEST(
        reason({.local_fraction = {1, 1'000'001}}) ==
        "config::local_fraction.denominator: out of range (got 1000001, expected 1 to 1000000)");
}

BOOST_AUTO_TEST_CASE(an_enumeration_has_only_its_enumerators) {
    using colimit::failure_mode;
    BOOST_TEST(reason({.on_failure = failure_mode::error,
                       .advanced = {.mode = colimit::execution_mode::multi}}) == "not refused");
    BOOST_TEST(reason({.advanced = {.mode = colimit::execution_mode::function}}) == "not refused");
    BOOST_TEST(
        reason({.advanced = {.mode = static_cast<colimit::execution_mode>(3)}}) ==
        "config::advanced.mode: not an enumerator (got 3, expected script, function, multi)");
    BOOST_TEST(reason({.on_failure = static_cast<failure_mode>(255)}) ==
               "config::on_failure: not an enumerator (got 255, expected local, allow, deny, "
               "error)");
}

BOOST_AUTO_TEST_CASE(the_server_module_may_be_required_except_with_multi) {
    using colimit::execution_mode;
    using colimit::module_use;
    for (const auto use : {module_use::if_available, module_use::required, module_use::never})
        for (const auto mode :
             {execution_mode::script, execution_mode::function, execution_mode::multi}) {
            const auto is_refused = use == module_use::required && mode == execution_mode::multi;
            BOOST_TEST(
                reason({.advanced = {.mode = mode, .server_module = use}}) ==
                (is_refused
                     ? "config::advanced.server_module is required, but config::advanced.mode is "
                       "multi, which does not use it"
                     : "not refused"));
        }
    BOOST_TEST(reason({.advanced = {.server_module = static_cast<module_use>(3)}}) ==
               "config::advanced.server_module: not an enumerator (got 3, expected if_available, "
               "required, "
               "never)");
}

BOOST_AUTO_TEST_CASE(a_prefix_is_a_name) {
    BOOST_TEST(reason({.prefix = std::string(64, 'x')}) == "not refused");
    BOOST_TEST(reason({.prefix = std::string(65, 'x')}) ==
               "config::prefix is longer than 64 characters");
    BOOST_TEST(reason({.prefix = ""}) ==
               "config::prefix is empty: 1 to 64 characters of [A-Za-z0-9_.-] are allowed");
    BOOST_TEST(reason({.prefix = "a{b}"}) ==
               "config::prefix: character 2 is not one of [A-Za-z0-9_.-]");
}

[[nodiscard]] std::string reason_of_tls(const colimit::tls_options& options, bool is_used = true) {
    return colimit::test::refusal(colimit::errc::invalid_config, [&] {
        colimit::validate(options, is_used);
        return 0;
    });
}

BOOST_AUTO_TEST_CASE(options_of_tls_need_an_address_of_tls) {
    BOOST_TEST(reason_of_tls({}, false) == "not refused");
    BOOST_TEST(reason_of_tls({.ca_file = "f"}, false) ==
               "config::tls.ca_file is given, but config::server is not a rediss:// address");
    BOOST_TEST(reason_of_tls({.server_name = "h"}, false)
                   .starts_with("config::tls.server_name is given, but "));
    BOOST_TEST(reason_of_tls({.cert_file = "f", .key_file = "f"}, false)
                   .starts_with("config::tls.cert_file is given, but "));
    BOOST_TEST(reason_of_tls({.verify_peer = false}, false)
                   .starts_with("config::tls.verify_peer is given, but "));
}

[[nodiscard]] std::string reason_of_limiter(const config& settings) {
    auto context = boost::asio::io_context{};
    return colimit::test::refusal(colimit::errc::invalid_config, [&] {
        return colimit::limiter{context.get_executor(), settings};
    });
}

BOOST_AUTO_TEST_CASE(credentials_come_from_the_address_or_from_a_source) {
    const auto reason_of = [](const char* address) {
        return reason_of_limiter(
            {.server = address, .credentials = [] { return colimit::credentials{}; }});
    };
    BOOST_TEST(reason_of("redis://127.0.0.1:1") == "not refused");
    BOOST_TEST(reason_of("redis://ann@127.0.0.1:1") ==
               "config::credentials is given, but config::server has a user or a password");
    BOOST_TEST(reason_of("unix://:pw@/tmp/s").find("has a user") != std::string::npos);
    BOOST_TEST(reason_of("memory:") ==
               "config::credentials is given, but config::server is memory:");
}

BOOST_AUTO_TEST_CASE(credentials_for_sentinels_need_sentinels) {
    const auto reason_of = [](const char* address) {
        return reason_of_limiter({.server = address, .advanced = {.sentinel_credentials = [] {
                                                         return colimit::credentials{};
                                                     }}});
    };
    BOOST_TEST(reason_of("redis+sentinel://127.0.0.1:1/m") == "not refused");
    for (const auto* const other : {"memory:", "redis://127.0.0.1:1", "unix:/s"})
        BOOST_TEST(reason_of(other) ==
                   "config::advanced.sentinel_credentials is given, but config::server "
                   "is not a redis+sentinel:// address");
}

BOOST_AUTO_TEST_CASE(options_of_tls_do_not_contradict_each_other) {
    BOOST_TEST(
        reason_of_tls({.ca_file = "a", .server_name = "h", .cert_file = "c", .key_file = "k"}) ==
        "not refused");
    BOOST_TEST(reason_of_tls({.verify_peer = false}) == "not refused");
    BOOST_TEST(reason_of_tls({.ca_file = "a", .verify_peer = false}) ==
               "config::tls.ca_file is given, but it has no effect without verify_peer");
    BOOST_TEST(reason_of_tls({.server_name = "h", .verify_peer = false}) ==
               "config::tls.server_name is given, but it has no effect without verify_peer");
    BOOST_TEST(reason_of_tls({.cert_file = "c"}) ==
               "config::tls.cert_file is given, but key_file is not");
    BOOST_TEST(reason_of_tls({.key_file = "k"}) ==
               "config::tls.key_file is given, but cert_file is not");
}

BOOST_AUTO_TEST_CASE(the_name_of_a_server_is_a_host_or_an_address) {
    const std::string must = "config::tls.server_name must be a host name or an IP address, but ";
    for (const std::string& name : {std::string{"h"}, std::string{"a.b-c.d_e"}, std::string{"::1"},
                                    std::string{"10.0.0.1"}, std::string(253, 'h')})
        BOOST_TEST(reason_of_tls({.server_name = name}) == "not refused");
    BOOST_TEST(reason_of_tls({.server_name = "a b"}) ==
               must + "character 2 is not one of [A-Za-z0-9._-]");
    BOOST_TEST(reason_of_tls({.server_name = "*.example.org"}) ==
               must + "character 1 is not one of [A-Za-z0-9._-]");
    BOOST_TEST(reason_of_tls({.server_name = ".example.org"}) == must + "it begins with a dot");
    BOOST_TEST(reason_of_tls({.server_name = std::string(254, 'h')}) ==
               must + "it is longer than 253 characters");
}

BOOST_AUTO_TEST_SUITE_END()
