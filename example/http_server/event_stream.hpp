// SPDX-License-Identifier: BSL-1.0
//
// Server-sent events for any number of open pages. A page that is slow misses events instead of
// making the server keep them: there is one event, the latest, which all streams share.

#pragma once

#include "awaitable.hpp"
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/tcp_stream.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>

namespace http_server {

class event_stream {
  public:
    /// Pages that may be open at a time.
    static constexpr std::size_t max_readers = 2048;
    /// A reader that has not taken an event for so long is disconnected.
    static constexpr std::chrono::seconds patience{5};

    /// Replaces the event that readers get next.
    /// @param data one line
    void publish(std::string_view data);

    /// Sends the header of the response and each event, until the client disconnects or is too
    /// slow, or until `close`.
    [[nodiscard]] asio::awaitable<void> serve(boost::beast::tcp_stream& client);

    /// Ends all streams; later ones end at once.
    void close();

    [[nodiscard]] bool is_full() const noexcept { return readers_.size() >= max_readers; }
    [[nodiscard]] std::size_t readers() const noexcept { return readers_.size(); }

  private:
    using timer = asio::steady_timer;

    [[nodiscard]] asio::awaitable<void> send_events(boost::beast::tcp_stream& client, timer& news);

    std::shared_ptr<const std::string> latest_;
    std::uint64_t number_ = 0; ///< of the latest event
    std::set<timer*> readers_; ///< each waits for the next event
    bool is_open_ = true;
};

} // namespace http_server
