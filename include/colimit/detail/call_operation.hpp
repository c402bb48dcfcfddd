// SPDX-License-Identifier: BSL-1.0
//
// A call with its handler. Its memory comes from a pool of its limiter (or the handler's own
// allocator) and is given back before the handler runs, so a call in the steady state allocates
// nothing.

#ifndef COLIMIT_DETAIL_CALL_OPERATION_HPP
#define COLIMIT_DETAIL_CALL_OPERATION_HPP

#include <colimit/detail/operation.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/append.hpp>
#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/prefer.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace colimit::detail {

namespace asio = boost::asio;

struct policy_data;

/// The arguments of a verb, which live until the call is initiated and no longer.
struct call {
    enum class shape : std::uint8_t {
        ready,    ///< asks nothing of any key
        one,      ///< a question about a key
        once,     ///< the same under the limiter's own policy
        many,     ///< each check on its own
        together, ///< all checks or none
    };

    detail::engine* engine = nullptr;
    shape kind = shape::ready;
    std::string_view key{};
    /// Of key and policy, where it is known already.
    const std::array<std::uint64_t, 2>* digest = nullptr;
    const std::shared_ptr<const policy_data>* policy = nullptr;
    detail::question asked{};
    std::span<check> checks{};
};

[[nodiscard]] void* allocate(engine& e, std::size_t bytes);
void deallocate(engine& e, void* memory, std::size_t bytes) noexcept;
[[nodiscard]] const asio::any_io_executor& executor_of(const engine& e) noexcept;
/// Whether handlers may run, and calls may be made, in several threads at once.
[[nodiscard]] bool serves_threads(const engine& e) noexcept;
[[nodiscard]] std::shared_ptr<const void> keep_alive(const engine& e);
/// Takes the operation; it is finished later, never from within.
void start(operation& op, const call& c) noexcept;
/// Completes the operation with operation_aborted, if a store still holds it.
void cancel(operation& op) noexcept;

/// What a handler takes besides the error code.
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

/// `HasDecision`: the handler takes what `Projection` makes of the operation, besides the code.
template<class Handler, bool HasDecision, class Projection>
class call_operation final : public operation {
  public:
    static void launch(Handler handler, const call& c) {
        using allocator = typename std::allocator_traits<
            asio::associated_allocator_t<Handler>>::template rebind_alloc<call_operation>;
        constexpr auto pooled = std::is_same_v<allocator, std::allocator<call_operation>>;
        call_operation* self = nullptr;
        if constexpr (pooled) {
            auto* memory = allocate(*c.engine, sizeof(call_operation));
            try {
                self = ::new (memory) call_operation(*c.engine, std::move(handler));
            } catch (...) {
                deallocate(*c.engine, memory, sizeof(call_operation));
                throw;
            }
        } else {
            auto from = allocator{asio::get_associated_allocator(handler)};
            auto* memory = std::allocator_traits<allocator>::allocate(from, 1);
            try {
                self = ::new (static_cast<void*>(memory))
                    call_operation(*c.engine, std::move(handler));
            } catch (...) {
                std::allocator_traits<allocator>::deallocate(from, memory, 1);
                throw;
            }
        }
        self->connect_slot();
        start(*self, c);
    }

  private:
    using executor = asio::associated_executor_t<Handler, asio::any_io_executor>;
    using work_guard = asio::executor_work_guard<executor>;

    call_operation(detail::engine& e, Handler&& handler)
        : operation(e, &call_operation::finish_call), handler_(std::move(handler)) {
        if (!runs_on_engine(e))
            work_.emplace(asio::get_associated_executor(handler_, executor_of(e)));
    }

    /// What it throws (bad_alloc) is thrown by the initiating function: there is no call then.
    void connect_slot() {
        auto slot = asio::get_associated_cancellation_slot(handler_);
        if (!slot.is_connected())
            return;
        try {
            slot.assign([this](asio::cancellation_type) { cancel(*this); });
        } catch (...) {
            free_memory();
            throw;
        }
    }

    /// Whether the handler may be called from the limiter's own executor.
    [[nodiscard]] bool runs_on_engine(const detail::engine& e) const noexcept {
        if constexpr (std::is_same_v<executor, asio::any_io_executor>)
            return asio::get_associated_executor(handler_, executor_of(e)) == executor_of(e);
        else
            return false;
    }

    void free_memory() noexcept {
        using allocator = typename std::allocator_traits<
            asio::associated_allocator_t<Handler>>::template rebind_alloc<call_operation>;
        if constexpr (std::is_same_v<allocator, std::allocator<call_operation>>) {
            auto& e = *owner;
            this->~call_operation();
            deallocate(e, this, sizeof(call_operation));
        } else {
            auto from = allocator{asio::get_associated_allocator(handler_)};
            this->~call_operation();
            std::allocator_traits<allocator>::deallocate(from, this, 1);
        }
    }

    /// The end of a call on its way to its handler's executor.
    class passage {
      public:
        explicit passage(call_operation& self) : engine_(keep_alive(*self.owner)), self_(&self) {}
        passage(passage&& other) noexcept
            : engine_(std::move(other.engine_)), self_(std::exchange(other.self_, nullptr)) {}
        passage& operator=(passage&&) = delete;
        ~passage() {
            if (self_ != nullptr)
                self_->finish_here(false);
        }

        void operator()() { std::exchange(self_, nullptr)->finish_here(true); }

      private:
        std::shared_ptr<const void> engine_;
        call_operation* self_;
    };

    static void finish_call(operation* base, bool invoke) {
        auto* self = static_cast<call_operation*>(base);
        if (!invoke || !self->work_ || !serves_threads(*self->owner))
            return self->finish_here(invoke);
        // In another thread the handler's slot may be emitted just now: it is the executor that
        // keeps the two apart.
        self->passes_ = true;
        asio::dispatch(asio::get_associated_executor(self->handler_, executor_of(*self->owner)),
                       passage{*self});
    }

    void finish_here(bool invoke) {
        auto* self = this;
        auto slot = asio::get_associated_cancellation_slot(self->handler_);
        if (slot.is_connected())
            slot.clear();
        auto handler = std::move(self->handler_);
        if (!invoke) {
            self->free_memory();
            return;
        }
        const auto ec = self->ec;
        const auto work = std::move(self->work_); // until the handler has been handed over
        const auto is_there = !work || self->passes_;
        if constexpr (HasDecision) {
            const auto result = Projection{}(*self);
            self->free_memory();
            deliver(std::move(handler), is_there, ec, result);
        } else {
            self->free_memory();
            deliver(std::move(handler), is_there, ec);
        }
    }

    template<class... Results>
    static void deliver(Handler&& handler, bool is_there, error_code ec,
                        const Results&... results) {
        if (is_there) {
            std::move(handler)(ec, results...);
            return;
        }
        // By the handler alone: with the executor as an argument of its own it would go there
        // twice.
        asio::dispatch(asio::append(std::move(handler), ec, results...));
    }

    Handler handler_;
    std::optional<work_guard> work_; ///< only for handlers that run elsewhere
    bool passes_ = false;            ///< its end is at the handler's executor
};

/// What `async_initiate` calls.
template<bool HasDecision, class Projection = whole_decision>
struct initiation {
    template<class Handler>
    void operator()(Handler&& handler, const call& c) const {
        call_operation<std::decay_t<Handler>, HasDecision, Projection>::launch(
            std::forward<Handler>(handler), c);
    }
};

} // namespace colimit::detail

#endif
