// SPDX-License-Identifier: BSL-1.0
//
// The data that `allow_all` keeps per check while the call is in flight, as the keys are not valid
// any more: digests for the failure mode `local`, and the slots of their denials in the deny cache.

#pragma once

#include <async/node_pool.hpp>
#include <colimit/detail/operation.hpp>
#include <hash/siphash.hpp>

#include <cstddef>
#include <memory>
#include <new>
#include <span>

namespace colimit::detail {

/// One block of the limiter's memory, with the checks after the header.
class kept_checks final : public attachment {
  public:
    struct one {
        hash::digest key{};
        hash::digest member{};
        deny_cache_note denial{};
    };

    [[nodiscard]] static std::unique_ptr<kept_checks> make(node_pool& pool, std::size_t count) {
        const auto bytes = sizeof(kept_checks) + count * sizeof(one);
        auto* memory = static_cast<std::byte*>(pool.allocate(bytes));
        std::uninitialized_value_construct_n(reinterpret_cast<one*>(memory + sizeof(kept_checks)),
                                             count); // NOLINT: as it says
        return std::unique_ptr<kept_checks>{::new (memory) kept_checks{pool, count}};
    }

    static void operator delete(kept_checks* self, std::destroying_delete_t /*tag*/) noexcept {
        auto& pool = self->pool_;
        const auto bytes = sizeof(kept_checks) + self->count_ * sizeof(one);
        self->~kept_checks();
        pool.deallocate(self, bytes);
    }

    ~kept_checks() override = default;

    [[nodiscard]] std::span<one> all() noexcept {
        return {reinterpret_cast<one*>(this + 1), count_}; // NOLINT: see make
    }

  private:
    kept_checks(node_pool& pool, std::size_t count) noexcept : pool_(pool), count_(count) {}

    node_pool& pool_;
    std::size_t count_;
};

} // namespace colimit::detail
