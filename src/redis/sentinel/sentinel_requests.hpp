// SPDX-License-Identifier: BSL-1.0
//
// The conversation with one Sentinel: it is asked for the master whenever `ask` is called, and when
// it publishes that a master has changed.
//
//     SUBSCRIBE +switch-master                     once per connection
//     SENTINEL GET-MASTER-ADDR-BY-NAME name        the master, during a failover the new one
//     SENTINEL MASTER name                         the epoch of this knowledge
//     INFO sentinel                                the names of masters, if it does not know `name`
//
// A user who may not subscribe learns of a failover when `ask` is called next. No sockets, no
// clock.
//
// Two commands, as GET-MASTER-ADDR-BY-NAME has the new master as soon as it is promoted, and MASTER
// the epoch and still the old address. +switch-master only leads to a question, as it has no epoch.
// The connection uses RESP3, so that it can ask while it subscribes.

#pragma once

#include <redis/connection/requests.hpp>
#include <redis/sentinel/master_view.hpp>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace colimit::redis {

class sentinel_requests final : public requests {
  public:
    /// @param name of the master
    explicit sentinel_requests(std::string name) : name_(std::move(name)) {}

    /// Asks for the master, at once or when the replies to an earlier question have come.
    void ask() noexcept { is_asked_ = true; }
    /// Returns the latest statement, once.
    [[nodiscard]] std::optional<master_statement> take_statement() noexcept {
        return std::exchange(statement_, {});
    }

    void begin_connection(const server_facts& server) override;
    void lose_connection(std::uint64_t sent) override;
    [[nodiscard]] bool wants_to_write() const noexcept override {
        return is_asked_ && awaited_.empty();
    }
    void write(std::string& out, std::uint64_t stream_position, std::int64_t now) override;
    [[nodiscard]] bool expects_reply() const noexcept override { return !awaited_.empty(); }
    [[nodiscard]] std::int64_t oldest_sent_at() const noexcept override { return sent_at_; }
    [[nodiscard]] std::optional<recovery> read_reply(const resp::decoder& reply,
                                                     std::string_view bytes) override;
    void read_push(const resp::decoder& message, std::string_view bytes) override;
    /// The first statement of a connection does not count: a Sentinel that then closes it would be
    /// connected to again without pauses that grow.
    [[nodiscard]] bool has_ended() const noexcept override { return statement_ && answers_ > 1; }

  private:
    enum class question : std::uint8_t { subscribe, address, epoch, names };

    [[nodiscard]] bool read_address(const resp::decoder& reply, std::string_view bytes);
    void read_epoch(const resp::decoder& reply, std::string_view bytes);
    void report_unknown(std::string_view info);

    std::string name_;
    bool is_asked_ = false;
    bool is_subscribed_ = false; ///< or may not be
    bool asks_names_ = false;    ///< with the next question, as it does not know the master
    std::deque<question> awaited_;
    std::int64_t sent_at_ = 0;
    std::uint64_t answers_ = 0;                 ///< on this connection
    bool is_usable_ = true;                     ///< the address in these replies
    master_statement heard_;                    ///< while replies are outstanding
    std::optional<master_statement> statement_; ///< complete
};

} // namespace colimit::redis
