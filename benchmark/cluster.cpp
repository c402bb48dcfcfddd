// SPDX-License-Identifier: BSL-1.0
//
// What does a check cost the masters of a cluster, where a batch has keys of one slot? As
// redis_uniform and redis_packed with some number of callers, who make the batches larger; and the
// same callers on one server, with TCP as on a cluster, where any keys share a batch.

#include <scenarios.hpp>
#include <support/closed_loop.hpp>
#include <support/rules.hpp>
#include <support/server.hpp>

namespace colimit::benchmark {
namespace {

/// Fewer than elsewhere, and so fewer checks before each has been used: with few callers on a
/// cluster these take long.
constexpr std::uint32_t keys = server_keys / 5;

[[nodiscard]] measurement run_on(const std::string& address, const policy& limit,
                                 std::uint32_t callers, conditions c) {
    c.warm_up /= server_keys / keys;
    auto settings = patient({});
    settings.server = address;
    return run({.settings = settings, .policy = limit, .callers = callers, .keys = keys}, c);
}

void forget_keys(const conditions& c) {
    for (const auto& node : c.nodes)
        server{node}.forget_keys();
}

} // namespace

measurement one_server(const conditions& c, std::uint32_t callers) {
    server{c.socket}.forget_keys();
    return run_on(c.tcp, thousand_an_hour(), callers, c);
}

measurement cluster_uniform(const conditions& c, std::uint32_t callers) {
    forget_keys(c);
    return run_on(c.cluster, thousand_an_hour(), callers, c);
}

measurement cluster_packed(const conditions& c, std::uint32_t callers) {
    forget_keys(c);
    return run_on(c.cluster, thousand_an_hour().with_storage(storage::shared_hash), callers, c);
}

} // namespace colimit::benchmark
