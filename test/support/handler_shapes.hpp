// SPDX-License-Identifier: BSL-1.0
//
// Completion handlers of every shape: with an executor, an allocator and a slot of their own, in
// the handler or bound to it, copyable or not, with an erased type. What is associated with most of
// them can only be asked of a handler that was not moved from.

#pragma once

#include <colimit/error.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

namespace colimit::test {

namespace asio = boost::asio;

/// The end of a test's call, and the state of its handler.
struct ending {
    asio::any_io_executor executor; ///< for shapes that have one
    asio::cancellation_signal signal;
    int calls = 0;
    int handlers = 0;     ///< alive
    int arenas = 0;       ///< alive
    int early_arenas = 0; ///< destroyed while their memory was in use
    int misaligned = 0;   ///< handlers that were constructed or called at a wrong address
    std::optional<error_code> code;
    std::function<void()> on_call = [] {};
};

/// Memory in an object that handlers own, as in Asio's example of custom allocation.
class arena {
  public:
    explicit arena(ending& e) : ending_(e) { ++ending_.arenas; }
    arena(const arena&) = delete;
    arena& operator=(const arena&) = delete;
    ~arena() {
        --ending_.arenas;
        ending_.early_arenas += in_use_ == 0 ? 0 : 1;
    }

    [[nodiscard]] void* allocate(std::size_t bytes) {
        if (in_use_++ != 0 || bytes > storage_.size())
            return ::operator new(bytes);
        return storage_.data();
    }
    void deallocate(void* memory) noexcept {
        --in_use_;
        if (memory != storage_.data())
            ::operator delete(memory);
    }

  private:
    alignas(std::max_align_t) std::array<std::byte, 4096> storage_{};
    ending& ending_;
    int in_use_ = 0;
};

template<class T>
class arena_allocator {
  public:
    using value_type = T;

    explicit arena_allocator(arena& a) noexcept : arena_(&a) {}
    template<class U>
    arena_allocator(const arena_allocator<U>& other) noexcept : arena_(other.arena_) {}

    [[nodiscard]] T* allocate(std::size_t n) {
        return static_cast<T*>(arena_->allocate(n * sizeof(T)));
    }
    void deallocate(T* memory, std::size_t /*n*/) noexcept { arena_->deallocate(memory); }

    template<class U>
    [[nodiscard]] bool operator==(const arena_allocator<U>& other) const noexcept {
        return arena_ == other.arena_;
    }

  private:
    template<class>
    friend class arena_allocator;

    arena* arena_;
};

/// Counts itself, and can only be moved.
class recorder {
  public:
    explicit recorder(ending& e) : ending_(&e) { ++ending_->handlers; }
    recorder(recorder&& other) noexcept : ending_(std::exchange(other.ending_, nullptr)) {}
    recorder& operator=(recorder&&) = delete;
    ~recorder() {
        if (ending_ != nullptr)
            --ending_->handlers;
    }

    template<class... Results>
    void operator()(error_code ec, const Results&... /*results*/) {
        ++result().calls;
        result().code = ec;
        result().on_call();
    }

    /// Throws after the handler was moved from.
    [[nodiscard]] ending& result() const {
        if (ending_ == nullptr)
            throw std::logic_error{"a handler is used that was moved from"};
        return *ending_;
    }

  private:
    ending* ending_;
};

/// Owns its memory through a pointer of type `Owner`.
template<class Owner>
class with_arena : public recorder {
  public:
    using allocator_type = arena_allocator<void>;

    explicit with_arena(ending& e) : recorder(e), arena_(new arena{e}) {}

    [[nodiscard]] allocator_type get_allocator() const noexcept {
        return allocator_type{*arena_}; // a null reference after a move, which the sanitizers see
    }

  private:
    Owner arena_;
};

/// Everything that a handler can have, asked of a member that a move takes away.
class with_all : public with_arena<std::shared_ptr<arena>> {
  public:
    using executor_type = asio::any_io_executor;
    using cancellation_slot_type = asio::cancellation_slot;

    using with_arena::with_arena;

    [[nodiscard]] executor_type get_executor() const noexcept { return result().executor; }
    [[nodiscard]] cancellation_slot_type get_cancellation_slot() const noexcept {
        return result().signal.slot();
    }
};

/// Contains an object with an alignment of its own, as of vector instructions or a cache line.
template<std::size_t Alignment>
class aligned : public recorder {
  public:
    explicit aligned(ending& e) : recorder(e) { check(); }
    aligned(aligned&& other) noexcept : recorder(std::move(other)) { check(); }

    template<class... Results>
    void operator()(error_code ec, const Results&... results) {
        check();
        recorder::operator()(ec, results...);
    }

  private:
    void check() const {
        const auto address = reinterpret_cast<std::uintptr_t>(&object_); // NOLINT: to look at it
        result().misaligned += address % Alignment == 0 ? 0 : 1;
    }

    alignas(Alignment) std::array<std::byte, Alignment> object_{};
};

// The shapes: each makes a handler for a signature.

struct plain_shape {
    template<class Signature>
    [[nodiscard]] static auto make(ending& e) {
        return recorder{e};
    }
};

struct shared_arena_shape {
    template<class Signature>
    [[nodiscard]] static auto make(ending& e) {
        return with_arena<std::shared_ptr<arena>>{e};
    }
};

struct unique_arena_shape {
    template<class Signature>
    [[nodiscard]] static auto make(ending& e) {
        return with_arena<std::unique_ptr<arena>>{e};
    }
};

struct everything_shape {
    template<class Signature>
    [[nodiscard]] static auto make(ending& e) {
        return with_all{e};
    }
};

struct bound_shape {
    template<class Signature>
    [[nodiscard]] static auto make(ending& e) {
        return asio::bind_executor(
            e.executor,
            asio::bind_cancellation_slot(e.signal.slot(), with_arena<std::shared_ptr<arena>>{e}));
    }
};

struct erased_shape {
    template<class Signature>
    [[nodiscard]] static auto make(ending& e) {
        return asio::any_completion_handler<Signature>{recorder{e}};
    }
};

template<std::size_t Alignment>
struct aligned_shape {
    template<class Signature>
    [[nodiscard]] static auto make(ending& e) {
        return aligned<Alignment>{e};
    }
};

struct bound_aligned_shape {
    template<class Signature>
    [[nodiscard]] static auto make(ending& e) {
        return asio::bind_executor(e.executor,
                                   asio::bind_cancellation_slot(e.signal.slot(), aligned<64>{e}));
    }
};

// Without an arena: any_completion_handler itself destroys a dropped handler before it frees its
// memory (Boost 1.81).
struct erased_everything_shape {
    template<class Signature>
    [[nodiscard]] static auto make(ending& e) {
        return asio::any_completion_handler<Signature>{asio::bind_executor(
            e.executor, asio::bind_cancellation_slot(e.signal.slot(), recorder{e}))};
    }
};

} // namespace colimit::test
