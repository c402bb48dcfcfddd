// SPDX-License-Identifier: BSL-1.0
//
// A cluster behind a limiter: a node, with a connection and a queue, for each master that calls
// have needed so far.
//
//   call -> group of its key -> node that serves the group's slot
//
// A group is the keys with one tag, so it is in one slot, and a batch has keys of one group. Calls
// whose node is not known wait at `unrouted`, which is a node without an address: before the first
// map, while a slot has no owner, and for a pause after a node has rejected them. When the map
// changes, batches that wait move to the node that serves them now.
//
// A breaker opens, so that calls do not wait: that of `unrouted` while there is no map, that of a
// node's connection, and that of `retry_pauses` for a group or a node whose batches are rejected.

#pragma once

#include <async/deadline_timer.hpp>
#include <colimit/config.hpp>
#include <limiter/redis_backend.hpp>
#include <redis/cluster/map_finder.hpp>
#include <redis/cluster/redirection.hpp>
#include <redis/cluster/retry_pauses.hpp>
#include <redis/protocol/key_tags.hpp>
#include <redis/script/batch_router.hpp>
#include <redis/script/script_queue.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace colimit::detail {

class cluster_backend final : public redis_backend,
                              private redis::map_owner,
                              private redis::batch_router {
  public:
    cluster_backend(limiter_core& core, const config& settings, const redis::address& where);

    void open() override { finder_.open(); }
    [[nodiscard]] stage_result start(operation& op, std::string_view key,
                                     const policy_pointer* policy) override;
    [[nodiscard]] health_state state() const noexcept override;

  private:
    /// A node, and the server to which it connects.
    struct member {
        std::optional<redis::host_port> server; ///< nullopt: for none
        redis_node* node = nullptr;
        redis::script_queue* calls = nullptr; ///< of the node
        std::size_t number = 0;               ///< in `retries_`
        bool has_gained = false;              ///< batches from another queue, just now
    };

    [[nodiscard]] redis_node* node_for(const operation& op, std::string_view key,
                                       const policy_pointer* policy);
    [[nodiscard]] bool try_refuse(std::size_t group, const member& m);
    [[nodiscard]] bool try_ready() override;
    [[nodiscard]] std::optional<errc> refusal() const noexcept override;
    void close(bool now) noexcept override;
    void on_loss(const redis_node& node) override { request_map(node); }
    void on_open_breaker(const redis_node& node) noexcept override { request_map(node); }

    void on_map() override;
    void on_no_map(errc why) override;
    [[nodiscard]] redis::batch_destination
    redirect(const redis::script_queue& from, const redis::rejected_batch& what) noexcept override;
    void on_served(const redis::script_queue& by, std::size_t group,
                   bool was_parked) noexcept override;

    [[nodiscard]] redis::batch_destination route_of(const member& from,
                                                    const redis::rejected_batch& what);
    [[nodiscard]] redis::batch_destination wait_for(const member& from,
                                                    const redis::rejected_batch& what);
    [[nodiscard]] std::optional<redis::host_port> target_of(const redis::redirection& to,
                                                            const member& from);
    [[nodiscard]] redis::batch_destination retry_later(std::size_t because_of, bool counts);
    void report_slot(std::string_view problem, std::size_t slot, std::string_view reply);
    [[nodiscard]] member& member_of(std::size_t group);
    /// Returns nullptr if there is no node for this server.
    [[nodiscard]] member* find_member(const redis::host_port& server) noexcept;
    [[nodiscard]] member& member_at(const redis::host_port& server);
    member& add_member();
    [[nodiscard]] member& unrouted() noexcept { return members_.front(); }
    void request_map(const redis_node& node) noexcept;
    [[nodiscard]] redis::script_queue* next_queue(member& from, std::size_t group, bool is_parked);
    void move_waiting(member& from) noexcept;
    void reroute() noexcept;
    void reroute_at(std::int64_t at) noexcept;
    void reroute_later() noexcept;
    void release_members();
    void on_time();
    void wake_at(std::int64_t at) noexcept;

    static constexpr auto never = std::numeric_limits<std::int64_t>::max();

    const config settings_;
    const redis::address where_;
    const shared_tls tls_;
    const redis::key_tags tags_;
    std::deque<member> members_; ///< the first one is `unrouted`
    std::vector<member*> route_; ///< by group; null: not looked up yet, or without a map
    redis::map_finder finder_;
    redis::retry_pauses retries_; ///< of groups, and after them of members
    bool is_closed_ = false;
    bool is_in_call_ = false;         ///< of a verb, perhaps on another thread
    std::int64_t retry_at_ = never;   ///< when calls at `unrouted` are sent to the nodes again
    std::int64_t release_at_ = never; ///< when connections that no call needs are closed
    deadline_timer timer_;
};

} // namespace colimit::detail
