// SPDX-License-Identifier: BSL-1.0
//
// Calls in, handlers out.

#include <async/soon.hpp>
#include <hash/process_secret.hpp>
#include <limiter/engine.hpp>
#include <limiter/engine_service.hpp>
#include <limiter/many_calls.hpp>
#include <policy/once_policy.hpp>
#include <policy/policy_data.hpp>
#include <policy/question_check.hpp>

#include <boost/asio/execution/context.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <new>
#include <utility>

namespace colimit::detail {
namespace {

/// Handlers that run one after another where threads share the limiter: the rest is for the others.
constexpr std::size_t row_for_threads = 32;

/// On the executor itself where its type is known: a strand on an executor of any type allocates
/// whenever it is asked what it is.
[[nodiscard]] asio::any_io_executor strand_on(const asio::any_io_executor& executor) {
    if (const auto* context = executor.target<asio::io_context::executor_type>())
        return asio::make_strand(*context);
    if (const auto* pool = executor.target<asio::thread_pool::executor_type>())
        return asio::make_strand(*pool);
    return asio::make_strand(executor);
}

} // namespace

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

engine::engine(asio::any_io_executor executor, const config& settings)
    : executor_(std::move(executor)),
      own_executor_(settings.thread_safe ? strand_on(executor_) : executor_),
      calls_(std::make_shared<call_pool>(settings.thread_safe)), lock_(calls_->lock),
      max_waits_(settings.max_waiting), line_(own_executor_, lock_, [this] { serve_line(); }),
      line_instead_(own_executor_, lock_, [this] { serve_line(); }) {
    (void)hash::process_secret();
}

engine::~engine() {
    drop_completed();
}

void engine::open() {
    registration_ = std::make_unique<registration>(*this);
    state_ = find_state();
    state_since_ = std::chrono::system_clock::now();
}

void engine::close() noexcept {
    const std::lock_guard guard{lock_};
    close_locked();
}

void engine::close_locked() noexcept {
    if (std::exchange(closed_, true))
        return;
    track_state();
    shut(errc::closed);
    for (auto* line : {&line_, &line_instead_}) {
        auto waiting = line->take_all();
        while (auto* op = waiting.pop_front())
            complete(*op, errc::closed);
    }
}

void engine::abandon() noexcept {
    {
        const std::lock_guard guard{lock_};
        registration_->forget();
        abandoned_ = true;
        close_locked();
    }
    drop_completed();
}

void engine::drop_completed() noexcept {
    auto row = std::move(completed_);
    while (auto* op = row.pop_front())
        op->finish(op, false);
}

void engine::start(operation& op, const call& c) noexcept {
    const std::lock_guard guard{lock_};
    start_locked(op, c);
}

void engine::start_locked(operation& op, const call& c) noexcept {
    op.asked = c.asked;
    const auto is_own = op.asked.verb == verb::unreserve; // releases a place, for no caller
    op.is_question = c.kind != call::shape::ready && c.kind != call::shape::many && !is_own;
    counted_.checks += op.is_question ? 1U : 0U;
    if (closed_)
        return complete(op, errc::closed);
    try {
        switch (c.kind) {
        case call::shape::ready:
            return begin_ready(op);
        case call::shape::one:
            return start_one(op, c);
        case call::shape::once: {
            auto with = c;
            with.policy = &once_policy();
            return start_one(op, with);
        }
        case call::shape::many:
        case call::shape::together:
            return start_checks(op, c);
        }
    } catch (const std::bad_alloc&) {
        complete(op, make_error_code(boost::system::errc::not_enough_memory));
    }
}

void engine::start_one(operation& op, const call& c) {
    if (!is_valid(c.asked, (*c.policy)->plan))
        return complete(op, error_of_question(c.asked, (*c.policy)->plan));
    if (c.key.size() > limits::key_bytes)
        return complete(op, errc::invalid_key);
    if (c.asked.verb == verb::reserve) {
        if (waits_ >= max_waits_)
            return complete(op, errc::too_many_in_flight);
        op.attached = std::make_unique<reservation>(c.key, *c.policy);
        ++waits_;
    }
    begin(op, c);
}

void engine::start_checks(operation& op, const call& c) {
    op.checks = c.checks;
    if (c.kind == call::shape::many) {
        if (c.checks.empty())
            return complete(op, error_code{});
        auto calls = std::make_unique<many_calls>(*this, op);
        auto& started = *calls;
        op.attached = std::move(calls);
        return started.start();
    }
    if (const auto wrong = error_of_checks(c.checks); wrong)
        return complete(op, wrong);
    op.asked = ask(verb::allow, c.checks.front().options);
    begin_together(op);
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
    if (abandoned_ || std::exchange(scheduled_, true))
        return;
    try {
        post_soon(executor_, row_memory_,
                  [self = shared_from_this()] { self->run(self->take_row()); });
    } catch (const std::bad_alloc&) {
        scheduled_ = false; // the next call that is done tries again
    }
}

/// The completed calls; where threads share the limiter, some of them, and another thread is asked
/// to see to the rest.
operation_list engine::take_row() {
    const std::lock_guard guard{lock_};
    scheduled_ = false;
    if (!lock_.is_needed())
        return std::move(completed_);
    auto row = operation_list{};
    for (std::size_t i = 0; i < row_for_threads && !completed_.empty(); ++i)
        row.push_back(*completed_.pop_front());
    if (!completed_.empty())
        schedule();
    return row;
}

bool engine::is_over(operation& op) {
    const std::lock_guard guard{lock_};
    if (op.ec)
        answer_instead(op);
    if (keeps_waiting(op))
        return false;
    count_end(op);
    if (op.asked.verb == verb::reserve && op.attached != nullptr)
        --waits_;
    op.has_left = true;
    return true;
}

void engine::run(operation_list row) {
    try {
        while (auto* op = row.pop_front())
            if (is_over(*op))
                op->finish(op, true);
    } catch (...) {
        const std::lock_guard guard{lock_};
        complete_all(row);
        throw;
    }
}

void engine::count_end(operation& op) noexcept {
    if (!op.is_question)
        return;
    if (op.deadline != 0)
        counted_.latency.add(std::chrono::microseconds{now_ - (op.deadline - timeout_)});
    if (!op.ec) {
        const auto& d = op.result;
        ++(d.allowed()                     ? counted_.allowed
           : d.outcome == outcome::limited ? counted_.limited
                                           : counted_.never);
        ++counted_.origins[static_cast<std::size_t>(d.origin)];
        return;
    }
    if (op.ec == asio::error::operation_aborted) {
        ++counted_.cancelled;
        return;
    }
    ++counted_.failed;
    const auto is_ours = op.ec.category() == error_category();
    ++counted_.errors[is_ours ? static_cast<std::size_t>(op.ec.value()) : 0];
}

std::shared_ptr<call_pool> pool_of(const engine& e) noexcept {
    return e.calls();
}

call_pool& pool_reference(const engine& e) noexcept {
    return *e.calls();
}

void* allocate(call_pool& pool, std::size_t bytes) {
    return pool.memory.allocate(bytes);
}

void deallocate(call_pool& pool, void* memory, std::size_t bytes) noexcept {
    pool.memory.deallocate(memory, bytes);
}

bool serves_threads(const call_pool& pool) noexcept {
    return pool.lock.is_needed();
}

const asio::any_io_executor& executor_of(const engine& e) noexcept {
    return e.executor();
}

void start(operation& op, const call& c) noexcept {
    op.owner->start(op, c);
}

void cancel(operation& op, asio::cancellation_type type) noexcept {
    const std::lock_guard guard{op.pool->lock};
    if (!op.has_left)
        op.owner->cancel_locked(op, type);
}

} // namespace colimit::detail
