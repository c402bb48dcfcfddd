// SPDX-License-Identifier: BSL-1.0
//
// The in-process store behind a limiter: every call is decided when it starts, and its handler runs
// in the executor's next iteration.

#pragma once

#include <limiter/backend.hpp>
#include <memory/bloom_filters.hpp>
#include <memory/store.hpp>

#include <chrono>
#include <cstddef>

namespace colimit::detail {

class memory_backend final : public backend {
  public:
    memory_backend(std::size_t states, std::chrono::milliseconds request_ttl)
        : store_(states, request_ttl) {}

    [[nodiscard]] stage_result start(operation& op, std::string_view key,
                                     const policy_pointer* policy) override;
    // Does nothing, as it holds no calls.
    void cancel(operation& /*op*/, error_code /*why*/) override {}
    [[nodiscard]] bool is_sent(const operation& /*op*/) const noexcept override { return true; }
    void shutdown(error_code /*why*/) noexcept override {}
    [[nodiscard]] std::optional<problem> last_problem() const override { return std::nullopt; }
    [[nodiscard]] health_state state() const noexcept override { return health_state::ready; }

  private:
    memory::store store_;
    memory::bloom_filters filters_;
};

} // namespace colimit::detail
