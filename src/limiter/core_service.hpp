// SPDX-License-Identifier: BSL-1.0
//
// The list of an execution context's limiters, which are notified before it is destroyed.

#pragma once

#include <limiter/limiter_core.hpp>

#include <boost/asio/execution_context.hpp>

#include <memory>
#include <mutex>
#include <vector>

namespace colimit::detail {

/// Notifies limiters that their context is about to be destroyed. Without it a coroutine that owns
/// a limiter and waits for one of its calls would own itself.
class core_service final : public asio::execution_context::service {
  public:
    using key_type = core_service;
    static inline asio::execution_context::id id;

    explicit core_service(asio::execution_context& context) : service(context) {}

    void add(limiter_core& core) {
        const std::lock_guard lock{mutex_};
        cores_.push_back(&core);
    }

    void remove(limiter_core& core) noexcept {
        const std::lock_guard lock{mutex_};
        std::erase(cores_, &core);
    }

  private:
    void shutdown() override {
        for (auto core = next(); core != nullptr; core = next())
            core->abandon();
    }

    /// Returns a limiter that was not notified yet, and keeps it alive meanwhile.
    [[nodiscard]] std::shared_ptr<limiter_core> next() {
        const std::lock_guard lock{mutex_};
        while (!cores_.empty()) {
            auto alive = cores_.back()->weak_from_this().lock();
            cores_.pop_back();
            if (alive)
                return alive;
        }
        return nullptr;
    }

    std::mutex mutex_;
    std::vector<limiter_core*> cores_;
};

} // namespace colimit::detail
