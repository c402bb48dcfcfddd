// SPDX-License-Identifier: BSL-1.0
//
// The data that counters per policy and audit logs need at the end of a call, when its key and its
// policy are not valid any more. One block of the limiter's memory:
//
//     observed_call | part | part ... | bytes of the keys
//
// with one part for a call on a key, and one per check for `allow_all`.

#pragma once

#include <async/node_pool.hpp>
#include <colimit/detail/operation.hpp>
#include <policy/policy_data.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string_view>

namespace colimit::detail {

class observed_call final : public attachment {
  public:
    struct part {
        policy_pointer policy;
        std::string_view key; ///< truncated; empty if only counters need the call
        std::size_t key_size = 0;
        std::int64_t cost = 0;
        std::uint32_t weight = 0; ///< in the audit log; 0: it is not reported
    };

    /// @param key_bytes the room for all keys
    [[nodiscard]] static std::unique_ptr<observed_call>
    make(node_pool& pool, std::string_view verb, std::size_t parts, std::size_t key_bytes) {
        const auto bytes = sizeof(observed_call) + parts * sizeof(part) + key_bytes;
        auto* memory = static_cast<std::byte*>(pool.allocate(bytes));
        std::uninitialized_value_construct_n(
            reinterpret_cast<part*>(memory + sizeof(observed_call)), parts); // NOLINT: see above
        return std::unique_ptr<observed_call>{::new (memory)
                                                  observed_call{pool, verb, parts, bytes}};
    }

    static void operator delete(observed_call* self, std::destroying_delete_t /*tag*/) noexcept {
        auto& pool = self->pool_;
        const auto bytes = self->bytes_;
        std::destroy(self->parts().begin(), self->parts().end());
        self->~observed_call();
        pool.deallocate(self, bytes);
    }

    ~observed_call() override = default;

    [[nodiscard]] std::string_view verb() const noexcept { return verb_; }
    [[nodiscard]] std::span<part> parts() noexcept {
        return {reinterpret_cast<part*>(this + 1), count_}; // NOLINT: see above
    }
    /// Returns the room for all keys.
    [[nodiscard]] char* key_bytes() noexcept {
        return reinterpret_cast<char*>(parts().data() + count_); // NOLINT: see above
    }

  private:
    observed_call(node_pool& pool, std::string_view verb, std::size_t count,
                  std::size_t bytes) noexcept
        : pool_(pool), verb_(verb), count_(count), bytes_(bytes) {}

    node_pool& pool_;
    std::string_view verb_;
    std::size_t count_;
    std::size_t bytes_;
};

} // namespace colimit::detail
