// SPDX-License-Identifier: BSL-1.0
//
// TLS on one connection, without a socket: what the server has sent goes in, what is to be sent to
// it comes out, and plain text is between them. Whoever has the socket moves the bytes.
//
//     plain text   encrypt ->  [ OpenSSL ]  -> take_output   to the server
//                  decrypt <-               <- room, receive  from it
//
// Asio's ssl::stream is not used. Its read and its write share a way out, and where both have
// something to say, the one that waits for the other is told that it was sent when it was not. It
// also gives OpenSSL's buffers back after each record, to take them again with the next, and sends
// each record by itself. Here nothing is allocated for a record but what OpenSSL 3 cannot be kept
// from: a block of 40 bytes or two, which is some eight for a batch and its reply.

#ifndef COLIMIT_REDIS_CONNECTION_TLS_LINK_HPP
#define COLIMIT_REDIS_CONNECTION_TLS_LINK_HPP

#include <colimit/error.hpp>
#include <redis/connection/tls_context.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

struct bio_st;

namespace colimit::redis {

/// Every failure ends the connection, and is one of
///
///   - `untrusted_server`: its certificate is not one that the options accept;
///   - `auth_failed`: it does not accept ours, or wants one, or refuses to speak TLS with us;
///   - `bad_reply`: its first bytes are not TLS;
///   - `unavailable`: it has ended the connection, or bytes were damaged.
class tls_link {
  public:
    /// @throws std::bad_alloc
    explicit tls_link(const tls_context& context);

    /// Goes on with the handshake as far as what was received allows. True when it is done.
    [[nodiscard]] bool shake_hands(error_code& ec) noexcept;

    /// Where to put what comes from the server; `receive` says how much of it came.
    [[nodiscard]] std::span<char> room() noexcept { return in_; }
    /// @throws std::bad_alloc
    void receive(std::size_t bytes);
    [[nodiscard]] bool has_received() const noexcept { return heard_size_ != 0; }

    /// Why it failed, in the words of OpenSSL, or the first line of a server that does not speak
    /// TLS; empty if it has not failed.
    [[nodiscard]] std::string_view words() const noexcept { return {words_.data(), words_size_}; }

    /// What the server has said, as far as it fits; 0 when more must be received first. A failure
    /// is told when all that came before it has been handed out.
    [[nodiscard]] std::size_t decrypt(std::span<char> into, error_code& ec) noexcept;

    /// @throws colimit::error when the connection cannot be used any more
    void encrypt(std::string_view bytes);

    /// What is to be sent, taken out; valid until the next call. @throws std::bad_alloc
    [[nodiscard]] std::string_view take_output();

    /// The last that is to be sent: why we end, or just that we do. Needs no memory.
    [[nodiscard]] std::size_t end(std::span<char> output) noexcept;

  private:
    [[nodiscard]] error_code note_failure(int result) noexcept;

    std::unique_ptr<ssl_st, tls_deleter> connection_;
    bio_st* from_server_ = nullptr; ///< both belong to the connection
    bio_st* to_server_ = nullptr;
    void keep_words(const char* before, std::string_view words) noexcept;
    [[nodiscard]] bool is_plain_text() const noexcept;

    std::array<char, 100> heard_{}; ///< the first bytes of the server
    std::size_t heard_size_ = 0;
    std::array<char, 200> words_{};
    std::size_t words_size_ = 0;
    error_code failure_; ///< it cannot be used any more
    bool is_open_ = false;
    /// Of the size of a record. What is in one read, and what was left of the last, always fits
    /// into 32 KiB of plain text.
    std::array<char, std::size_t{16} * 1024> in_; // NOLINT: filled before it is read
    std::vector<char> out_;
};

} // namespace colimit::redis

#endif
