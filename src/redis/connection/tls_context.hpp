// SPDX-License-Identifier: BSL-1.0
//
// Shared by all TLS connections of a limiter: the trusted CAs, the client certificate, and the name
// to verify if it is not the host's. Constructed once, which reads the files. OpenSSL's names stay
// in the source files.
//
// Certificates are loaded once, so that a file that does not exist is an error in the constructor
// and not in operation; a new CA needs a new limiter. Sessions are not resumed, as connections
// last.

#pragma once

#include <colimit/tls_options.hpp>

#include <memory>
#include <string>

struct ssl_ctx_st;
struct ssl_st;

namespace colimit::redis {

struct tls_deleter {
    void operator()(ssl_ctx_st* context) const noexcept;
    void operator()(ssl_st* connection) const noexcept;
};

class tls_context {
  public:
    /// @throws colimit::error with `errc::invalid_config`: names option, file and problem.
    explicit tls_context(const tls_options& options);

    /// Returns a connection that has not begun.
    /// @param host of its address; its name is verified unless the options have another one
    /// @throws std::bad_alloc
    [[nodiscard]] std::unique_ptr<ssl_st, tls_deleter>
    new_connection(const std::string& host) const;

  private:
    void load_trusted(const tls_options& options);
    void load_certificate(const tls_options& options);

    std::unique_ptr<ssl_ctx_st, tls_deleter> context_;
    std::string name_; ///< of the options; may be empty
    bool verifies_ = true;
};

} // namespace colimit::redis
