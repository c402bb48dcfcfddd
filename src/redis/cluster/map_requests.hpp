// SPDX-License-Identifier: BSL-1.0
//
// The conversation with a node that is asked for the map of its cluster: CLUSTER INFO, then CLUSTER
// SLOTS, so that the map is at least as recent as the epoch. No sockets, no clock.

#pragma once

#include <redis/cluster/cluster_info.hpp>
#include <redis/cluster/slot_map_reader.hpp>
#include <redis/connection/requests.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace colimit::redis {

class map_requests final : public requests {
  public:
    struct answer {
        slot_map_result slots;
        std::optional<cluster_info> info; ///< nullopt if the node did not say
    };

    /// Asks the node on the next connection.
    /// @param host of this node; of nodes whose own is unknown, too
    void ask(std::string_view host) {
        host_ = host;
        is_asked_ = true;
    }
    /// Returns the answer, once.
    [[nodiscard]] std::optional<answer> take_answer() { return std::exchange(answer_, {}); }

    /// An answer that was not taken is lost, too: the next node has another one.
    void lose_connection(std::uint64_t /*sent*/) override {
        awaited_ = 0;
        answer_.reset();
    }
    [[nodiscard]] bool wants_to_write() const noexcept override {
        return is_asked_ && awaited_ == 0;
    }
    void write(std::string& out, std::uint64_t stream_position, std::int64_t now) override;
    [[nodiscard]] bool expects_reply() const noexcept override { return awaited_ != 0; }
    [[nodiscard]] std::int64_t oldest_sent_at() const noexcept override { return sent_at_; }
    [[nodiscard]] std::optional<recovery> read_reply(const resp::decoder& reply,
                                                     std::string_view bytes) override;
    [[nodiscard]] bool has_ended() const noexcept override { return answer_.has_value(); }

  private:
    std::string host_;
    bool is_asked_ = false;
    int awaited_ = 0; ///< replies
    std::int64_t sent_at_ = 0;
    std::optional<cluster_info> info_;
    std::optional<answer> answer_;
};

} // namespace colimit::redis
