// SPDX-License-Identifier: BSL-1.0
//
// The receiver of problems from the state machines of a connection. They have no clock; the
// receiver has one.

#pragma once

#include <colimit/diagnostics.hpp>
#include <colimit/error.hpp>

#include <boost/core/noncopyable.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace colimit::redis {

/// One of several servers.
struct named_server {
    std::string_view host;
    std::uint16_t port; ///< 0: not to be shown
    bool is_sentinel;   ///< it executes no calls; else a node of a cluster
};

/// A problem. Its texts are any bytes of any length, which the receiver copies as far as needed.
struct error_report {
    errc code;
    colimit::phase phase;
    std::string_view text; ///< the text of an error reply, or of this library
    /// The bytes received instead of a valid reply, as far as they have arrived: to be quoted after
    /// the text, which is this library's then.
    std::string_view received = {};
    /// The fingerprint of the policy of the calls that failed; 0 in the handshake.
    std::uint64_t policy = 0;
    /// Whether the text is of this process or of the operating system, and what is appended to it
    /// then, after a space.
    bool is_own = false;
    std::string_view detail = {};
    const named_server* server = nullptr; ///< null for the only one
    /// The password of the connection, which no text shows; nullopt: that of the address.
    std::optional<std::string_view> password = {};
};

class error_sink : boost::noncopyable {
  public:
    virtual void note(const error_report& what) noexcept = 0;

    /// Reports a problem with a text of this process or of the operating system.
    void note_own(errc code, phase where, std::string_view text, std::string_view detail) noexcept {
        note({.code = code, .phase = where, .text = text, .is_own = true, .detail = detail});
    }

    /// Reports that the server has permitted calls under the policy with this fingerprint; 0: the
    /// handshake.
    virtual void note_permitted(std::uint64_t /*policy*/) noexcept {}

  protected:
    ~error_sink() = default;
};

} // namespace colimit::redis
