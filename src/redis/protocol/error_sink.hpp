// SPDX-License-Identifier: BSL-1.0
//
// Where the state machines of a connection report problems. They have no clock; the receiver has
// one.

#ifndef COLIMIT_REDIS_PROTOCOL_ERROR_SINK_HPP
#define COLIMIT_REDIS_PROTOCOL_ERROR_SINK_HPP

#include <colimit/diagnostics.hpp>
#include <colimit/error.hpp>

#include <cstdint>
#include <string_view>

namespace colimit::redis {

/// A problem. Its texts are any bytes of any length, copied as far as they are kept.
struct error_report {
    errc code;
    colimit::phase phase;
    std::string_view text; ///< the words of an error reply, or of this library
    /// What was received instead of a reply, from its beginning on and as far as it has arrived: to
    /// be quoted behind the text, which are the words of this library then.
    std::string_view received = {};
    /// The fingerprint of the policy of the calls that failed; 0 in the handshake.
    std::uint64_t policy = 0;
};

class error_sink {
  public:
    error_sink() = default;
    error_sink(const error_sink&) = delete;
    error_sink& operator=(const error_sink&) = delete;

    virtual void note(const error_report& what) noexcept = 0;

    /// A problem in the words of this process or of the operating system.
    /// @param detail is appended to the text after a space
    virtual void note_own(errc /*code*/, phase /*where*/, std::string_view /*text*/,
                          std::string_view /*detail*/) noexcept {}

    /// The server has permitted calls under the policy with this fingerprint; 0: the handshake.
    virtual void note_permitted(std::uint64_t /*policy*/) noexcept {}

  protected:
    ~error_sink() = default;
};

} // namespace colimit::redis

#endif
