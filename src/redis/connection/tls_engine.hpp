// SPDX-License-Identifier: BSL-1.0
//
// TLS on one connection, without a socket: received bytes go in, bytes to send come out, with plain
// text on the other side. The owner of the socket moves the bytes.
//
//     plain text   encrypt ->  [ OpenSSL ]  -> output            to the server
//                  decrypt <-               <- prepare, commit   from it
//
// Asio's ssl::stream is not used. Its read and its write share one output; if both have output, the
// operation that waits for the other one is reported as sent when it was not. It also lets OpenSSL
// free its buffers after each record and allocate them for the next, and sends each record
// separately. Here the only allocations per record are those that OpenSSL 3 cannot avoid: one or
// two blocks of 40 bytes, about eight for a batch and its reply.

#pragma once

#include <colimit/error.hpp>
#include <redis/connection/tls_context.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct bio_st;

namespace colimit::redis {

/// Every failure ends the connection, and is one of
///
///   - `untrusted_server`: the options do not trust its certificate;
///   - `auth_failed`: it rejects the client certificate, requires one, or rejects the handshake;
///   - `bad_reply`: its first bytes are not TLS;
///   - `unavailable`: it has closed the connection, or data was corrupted.
class tls_engine {
  public:
    /// @param host whose certificate is expected, unless the options have another name
    /// @throws std::bad_alloc
    tls_engine(const tls_context& context, const std::string& host);

    /// Continues the handshake as far as the received bytes allow. Returns whether it is done.
    [[nodiscard]] bool handshake(error_code& ec) noexcept;

    /// Returns the buffer for bytes from the server; `commit` says how many arrived.
    [[nodiscard]] std::span<char> prepare() noexcept { return in_; }
    /// @throws std::bad_alloc
    void commit(std::size_t bytes);
    [[nodiscard]] bool has_received() const noexcept { return first_size_ != 0; }

    /// Returns why it failed, as reported by OpenSSL, or the first line of a server that does not
    /// use TLS; empty if it has not failed.
    [[nodiscard]] std::string_view failure_text() const noexcept {
        return {failure_text_.data(), failure_size_};
    }

    /// Decrypts received data, as far as it fits; returns 0 if more must be received first. A
    /// failure is reported after all data before it has been returned.
    [[nodiscard]] std::size_t decrypt(std::span<char> into, error_code& ec) noexcept;

    /// @throws colimit::error if the connection cannot be used any more
    void encrypt(std::string_view bytes);

    /// Removes and returns the bytes to send; valid until the next call. @throws std::bad_alloc
    [[nodiscard]] std::string_view output();

    /// Writes the final alert, with the reason for the end if there is one. Allocates nothing.
    [[nodiscard]] std::size_t end(std::span<char> output) noexcept;

  private:
    [[nodiscard]] error_code take_failure(int result) noexcept;

    std::unique_ptr<ssl_st, tls_deleter> connection_;
    bio_st* from_server_ = nullptr; ///< both belong to the connection
    bio_st* to_server_ = nullptr;
    void keep_failure_text(const char* before, std::string_view words) noexcept;

    std::array<char, 100> first_bytes_{}; ///< the first bytes from the server
    std::size_t first_size_ = 0;
    std::array<char, 200> failure_text_{};
    std::size_t failure_size_ = 0;
    error_code failure_; ///< set if the connection cannot be used any more
    bool is_open_ = false;
    /// As large as a record: a read and the rest of the previous one fit into 32 KiB of plain text.
    std::array<char, std::size_t{16} * 1024> in_; // NOLINT: filled before it is read
    std::vector<char> out_;
};

} // namespace colimit::redis
