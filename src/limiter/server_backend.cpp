// SPDX-License-Identifier: BSL-1.0
//
// Makes the connection to the server and, with Sentinel, those that find it.

#include <limiter/limiter_core.hpp>
#include <limiter/redis_settings.hpp>
#include <limiter/server_backend.hpp>

#include <utility>
#include <vector>

namespace colimit::detail {

server_backend::server_backend(limiter_core& core, const config& settings,
                               const redis::address& where)
    : redis_backend(core, settings, where.password), where_(where) {
    const auto tls = make_tls(settings, where);
    add_node({connection_settings_of(settings, where, tls), make_queue(settings, where)},
             reports().problems());
    finder_ = make_finder(settings, tls);
}

std::unique_ptr<redis::master_finder> server_backend::make_finder(const config& settings,
                                                                  const shared_tls& tls) {
    if (where_.kind != redis::address::kind::sentinel)
        return nullptr;
    auto made = std::vector<redis::sentinel_settings>{};
    for (const auto& s : where_.hosts) {
        auto& problems =
            sentinels_.emplace_back(reports().problems(), problem_source::kind::sentinel);
        problems.set_server(s);
        made.push_back(
            {.connection = sentinel_settings_of(settings, where_, s, tls), .problems = problems});
    }
    return std::make_unique<redis::master_finder>(core().own_executor(), core().lock(),
                                                  std::move(made), where_.master,
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
