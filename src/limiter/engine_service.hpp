// SPDX-License-Identifier: BSL-1.0
//
// What an execution context knows of its limiters: whom to tell that it goes away.

#ifndef COLIMIT_LIMITER_ENGINE_SERVICE_HPP
#define COLIMIT_LIMITER_ENGINE_SERVICE_HPP

#include <limiter/engine.hpp>

#include <boost/asio/execution_context.hpp>

#include <memory>
#include <mutex>
#include <vector>

namespace colimit::detail {

/// Tells engines that their context is about to be destroyed. Without it a coroutine that owns a
/// limiter and waits for one of its calls would own itself.
class engine_service final : public asio::execution_context::service {
  public:
    using key_type = engine_service;
    static inline asio::execution_context::id id;

    explicit engine_service(asio::execution_context& context) : service(context) {}

    void add(engine& e) {
        const std::lock_guard lock{mutex_};
        engines_.push_back(&e);
    }

    void remove(engine& e) noexcept {
        const std::lock_guard lock{mutex_};
        std::erase(engines_, &e);
    }

  private:
    void shutdown() override {
        for (auto e = next(); e != nullptr; e = next())
            e->abandon();
    }

    /// One that was not told yet, kept alive while it is.
    [[nodiscard]] std::shared_ptr<engine> next() {
        const std::lock_guard lock{mutex_};
        while (!engines_.empty()) {
            auto alive = engines_.back()->weak_from_this().lock();
            engines_.pop_back();
            if (alive)
                return alive;
        }
        return nullptr;
    }

    std::mutex mutex_;
    std::vector<engine*> engines_;
};

} // namespace colimit::detail

#endif
