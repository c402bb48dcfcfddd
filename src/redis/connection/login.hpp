// SPDX-License-Identifier: BSL-1.0
//
// The credentials of a connection, and the command that sends them.

#pragma once

#include <colimit/credentials.hpp>
#include <redis/protocol/error_sink.hpp>

#include <functional>
#include <string>
#include <string_view>

namespace colimit::redis {

class login {
  public:
    /// @param fixed the credentials, if there is no source
    /// @param source may be empty
    /// @param option the member of `config` that it is
    login(credentials fixed, std::function<credentials()> source, std::string_view option);

    /// Asks the source, if there is one, for the credentials of the next connection. If it throws,
    /// reports why and returns false.
    /// @param errors may be null
    [[nodiscard]] bool renew(error_sink* errors);

    [[nodiscard]] bool has_credentials() const noexcept {
        return !current_.user.empty() || !current_.password.empty();
    }
    [[nodiscard]] std::string_view password() const noexcept { return current_.password; }
    /// Appends HELLO of RESP3, with the credentials if there are any.
    void append_hello(std::string& out) const;
    /// Appends AUTH. There are credentials.
    void append_auth(std::string& out) const;

  private:
    credentials current_;
    std::function<credentials()> source_;
    std::string_view option_;
};

} // namespace colimit::redis
