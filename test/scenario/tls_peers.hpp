// SPDX-License-Identifier: BSL-1.0
//
// Peers with which no TLS connection can be made, or none that may be used: the same table is
// tested with one server and behind each kind of redirection.

#pragma once

#include <colimit/config.hpp>
#include <colimit/error.hpp>
#include <scenario/world.hpp>
#include <support/certificates.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace colimit::scenario {

/// A peer that runs until it is destroyed.
class tls_peer {
  public:
    virtual ~tls_peer() = default;

    /// Of 127.0.0.1.
    [[nodiscard]] virtual std::uint16_t port() const = 0;
    /// Returns whether it has read a command, or bytes that are not TLS's.
    [[nodiscard]] virtual bool has_heard_secrets() const = 0;
};

/// A row of the table.
struct misbehaving_peer {
    std::string_view name;
    std::function<std::unique_ptr<tls_peer>(world&, test::certificate_authority&)> open;
    errc expected;          ///< of calls
    std::string_view words; ///< in last_error
    /// If only its silence shows what it is, an attempt must end in time.
    std::chrono::milliseconds connect_timeout = std::chrono::seconds{10};
};

/// Limiters trust the CA with which peers are opened.
[[nodiscard]] const std::vector<misbehaving_peer>& misbehaving_peers();

} // namespace colimit::scenario
