// SPDX-License-Identifier: BSL-1.0
//
// A call with its handler. Its memory comes from a pool of its limiter (or the handler's allocator)
// and is freed before the handler runs, so a call in the steady state allocates nothing.
//
// A handler's associations are read before it is moved, and its memory is freed before it is
// destroyed: its allocator may be in the handler, and refer to objects that the handler owns.

#pragma once

#include <colimit/bloom_filter.hpp>
#include <colimit/detail/operation.hpp>
#include <colimit/seen_item.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/append.hpp>
#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace colimit::detail {

namespace asio = boost::asio;

struct policy_data;

/// The arguments of a verb, which are valid only until the call is initiated.
struct call {
    call_kind kind = call_kind::ready;
    std::string_view key{};
    const std::shared_ptr<const policy_data>* policy = nullptr;
    detail::call_request request{};
    std::int64_t max_wait = 0; ///< of `acquire`, in microseconds
    // The parts of a call of several.
    std::span<check_item> checks{};
    std::span<seen_item> ids{};
    std::span<const std::string_view> members{};

    [[nodiscard]] std::size_t parts() const noexcept {
        return checks.size() + ids.size() + members.size();
    }
};

[[nodiscard]] const asio::any_io_executor& executor_of(const limiter_core& core) noexcept;
/// Returns the memory and the lock of the limiter's calls. They outlive the limiter and its context
/// as long as a call refers to them.
[[nodiscard]] std::shared_ptr<call_pool> pool_of(const limiter_core& core) noexcept;
[[nodiscard]] call_pool& pool_reference(const limiter_core& core) noexcept;
/// The alignment of the pool's memory. Calls with a stricter one are allocated one by one.
inline constexpr std::size_t pool_alignment = 128;
[[nodiscard]] void* allocate(call_pool& pool, std::size_t bytes);
void deallocate(call_pool& pool, void* memory, std::size_t bytes) noexcept;
/// Returns whether handlers may run, and calls may be made, in several threads at once.
[[nodiscard]] bool serves_threads(const call_pool& pool) noexcept;
/// Starts the operation, which is finished later, never from within this function.
void start(operation& op, const call& c) noexcept;
/// Completes the operation with operation_aborted, if a store still holds it and `type` allows it.
/// Does nothing after the operation has left its limiter.
void cancel(operation& op, asio::cancellation_type type) noexcept;

/// The second argument of most handlers.
struct whole_decision {
    [[nodiscard]] const decision& operator()(const operation& op) const noexcept {
        return op.result;
    }
};

/// For `seen`: a new id is granted.
struct was_seen {
    [[nodiscard]] bool operator()(const operation& op) const noexcept {
        return !op.ec && !op.result.allowed();
    }
};

/// For `count_distinct`.
struct counted_members {
    [[nodiscard]] std::int64_t operator()(const operation& op) const noexcept {
        if (op.ec)
            return 0;
        const auto& status = op.result.rules[op.request.rule];
        return status.limit - status.balance;
    }
};

/// Returns the state of the filter that a call without an error has inspected.
[[nodiscard]] filter_status status_of(const operation& op) noexcept;

/// For `filter_status`.
struct inspected_filter {
    [[nodiscard]] filter_status operator()(const operation& op) const noexcept {
        return op.ec ? filter_status{} : status_of(op);
    }
};

/// The allocator of calls with this type of handler. It is obtained before the handler is moved,
/// because a moved-from handler may have no allocator; and it is used while the handler lives,
/// because the allocator may refer to objects that the handler owns.
template<class Call, class Handler>
class memory_source {
    using allocator = typename std::allocator_traits<
        asio::associated_allocator_t<Handler>>::template rebind_alloc<Call>;

  public:
    memory_source(call_pool& pool, const Handler& handler)
        : pool_(pool), allocator_(asio::get_associated_allocator(handler)) {}

    [[nodiscard]] void* allocate() {
        if constexpr (is_pooled)
            return detail::allocate(pool_, sizeof(Call));
        else
            return std::allocator_traits<allocator>::allocate(allocator_, 1);
    }

    void deallocate(void* memory) noexcept {
        if constexpr (is_pooled)
            detail::deallocate(pool_, memory, sizeof(Call));
        else
            std::allocator_traits<allocator>::deallocate(allocator_, static_cast<Call*>(memory), 1);
    }

  private:
    static constexpr auto is_pooled =
        std::is_same_v<allocator, std::allocator<Call>> && alignof(Call) <= pool_alignment;

    call_pool& pool_;
    [[no_unique_address]] allocator allocator_;
};

/// @tparam HasDecision the handler takes the result of `Projection` besides the error code
template<class Handler, bool HasDecision, class Projection>
class call_operation final : public operation {
  public:
    static void launch(limiter_core& core, Handler handler, const call& c) {
        auto source = memory_source<call_operation, Handler>{pool_reference(core), handler};
        auto* memory = source.allocate();
        call_operation* self = nullptr;
        try {
            self = ::new (memory) call_operation(core, std::move(handler));
        } catch (...) {
            source.deallocate(memory);
            throw;
        }
        self->connect_slot();
        start(*self, c);
    }

