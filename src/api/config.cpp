// SPDX-License-Identifier: BSL-1.0
//
// Checks the ranges that <colimit/config.hpp> and <colimit/advanced_config.hpp> document.

#include <api/config_check.hpp>
#include <base/enumerator.hpp>
#include <colimit/error.hpp>
#include <core/compiled_policy.hpp>
#include <redis/protocol/hash_slot.hpp>

#include <boost/asio/ip/address.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <string>
#include <string_view>

namespace colimit {

/// Found by argument-dependent lookup, so not in the unnamed namespace.
[[nodiscard]] static std::string_view to_string(execution_mode m) noexcept {
    return name_of(m, {"script", "function", "multi"});
}

[[nodiscard]] static std::string_view to_string(module_use u) noexcept {
    return name_of(u, {"if_available", "required", "never"});
}

namespace {

using std::chrono::milliseconds;

[[nodiscard]] std::string text_of(milliseconds value) {
    return std::to_string(value.count()) + " ms";
}

[[nodiscard]] std::string text_of(std::chrono::seconds value) {
    return std::to_string(value.count()) + " s";
}

template<class Integer>
[[nodiscard]] std::string text_of(Integer value) {
    return std::to_string(value);
}

template<class Value>
void check(std::string_view member, Value value, Value least, Value most) {
    if (value < least || value > most)
        throw error{errc::invalid_config,
                    "config::" + std::string{member} + ": out of range (got " + text_of(value) +
                        ", expected " + text_of(least) + " to " + text_of(most) + ")"};
}

void check_times(const config& settings) {
    constexpr auto least = milliseconds{1};
    constexpr auto most = milliseconds{std::chrono::hours{1}};
    check("timeout", settings.timeout, least, most);
    check("advanced.connect_timeout", settings.advanced.connect_timeout, least, most);
    check("advanced.reconnect_delay_min", settings.advanced.reconnect_delay_min, least, most);
    check("advanced.reconnect_delay_max", settings.advanced.reconnect_delay_max, least, most);
    if (settings.advanced.reconnect_delay_max < settings.advanced.reconnect_delay_min)
        throw error{errc::invalid_config, "config::advanced.reconnect_delay_max: less than "
                                          "config::advanced.reconnect_delay_min (got " +
                                              text_of(settings.advanced.reconnect_delay_max) +
                                              ", expected at least " +
                                              text_of(settings.advanced.reconnect_delay_min) + ")"};
    check("advanced.deny_cache_max_age", settings.advanced.deny_cache_max_age, least, most);
    check("advanced.ping_interval", settings.advanced.ping_interval, milliseconds{0}, most);
    check("advanced.tcp_keep_alive", settings.advanced.tcp_keep_alive, std::chrono::seconds{0},
          std::chrono::seconds{std::chrono::hours{1}});
    check("advanced.tcp_user_timeout", settings.advanced.tcp_user_timeout, milliseconds{0}, most);
    check("advanced.request_ttl", settings.advanced.request_ttl, limits::min_request_ttl,
          limits::max_request_ttl);
    if (settings.advanced.request_ttl < 2 * settings.timeout)
        throw error{
            errc::invalid_config,
            "config::advanced.request_ttl: less than twice config::timeout, until when a call with "
            "an id may be sent again (got " +
                text_of(settings.advanced.request_ttl) + ", expected at least " +
                text_of(2 * settings.timeout) + ")"};
    check("advanced.min_key_ttl", settings.advanced.min_key_ttl, milliseconds{0},
          milliseconds{std::chrono::hours{24} * 366});
}

void check_share(const fraction& part) {
    constexpr auto most = std::int64_t{1'000'000};
    check("local_fraction.denominator", part.denominator, std::int64_t{1}, most);
    check("local_fraction.numerator", part.numerator, std::int64_t{1}, part.denominator);
}

void check_bounds(const config& settings) {
    using size = std::size_t;
    check("advanced.max_in_flight", settings.advanced.max_in_flight, size{1}, size{16'777'216});
    check("advanced.max_waiting", settings.advanced.max_waiting, size{1}, size{16'777'216});
    check("advanced.batch_size", settings.advanced.batch_size, size{1}, size{1'024});
    check("advanced.batches_in_flight", settings.advanced.batches_in_flight, size{1}, size{64});
    check("advanced.deny_cache", settings.advanced.deny_cache, size{0}, size{16'777'216});
    check("advanced.max_leases", settings.advanced.max_leases, size{0}, size{16'777'216});
    check("advanced.local_max_states", settings.advanced.local_max_states, size{1},
          size{1'073'741'824});
    check("counted_policies", settings.counted_policies, size{0}, limits::max_policies);
    check("advanced.resp_version", settings.advanced.resp_version, 2, 3);
}

void check_hash_tags(std::size_t count) {
    check("advanced.hash_tags", count, std::size_t{1}, redis::hash_slot_count);
    if (!std::has_single_bit(count))
        throw error{errc::invalid_config, "config::advanced.hash_tags: not a power of two (got " +
                                              text_of(count) + ", expected " +
                                              text_of(std::bit_floor(count)) + " or " +
                                              text_of(std::bit_ceil(count)) + ")"};
}

void check_enumerators(const config& settings) {
    check_enumerator([] { return "config::advanced.mode"; }, settings.advanced.mode,
                     {execution_mode::script, execution_mode::function, execution_mode::multi},
                     errc::invalid_config);
    check_enumerator(
        [] { return "config::advanced.server_module"; }, settings.advanced.server_module,
        {module_use::if_available, module_use::required, module_use::never}, errc::invalid_config);
    if (settings.advanced.server_module == module_use::required &&
        settings.advanced.mode == execution_mode::multi)
        throw error{errc::invalid_config,
                    "config::advanced.server_module is required, but config::advanced.mode is "
                    "multi, which does not use it"};
    check_failure_mode([] { return "config::on_failure"; }, settings.on_failure,
                       errc::invalid_config);
}

/// Checks that a certificate can be for this host. A name that begins with a dot would match any
/// host below it.
void check_name_of_server(const std::string& name) {
    constexpr std::size_t most = 253;
    constexpr std::string_view allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                         "0123456789._-";
    auto ec = error_code{};
    (void)boost::asio::ip::make_address(name, ec);
    if (name.empty() || !ec)
        return;
    const auto strange = name.find_first_not_of(allowed);
    const auto wrong =
        strange != std::string::npos
            ? "character " + std::to_string(strange + 1) + " is not one of [A-Za-z0-9._-]"
        : name.front() == '.' ? std::string{"it begins with a dot"}
        : name.size() > most  ? "it is longer than " + std::to_string(most) + " characters"
                              : std::string{};
    if (!wrong.empty())
        throw error{errc::invalid_config,
                    "config::tls.server_name must be a host name or an IP address, but " + wrong};
}

void refuse_tls(std::string_view member, std::string_view reason) {
    throw error{errc::invalid_config,
                "config::tls." + std::string{member} + " is given, but " + std::string{reason}};
}

} // namespace

void validate(const tls_options& options, bool is_used) {
    struct member {
        std::string_view name;
        bool is_given;
    };
    const auto members = std::array{member{"ca_file", !options.ca_file.empty()},
                                    member{"server_name", !options.server_name.empty()},
                                    member{"cert_file", !options.cert_file.empty()},
                                    member{"key_file", !options.key_file.empty()},
                                    member{"verify_peer", !options.verify_peer}};
    for (const auto& m : members)
        if (m.is_given && !is_used)
            refuse_tls(m.name, "config::server is not a rediss:// address");
    if (!options.verify_peer && members[0].is_given)
        refuse_tls("ca_file", "it has no effect without verify_peer");
    if (!options.verify_peer && members[1].is_given)
        refuse_tls("server_name", "it has no effect without verify_peer");
    if (options.cert_file.empty() != options.key_file.empty())
        refuse_tls(options.key_file.empty() ? "cert_file" : "key_file",
                   options.key_file.empty() ? "key_file is not" : "cert_file is not");
    check_name_of_server(options.server_name);
}

void check_credentials_sources(const config& settings, const redis::address& where) {
    using redis::address;
    const auto refuse = [](const char* member, const char* problem) {
        throw error{errc::invalid_config,
                    "config::" + std::string{member} + " is given, but config::server " + problem};
    };
    if (settings.credentials && where.kind == address::kind::memory)
        refuse("credentials", "is memory:");
    if (settings.credentials && (!where.user.empty() || !where.password.empty()))
        refuse("credentials", "has a user or a password");
    if (settings.advanced.sentinel_credentials && where.kind != address::kind::sentinel)
        refuse("advanced.sentinel_credentials", "is not a redis+sentinel:// address");
}

void check_cluster_options(const config& settings, const redis::address& where) {
    const auto is_cluster = where.kind == redis::address::kind::cluster;
    if (is_cluster && settings.advanced.mode == execution_mode::multi)
        throw error{errc::invalid_config,
                    "config::advanced.mode is multi, which needs one server, but "
                    "config::server is a redis+cluster:// address"};
    if (settings.advanced.may_connect && !is_cluster)
        throw error{errc::invalid_config,
                    "config::advanced.may_connect is given, but config::server is "
                    "not a redis+cluster:// address"};
}

void validate(const config& settings) {
    core::check_name(settings.prefix, "config::prefix", true, errc::invalid_config);
    check_times(settings);
    check_share(settings.local_fraction);
    check_hash_tags(settings.advanced.hash_tags);
    check_bounds(settings);
    check_enumerators(settings);
}

redis::address checked_address(const config& settings) {
    validate(settings);
    auto where = redis::parse_address(settings.server);
    validate(settings.tls, where.tls);
    check_credentials_sources(settings, where);
    check_cluster_options(settings, where);
    return where;
}

} // namespace colimit
