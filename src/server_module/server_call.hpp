// SPDX-License-Identifier: BSL-1.0
//
// Commands of the server that the module calls, for states that are more than a string.

#pragma once

#include <server_module/command_run.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace colimit::server_module {

/// An error of a command; its text is the server's.
class call_failure : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

class server_reply {
  public:
    explicit server_reply(api::call_reply* reply) noexcept : reply_(reply) {}

    [[nodiscard]] bool is_error() const noexcept {
        return !reply_ || api::reply_type(reply_.get()) == api::error_reply;
    }
    /// Returns the text of the error.
    [[nodiscard]] std::string error() const;
    [[nodiscard]] std::int64_t integer() const noexcept { return api::reply_integer(reply_.get()); }
    /// Returns a string of an array; nullopt: it is nil, or the array ends before it.
    [[nodiscard]] std::optional<std::string_view> operator[](std::size_t index) const noexcept;

  private:
    struct deleter {
        void operator()(api::call_reply* reply) const noexcept { api::free_reply(reply); }
    };
    std::unique_ptr<api::call_reply, deleter> reply_;
};

/// Calls a command that changes nothing, with arguments in the form that api::call takes.
template<class... Arguments>
[[nodiscard]] server_reply try_read(const command_run& run, const char* command, const char* format,
                                    Arguments... arguments) noexcept {
    return server_reply{api::call(run.where(), command, format, arguments...)};
}

/// Calls a command that may change something, and propagates it if effects are propagated.
/// @param format begins with `!`
template<class... Arguments>
[[nodiscard]] server_reply try_change(command_run& run, const char* command, const char* format,
                                      Arguments... arguments) noexcept {
    run.note_change();
    const auto* from = format + (run.propagates_effects() ? 0 : 1);
    return server_reply{api::call(run.where(), command, from, arguments...)};
}

/// @throws call_failure
inline server_reply checked(server_reply reply) {
    if (reply.is_error())
        throw call_failure{reply.error()};
    return reply;
}

/// As `try_read`. @throws call_failure
template<class... Arguments>
[[nodiscard]] server_reply read(const command_run& run, const char* command, const char* format,
                                Arguments... arguments) {
    return checked(try_read(run, command, format, arguments...));
}

/// As `try_change`. @throws call_failure
template<class... Arguments>
server_reply change(command_run& run, const char* command, const char* format,
                    Arguments... arguments) {
    return checked(try_change(run, command, format, arguments...));
}

/// Sets the TTLs of the keys that the command keeps. It never fails, as all calls have been made.
void set_ttls(command_run& run) noexcept;

} // namespace colimit::server_module
