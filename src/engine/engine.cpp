// SPDX-License-Identifier: BSL-1.0
//
// Calls in, handlers out.

#include <engine/engine.hpp>

#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>

#include <algorithm>
#include <mutex>
#include <utility>
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

class engine::registration {
  public:
    explicit registration(engine& e)
        : engine_(e), service_(&asio::use_service<engine_service>(
                          asio::query(e.executor(), asio::execution::context))) {
        service_->add(e);
    }
    registration(const registration&) = delete;
    registration& operator=(const registration&) = delete;
    ~registration() {
        if (service_ != nullptr)
            service_->remove(engine_);
    }

    /// The service is going away and has forgotten the engine already.
    void forget() noexcept { service_ = nullptr; }

  private:
    engine& engine_;
    engine_service* service_;
};

engine::engine(asio::any_io_executor executor) : executor_(std::move(executor)) {}

engine::~engine() {
    drop_completed();
}

void engine::open() {
    registration_ = std::make_unique<registration>(*this);
}

void engine::close() noexcept {
    if (std::exchange(closed_, true))
        return;
    shut(errc::closed);
}

void engine::abandon() noexcept {
    registration_->forget();
    scheduled_ = true; // nothing can be posted any more
    close();
    drop_completed();
}

void engine::drop_completed() noexcept {
    auto row = std::move(completed_);
    while (auto* op = row.pop_front())
        op->finish(op, false);
}

void engine::start(operation& op, const call& c) noexcept {
    op.asked = c.asked;
    if (closed_)
        return complete(op, errc::closed);
    if (c.policy == nullptr)
        return begin_ready(op);
    if (!is_valid(c.asked))
        return complete(op, errc::invalid_argument);
    if (c.key.size() > limits::key_bytes)
        return complete(op, errc::invalid_key);
    begin(op, c);
}

void engine::cancel(operation& op) noexcept {
    if (op.place != nullptr)
        withdraw(op, asio::error::operation_aborted);
}

void engine::complete(operation& op) noexcept {
    completed_.push_back(op);
    schedule();
}

void engine::complete_all(operation_list& row) noexcept {
    while (auto* op = row.pop_front())
        complete(*op);
}

void engine::schedule() noexcept {
    if (std::exchange(scheduled_, true))
        return;
    asio::post(executor_, [self = shared_from_this()] {
        self->scheduled_ = false;
        self->run(self->completed_);
    });
}

void engine::run(operation_list& row) {
    auto mine = std::move(row); // what completes meanwhile waits for the next turn
    try {
        while (auto* op = mine.pop_front())
            op->finish(op, true);
    } catch (...) {
        complete_all(mine);
        throw;
    }
}

void* allocate(engine& e, std::size_t bytes) {
    return e.pool().allocate(bytes);
}

void deallocate(engine& e, void* memory, std::size_t bytes) noexcept {
    e.pool().deallocate(memory, bytes);
}

const asio::any_io_executor& executor_of(const engine& e) noexcept {
    return e.executor();
}

void start(operation& op, const call& c) noexcept {
    op.owner->start(op, c);
}

void cancel(operation& op) noexcept {
    op.owner->cancel(op);
}

} // namespace colimit::detail
