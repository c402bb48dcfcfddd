// SPDX-License-Identifier: BSL-1.0
//
// The implementations under test: the arithmetic, the in-process store, or one on a server. All get
// their time from the case.

#pragma once

#include <colimit/decision.hpp>
#include <colimit/detail/call_request.hpp>
#include <colimit/policy.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace colimit::conformance {

class store {
  public:
    store() = default;
    store(const store&) = delete;
    store& operator=(const store&) = delete;
    virtual ~store() = default;

    /// Why it cannot answer for these rules, if it cannot.
    [[nodiscard]] virtual std::optional<std::string> cannot(const policy& /*rules*/) const {
        return std::nullopt;
    }

    /// `allow`, `peek`, `charge`, `refund` or `reset`. A failed call throws.
    [[nodiscard]] virtual decision ask(std::string_view key, const policy& rules,
                                       const detail::call_request& request) = 0;
};

/// @param name `core`, `memory` or `redis`
/// @param address for `redis`, as config::server; empty: a server is started
[[nodiscard]] std::unique_ptr<store> open_store(const std::string& name,
                                                const std::string& address);

} // namespace colimit::conformance
