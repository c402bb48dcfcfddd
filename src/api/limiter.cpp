// SPDX-License-Identifier: BSL-1.0
//
// The limiter: selects its store, and closes it.

#include <api/config_check.hpp>
#include <colimit/limiter.hpp>
#include <colimit/limits.hpp>
#include <limiter/cluster_backend.hpp>
#include <limiter/limiter_core.hpp>
#include <limiter/memory_backend.hpp>
#include <limiter/server_backend.hpp>
#include <redis/connection/address.hpp>

namespace colimit {
namespace {

[[nodiscard]] config config_of(std::string_view server) {
    auto settings = config{};
    // A longer address is an error anyway, so it need not be copied.
    settings.server = server.substr(0, limits::max_address_bytes + 1);
    return settings;
}

[[nodiscard]] std::shared_ptr<detail::limiter_core> make_core(boost::asio::any_io_executor executor,
                                                              const config& settings) {
    const auto where = checked_address(settings);
    const auto has_server = where.kind != redis::address::kind::memory;
    auto made = std::make_shared<detail::limiter_core>(std::move(executor), settings, has_server);
    if (where.kind == redis::address::kind::cluster)
        made->open(std::make_unique<detail::cluster_backend>(*made, settings, where));
    else if (has_server)
        made->open(std::make_unique<detail::server_backend>(*made, settings, where));
    else
        made->open(std::make_unique<detail::memory_backend>(settings.advanced.local_max_states,
                                                            settings.advanced.request_ttl));
    return made;
}

} // namespace

limiter::limiter(executor_type executor, std::string_view server)
    : limiter(std::move(executor), config_of(server)) {}

limiter::limiter(executor_type executor, const config& settings)
    : sketch_verbs(make_core(std::move(executor), settings)) {}

limiter::~limiter() {
    close();
}

limiter& limiter::operator=(limiter&& other) noexcept {
    if (this != &other) {
        close();
        core_ = std::move(other.core_);
    }
    return *this;
}

limiter::executor_type limiter::get_executor() const noexcept {
    return core_->executor();
}

statistics limiter::statistics() const {
    return core_->statistics();
}

std::vector<policy_statistics> limiter::policy_statistics() const {
    return core_->policy_statistics();
}

std::optional<problem> limiter::last_error() const {
    return core_->last_error();
}

health limiter::health() const {
    return core_->health();
}

void limiter::close() noexcept {
    if (core_)
        core_->close();
}

} // namespace colimit
