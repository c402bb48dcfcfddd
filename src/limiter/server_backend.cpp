// SPDX-License-Identifier: BSL-1.0
//
// Makes the connection to the server and, with Sentinel, those that find it.

#include <limiter/limiter_core.hpp>
#include <limiter/redis_settings.hpp>
#include <limiter/server_backend.hpp>

namespace colimit::detail {

server_backend::server_backend(limiter_core& core, const config& settings,
                               const redis::address& where)
    : redis_backend(core, settings, where.password), where_(where) {
    const auto tls = make_tls(settings, where);
    add_node({connection_settings_of(settings, where, tls), make_queue(settings, where)});
    if (where.kind == redis::address::kind::sentinel)
        finder_.emplace(core.own_executor(), core.lock(),
                        sentinel_settings_of(settings, where, tls), reports().problems(),
                        static_cast<redis::finder_owner&>(*this), life());
}

std::optional<errc> server_backend::refusal() const noexcept {
    const auto& c = nodes_.front().connection;
    return c.is_refused() ? std::optional{c.error()} : std::nullopt;
}

void server_backend::close(bool now) noexcept {
    if (finder_)
        finder_->close(now);
}

void server_backend::on_loss(const redis_node& /*node*/) {
    if (finder_)
        finder_->ask();
}

} // namespace colimit::detail
