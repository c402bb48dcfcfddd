// SPDX-License-Identifier: BSL-1.0
//
// Where the state machines of a connection report problems. They have no clock; the receiver has
// one.

#ifndef COLIMIT_REDIS_ERROR_SINK_HPP
#define COLIMIT_REDIS_ERROR_SINK_HPP

#include <colimit/diagnostics.hpp>
#include <colimit/error.hpp>

#include <string_view>

namespace colimit::redis {

class error_sink {
  public:
    error_sink() = default;
    error_sink(const error_sink&) = delete;
    error_sink& operator=(const error_sink&) = delete;

    /// @param text any bytes of any length, copied as far as they are kept
    virtual void note(errc code, phase where, std::string_view text) noexcept = 0;

  protected:
    ~error_sink() = default;
};

} // namespace colimit::redis

#endif
