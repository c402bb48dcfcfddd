// SPDX-License-Identifier: BSL-1.0
//
// The limiter itself: which engine it is, and its end.

#include <api/config_check.hpp>
#include <colimit/limiter.hpp>
#include <colimit/limits.hpp>
#include <limiter/memory_engine.hpp>
#include <limiter/redis_engine.hpp>
#include <redis/connection/address.hpp>

#include <string>
#include <utility>

namespace colimit {
namespace {

[[nodiscard]] config config_of(std::string_view server) {
    auto settings = config{};
    // What is too long is refused anyway, and need not be copied for that.
    settings.server = server.substr(0, limits::address_bytes + 1);
    return settings;
}

[[nodiscard]] std::shared_ptr<detail::engine> make_engine(boost::asio::any_io_executor executor,
                                                          const config& settings) {
    validate(settings);
    const auto where = redis::parse_address(settings.server);
    validate(settings.tls, where.tls);
    auto made = std::shared_ptr<detail::engine>{};
    if (where.kind == redis::address::kind::memory)
        made = std::make_shared<detail::memory_engine>(std::move(executor), settings);
    else
        made = std::make_shared<detail::redis_engine>(std::move(executor), settings, where);
    made->open();
    return made;
}

} // namespace

limiter::limiter(executor_type executor, std::string_view server)
    : limiter(std::move(executor), config_of(server)) {}

limiter::limiter(executor_type executor, const config& settings)
    : engine_(make_engine(std::move(executor), settings)) {}

limiter::~limiter() {
    close();
}

limiter& limiter::operator=(limiter&& other) noexcept {
    if (this != &other) {
        close();
        engine_ = std::move(other.engine_);
    }
    return *this;
}

limiter::executor_type limiter::get_executor() const noexcept {
    return engine_->executor();
}

statistics limiter::statistics() const {
    return engine_->statistics();
}

std::optional<problem> limiter::last_error() const {
    return engine_->last_error();
}

health limiter::health() const {
    return engine_->health();
}

void limiter::close() noexcept {
    if (engine_)
        engine_->close();
}

} // namespace colimit
