// SPDX-License-Identifier: BSL-1.0
//
// The conversation with a server that has a published document, in two fields of a hash:
//
//     HMGET key version              in every poll
//     HMGET key version document     if that is a version to read
//
// No sockets, no clock.

#pragma once

#include <redis/connection/requests.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace colimit::redis {

class document_requests final : public requests {
  public:
    struct answer {
        bool has_document = false;           ///< the document was asked for
        std::optional<std::string> version;  ///< nullopt if there is no such field
        std::optional<std::string> document; ///< the same
        std::string error;                   ///< the text of an error reply, or empty
    };

    /// @param key of the hash
    explicit document_requests(std::string key) : key_(std::move(key)) {}

    /// Asks for the version, at once or when the reply to an earlier question has come.
    void ask_version() noexcept {
        if (next_ == question::none)
            next_ = question::version;
    }
    /// Asks for the version and the document.
    void ask_document() noexcept { next_ = question::document; }
    /// Returns the answer to the last question, once.
    [[nodiscard]] std::optional<answer> take_answer() { return std::exchange(answer_, {}); }

    void lose_connection(std::uint64_t /*sent*/) override {
        next_ = awaited_ = question::none;
        answer_.reset();
        answers_ = 0;
    }
    [[nodiscard]] bool wants_to_write() const noexcept override {
        return next_ != question::none && awaited_ == question::none;
    }
    void write(std::string& out, std::uint64_t stream_position, std::int64_t now) override;
    [[nodiscard]] bool expects_reply() const noexcept override {
        return awaited_ != question::none;
    }
    [[nodiscard]] std::int64_t oldest_sent_at() const noexcept override { return sent_at_; }
    [[nodiscard]] std::optional<recovery> read_reply(const resp::decoder& reply,
                                                     std::string_view bytes) override;
    /// The first answer of a connection does not count: a server that then closes it would be
    /// connected to again without pauses that grow.
    [[nodiscard]] bool has_ended() const noexcept override { return answer_ && answers_ > 1; }

  private:
    enum class question : std::uint8_t { none, version, document };

    std::string key_;
    question next_ = question::none;
    question awaited_ = question::none;
    std::int64_t sent_at_ = 0;
    std::uint64_t answers_ = 0; ///< on this connection
    std::optional<answer> answer_;
};

} // namespace colimit::redis