  private:
    using executor = asio::associated_executor_t<Handler, asio::any_io_executor>;
    using work_guard = asio::executor_work_guard<executor>;

    /// Only the guard may throw, and it comes before the handler is moved.
    call_operation(limiter_core& core, Handler&& handler)
        : operation(core, &call_operation::finish_call), work_(work_of(core, handler)),
          handler_(std::move(handler)) {
        pool = &pool_reference(core);
    }

    /// Returns a work guard for the handler's executor, unless that is the limiter's own.
    [[nodiscard]] static std::optional<work_guard> work_of(const limiter_core& core,
                                                           const Handler& handler) {
        const auto own = asio::get_associated_executor(handler, executor_of(core));
        if constexpr (std::is_same_v<executor, asio::any_io_executor>)
            if (own == executor_of(core))
                return std::nullopt;
        // A type-erased executor is empty if it could not be allocated.
        if constexpr (std::is_constructible_v<bool, const executor&>)
            if (!own)
                throw std::bad_alloc{};
        return work_guard{own};
    }

    /// Throws bad_alloc, which leaves the initiating function: no call is made then.
    void connect_slot() {
        auto slot = asio::get_associated_cancellation_slot(handler_);
        if (!slot.is_connected())
            return;
        try {
            slot.assign([this](asio::cancellation_type type) { cancel(*this, type); });
        } catch (...) {
            (void)end();
            throw;
        }
    }

    /// Destroys the call, frees its memory and returns its handler.
    [[nodiscard]] Handler end() {
        auto* memory = static_cast<void*>(this);
        auto source = memory_source<call_operation, Handler>{*pool, handler_};
        auto handler = std::move(handler_);
        this->~call_operation();
        source.deallocate(memory);
        return handler;
    }

    /// A completion that is dispatched to the handler's executor. It may run or be destroyed there
    /// after the limiter and its context are destroyed, so it refers to neither.
    class dispatched_completion {
      public:
        explicit dispatched_completion(call_operation& self)
            : pool_(pool_of(*self.owner)), self_(&self) {}
        dispatched_completion(dispatched_completion&& other) noexcept
            : pool_(std::move(other.pool_)), self_(std::exchange(other.self_, nullptr)) {}
        dispatched_completion& operator=(dispatched_completion&&) = delete;
        ~dispatched_completion() {
            if (self_ != nullptr)
                self_->finish_here(false);
        }

        void operator()() { std::exchange(self_, nullptr)->finish_here(true); }

      private:
        std::shared_ptr<call_pool> pool_;
        call_operation* self_;
    };

    static void finish_call(operation* base, bool invoke) {
        auto* self = static_cast<call_operation*>(base);
        if (!invoke || !self->work_ || !serves_threads(*self->pool))
            return self->finish_here(invoke);
        // Another thread may be emitting the handler's cancellation slot now: the handler's
        // executor serialises the two.
        self->passes_ = true;
        const auto to = self->work_->get_executor();
        asio::dispatch(to, dispatched_completion{*self});
    }

    void finish_here(bool invoke) {
        auto slot = asio::get_associated_cancellation_slot(handler_);
        if (slot.is_connected())
            slot.clear();
        if (!invoke) {
            (void)end();
            return;
        }
        const auto code = ec;
        const auto work = std::move(work_); // until the handler has been dispatched
        const auto* elsewhere = work && !passes_ ? &*work : nullptr;
        if constexpr (HasDecision) {
            auto result_of_call = Projection{}(*this);
            deliver(end(), elsewhere, code, std::move(result_of_call));
        } else {
            deliver(end(), elsewhere, code);
        }
    }

    /// @param elsewhere the handler's executor, if the handler must still be dispatched to it
    template<class... Results>
    static void deliver(Handler&& handler, const work_guard* elsewhere, error_code code,
                        Results&&... results) {
        if (elsewhere == nullptr) {
            std::move(handler)(code, std::forward<Results>(results)...);
            return;
        }
        // Bound, because with the executor as a separate argument it would be dispatched to twice.
        asio::dispatch(asio::bind_executor(
            elsewhere->get_executor(),
            asio::append(std::move(handler), code, std::forward<Results>(results)...)));
    }

    std::optional<work_guard> work_; ///< only for handlers with another executor
    Handler handler_;
    bool passes_ = false; ///< it was dispatched to the handler's executor
};

/// The initiation of `async_initiate`. It has an executor because tokens such as
/// `asio::cancel_after` make a timer on it.
template<bool HasDecision, class Projection = whole_decision>
class initiation {
  public:
    using executor_type = asio::any_io_executor;

    explicit initiation(limiter_core* core) noexcept : core_(core) {}

    [[nodiscard]] executor_type get_executor() const noexcept { return executor_of(*core_); }

    template<class Handler>
    void operator()(Handler&& handler, const call& c) const {
        call_operation<std::decay_t<Handler>, HasDecision, Projection>::launch(
            *core_, std::forward<Handler>(handler), c);
    }

  private:
    limiter_core* core_;
};

} // namespace colimit::detail
