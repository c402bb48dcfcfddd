// SPDX-License-Identifier: BSL-1.0
//
// The in-process store: bounded, without a timer per key, with the arithmetic of src/core.

#ifndef COLIMIT_MEMORY_STORE_HPP
#define COLIMIT_MEMORY_STORE_HPP

#include <colimit/decision.hpp>
#include <colimit/local_limiter.hpp>
#include <core/evaluate.hpp>
#include <policy_data.hpp>

#include <cstddef>
#include <string_view>

namespace colimit::memory {

class store {
  public:
    explicit store(std::size_t states);
    store(const store&) = delete;
    store& operator=(const store&) = delete;
    ~store();

    /// `asked` is valid and its clock is set; the key is at most limits::key_bytes.
    void answer(std::string_view key, const detail::policy_data& p, const core::question& asked,
                decision& out);

    [[nodiscard]] local_statistics statistics() const noexcept;
};

} // namespace colimit::memory

#endif
