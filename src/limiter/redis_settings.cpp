// SPDX-License-Identifier: BSL-1.0
//
// Makes the parts of a limiter from its configuration, and the clock that all of them use.

#include <base/clocks.hpp>
#include <limiter/redis_settings.hpp>
#include <redis/cluster/slot_map_reader.hpp>
#include <redis/multi/multi_queue.hpp>
#include <redis/protocol/key.hpp>

#include <algorithm>
#include <random>
#include <utility>

namespace colimit::detail {
namespace {

/// A Sentinel that is silent is noticed within this time, however long calls may take.
constexpr std::int64_t longest_sentinel_timeout = 1'000'000;

/// An attempt to connect takes at most half as long again as `config::advanced.connect_timeout`,
/// and reports what it has found out by then; a node that is asked for the map is given up later.
constexpr std::int64_t map_timeout_part = 2;

/// Returns the first nonce of a limiter, so that two limiters rarely share one.
[[nodiscard]] std::uint64_t first_nonce() {
    auto random = std::random_device{};
    return std::uint64_t{random()} << 20U;
}

[[nodiscard]] bool is_behind_sentinel(const redis::address& a) noexcept {
    return a.kind == redis::address::kind::sentinel;
}

[[nodiscard]] bool is_cluster(const redis::address& a) noexcept {
    return a.kind == redis::address::kind::cluster;
}

[[nodiscard]] redis::script_command command_of(const config& c) noexcept {
    using redis::script_command;
    return c.advanced.mode == execution_mode::function ? script_command::fcall
                                                       : script_command::evalsha;
}

[[nodiscard]] redis::session_settings session_settings_of(const config& c,
                                                          const redis::address& a) {
    return {.role = is_behind_sentinel(a) ? redis::server_role::master
                    : is_cluster(a)       ? redis::server_role::node
                                          : redis::server_role::any,
            .user = a.user,
            .password = a.password,
            .credentials_source = c.credentials,
            .database = a.database,
            .probe_key = c.prefix + ":{" +
                         std::string{redis::key_tags{c.advanced.hash_tags}.text(0)} + "}:probe",
            .protocol = c.advanced.resp_version,
            .transactions = c.advanced.mode == execution_mode::multi,
            .command = command_of(c),
            .server_module = c.advanced.server_module,
            .connect_timeout = in_us(c.advanced.connect_timeout),
            .reconnect_delay_min = in_us(c.advanced.reconnect_delay_min),
            .reconnect_delay_max = in_us(c.advanced.reconnect_delay_max),
            .plain_tcp = a.kind != redis::address::kind::unix_socket && !a.tls,
            .seed = std::random_device{}()};
}

[[nodiscard]] redis::breaker_settings breaker_settings_of(const config& c) {
    return {.misses = limits::breaker_failures,
            .probes = limits::breaker_probes,
            .probe_timeout = in_us(c.timeout),
            .pause_least = in_us(c.advanced.reconnect_delay_min),
            .pause_most =
                std::max(in_us(c.advanced.reconnect_delay_min),
                         in_us(std::min(c.advanced.reconnect_delay_max, limits::probe_pause_max))),
            .seed = std::random_device{}()};
}

/// Commands of transactions reply with members of sorted sets, and those of a set that is not a log
/// may be long. Scripts reply with states.
[[nodiscard]] redis::resp::decoder::long_bulks long_bulks_of(const config& c) noexcept {
    using redis::resp::decoder;
    return c.advanced.mode == execution_mode::multi ? decoder::long_bulks::empty
                                                    : decoder::long_bulks::malformed;
}

[[nodiscard]] redis::queue_settings queue_settings_of(const config& c) {
    return {.prefix = c.prefix,
            .tags = redis::key_tags{c.advanced.hash_tags},
            .batch_size = c.advanced.batch_size,
            .batches_in_flight = c.advanced.batches_in_flight,
            .max_in_flight = c.advanced.max_in_flight,
            .minimum_ttl_ms = c.advanced.min_key_ttl.count(),
            .request_ttl_ms = c.advanced.request_ttl.count(),
            .first_nonce = first_nonce(),
            .command = command_of(c),
            .server_module = c.advanced.server_module,
            .log = detail::logger{c.log},
            .grace = in_us(c.timeout),
            .clock = steady_now};
}

} // namespace

shared_tls make_tls(const config& c, const redis::address& a) {
    return a.tls ? std::make_shared<const redis::tls_context>(c.tls) : nullptr;
}

redis::connection_settings connection_settings_of(const config& c, const redis::address& a,
                                                  shared_tls tls) {
    return {.session = session_settings_of(c, a),
            .breaker = breaker_settings_of(c),
            .where = a,
            .tls = std::move(tls),
            .names = is_cluster(a) ? redis::naming::all : redis::naming::failures,
            .may_move = is_behind_sentinel(a) || is_cluster(a),
            .tcp = {.keep_alive = c.advanced.tcp_keep_alive,
                    .user_timeout = c.advanced.tcp_user_timeout},
            .long_bulks = long_bulks_of(c),
            .timeout = in_us(c.timeout),
            .ping_timeout = in_us(limits::ping_timeout),
            .ping_interval = in_us(c.advanced.ping_interval),
            .log = detail::logger{c.log}};
}

redis::connection_settings sentinel_settings_of(const config& c, const redis::address& a,
                                                shared_tls tls) {
    auto made = connection_settings_of(c, a, std::move(tls));
    auto& s = made.session;
    s.role = redis::server_role::sentinel;
    s.user = s.password = {};
    s.credentials_source = c.advanced.sentinel_credentials;
    s.database = 0;
    s.protocol = 3;
    s.transactions = s.executes_calls = false;
    made.names = redis::naming::all;
    made.may_move = false;
    made.timeout = std::min(made.timeout, longest_sentinel_timeout);
    made.long_bulks = redis::resp::decoder::long_bulks::empty; // of INFO
    return made;
}

redis::map_finder_settings map_settings_of(const config& c, const redis::address& a,
                                           shared_tls tls) {
    auto made = redis::map_finder_settings{
        .refresh = {.reply_timeout = map_timeout_part * in_us(c.advanced.connect_timeout),
                    .seed = std::random_device{}()},
        .connection = connection_settings_of(c, a, std::move(tls)),
        .may_connect = [may_connect = c.advanced.may_connect](const redis::host_port& server) {
            return !may_connect || may_connect(server.host, server.port);
        }};
    made.connection.session.executes_calls = false;
    made.connection.ping_interval = 0;
    made.connection.long_bulks = redis::resp::decoder::long_bulks::empty;
    made.connection.reply_bounds = redis::map_bounds;
    return made;
}

std::unique_ptr<redis::script_queue> make_node_queue(const config& c) {
    auto settings = queue_settings_of(c);
    settings.is_cluster = settings.keeps_read_only = true;
    return std::make_unique<redis::script_queue>(std::move(settings));
}

std::unique_ptr<redis::call_queue> make_queue(const config& c, const redis::address& a) {
    auto settings = queue_settings_of(c);
    settings.keeps_read_only = is_behind_sentinel(a);
    if (c.advanced.mode == execution_mode::multi)
        return std::make_unique<redis::multi_queue>(std::move(settings));
    return std::make_unique<redis::script_queue>(std::move(settings));
}

} // namespace colimit::detail
