// SPDX-License-Identifier: BSL-1.0
//
// A blocking connection to a server, for tests that read keys or pipeline by hand: one command, one
// reply, RESP2, no recovery from anything. Whatever goes wrong is a std::runtime_error, also that
// nothing comes for half a minute.

#pragma once

#include <redis/connection/address.hpp>
#include <redis/protocol/resp.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::test {

/// A reply as a tree.
struct reply {
    redis::resp::kind kind = redis::resp::kind::null;
    std::string text; ///< of strings, lines, errors and numbers
    std::int64_t integer = 0;
    std::vector<reply> elements;

    [[nodiscard]] bool is_null() const noexcept { return kind == redis::resp::kind::null; }
    [[nodiscard]] bool is_error() const noexcept { return kind == redis::resp::kind::error; }
    /// The text, or nothing for null: what GET and DUMP mean.
    [[nodiscard]] std::optional<std::string> value() const {
        return is_null() ? std::nullopt : std::optional{text};
    }
};

class raw_client {
  public:
    /// Connects, and authenticates and selects where the address says so.
    explicit raw_client(const redis::address& server);
    /// @param server as config::server
    explicit raw_client(std::string_view server) : raw_client(redis::parse_address(server)) {}
    ~raw_client();
    raw_client(raw_client&& other) noexcept;
    raw_client& operator=(raw_client&&) = delete;
    raw_client(const raw_client&) = delete;
    raw_client& operator=(const raw_client&) = delete;

    /// One command and its reply; an error reply is an answer like others.
    reply operator()(std::initializer_list<std::string_view> words);

    /// The same, where an error reply is a failure of the test.
    reply must(std::initializer_list<std::string_view> words);

    // The commands that tests ask most.
    [[nodiscard]] std::optional<std::string> get(std::string_view key);
    [[nodiscard]] std::optional<std::string> dump(std::string_view key);
    /// Milliseconds; -2 without a key, -1 without an end.
    [[nodiscard]] std::int64_t pttl(std::string_view key);
    [[nodiscard]] std::int64_t dbsize();
    /// TIME, in microseconds.
    [[nodiscard]] std::int64_t time();
    /// The names of all keys, sorted.
    [[nodiscard]] std::vector<std::string> keys();

    /// For pipelines: bytes out, replies in.
    void send(std::string_view bytes);
    /// The next reply, handed to `read(const decoder&, bytes)` where it lies.
    template<class Read>
    auto receive(Read read) {
        const auto bytes = await_reply();
        struct advance {
            raw_client& client;
            ~advance() { client.skip_reply(); }
        } const at_end{*this};
        return read(static_cast<const redis::resp::decoder&>(decoder_), bytes);
    }
    [[nodiscard]] reply receive();
    /// The next reply, if it comes in this time.
    [[nodiscard]] std::optional<reply> receive_within(std::chrono::milliseconds time);

  private:
    [[nodiscard]] std::string_view await_reply();
    void skip_reply() noexcept;

    int socket_ = -1;
    std::string buffer_;
    std::size_t begin_ = 0; ///< of the current reply in buffer_
    redis::resp::decoder decoder_;
};

} // namespace colimit::test
