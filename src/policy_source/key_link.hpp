// SPDX-License-Identifier: BSL-1.0
//
// A connection to the server that has the published document, and its polls. Which server that is
// depends on the address: the one it names, the master that Sentinels name, or the node of a
// cluster that serves the key.
//
// It is a connection of its own, as a document of megabytes must not delay calls, and a program may
// have many limiters and one document. It has no breaker: a question costs nothing and has no
// deadline, and a server that does not answer is reported after `config::advanced.connect_timeout`.

#pragma once

#include <colimit/config.hpp>
#include <limiter/problem_log.hpp>
#include <limiter/redis_settings.hpp>
#include <policy_source/source_core.hpp>
#include <redis/cluster/map_finder.hpp>
#include <redis/cluster/redirection.hpp>
#include <redis/connection/connection.hpp>
#include <redis/document/document_requests.hpp>
#include <redis/sentinel/master_finder.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace colimit::detail {

class link_owner : boost::noncopyable {
  public:
    /// Called with the answer to each question.
    virtual void on_answer(redis::document_requests::answer answer) = 0;
    /// Called when no question was answered for a while, once until one is.
    virtual void on_silence(std::string why) = 0;

  protected:
    ~link_owner() = default;
};

class key_link final : private redis::connection_user,
                       private redis::finder_owner,
                       private redis::map_owner {
  public:
    /// @param where not `memory:`
    /// @param owner outlives the link
    key_link(source_core& core, const config& settings, const redis::address& where,
             const std::string& key, std::int64_t poll_interval, link_owner& owner);

    void open();
    void close() noexcept;
    /// Asks for the version now.
    void ask_version();
    /// Asks for the document, when the owner has returned from `on_answer`.
    void ask_document() noexcept { requests_.ask_document(); }

  private:
    void on_events() override;
    void on_master(const redis::host_port& master) override { move_to(master); }
    void on_no_master(errc why) override { await_node(why); }
    void on_map() override { follow_map(); }
    void on_no_map(errc why) override { await_node(why); }

    void take(redis::document_requests::answer answer);
    void follow(const redis::redirection& moved);
    void follow_map();
    void move_to(const redis::host_port& node);
    void await_node(errc why);
    void take_events();
    void look_elsewhere();
    void end_turn();
    [[nodiscard]] std::int64_t next_event() const noexcept;
    [[nodiscard]] std::string silence() const;

    const std::weak_ptr<void> life_;
    link_owner& owner_;
    const redis::address where_;
    const shared_tls tls_;
    const std::uint16_t slot_; ///< of the key
    const std::int64_t poll_interval_;
    const std::int64_t patience_; ///< how long no answer is not a problem yet

    problem_log problems_;
    redis::document_requests requests_;
    redis::connection connection_;
    std::optional<redis::master_finder> masters_; ///< nullopt without Sentinel
    std::optional<redis::map_finder> nodes_;      ///< nullopt without a cluster

    std::optional<redis::host_port> node_; ///< of the cluster, to which it connects
    std::int64_t moved_at_ = 0;            ///< by a redirection
    std::int64_t asked_at_ = 0;
    std::int64_t answered_at_ = 0; ///< or opened
    bool is_silent_ = false;       ///< and the owner knows
};

} // namespace colimit::detail
