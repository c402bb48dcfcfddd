// SPDX-License-Identifier: BSL-1.0
//
// A limiter over the in-process store: every call is decided when it starts, and its handler runs
// on the executor's next turn.

#ifndef COLIMIT_LIMITER_MEMORY_ENGINE_HPP
#define COLIMIT_LIMITER_MEMORY_ENGINE_HPP

#include <limiter/engine.hpp>
#include <memory/bloom_filters.hpp>
#include <memory/store.hpp>

namespace colimit::detail {

class memory_engine final : public engine {
  public:
    memory_engine(asio::any_io_executor executor, const config& settings);

  private:
    void begin(operation& op, const call& c) override;
    void begin_together(operation& op) override;
    void begin_ready(operation& op) override;
    void withdraw(operation& op, error_code why) override;
    void shut(error_code why) override;

    void begin_seen(operation& op, const call& c);

    memory::store store_;
    memory::bloom_filters filters_;
};

} // namespace colimit::detail

#endif
