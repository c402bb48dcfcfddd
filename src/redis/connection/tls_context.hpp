// SPDX-License-Identifier: BSL-1.0
//
// Shared by all TLS connections of a limiter: the trusted CAs, the name to verify and the client
// certificate. Constructed once, which reads the files. OpenSSL's names stay in the source files.

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
    /// @param host of the address; verified unless `options` has another name
    /// @throws colimit::error with `errc::invalid_config`: names the option, the file and the
    /// problem.
    tls_context(const tls_options& options, const std::string& host);

    /// Returns a connection that has not begun. @throws std::bad_alloc
    [[nodiscard]] std::unique_ptr<ssl_st, tls_deleter> new_connection() const;

  private:
    void load_trusted(const tls_options& options);
    void load_certificate(const tls_options& options);

    std::unique_ptr<ssl_ctx_st, tls_deleter> context_;
    std::string name_;
    bool is_literal_ = false; ///< the name is an IP address
};

} // namespace colimit::redis
