// SPDX-License-Identifier: BSL-1.0
//
// Servers that replace each other, behind Sentinels or as a cluster, and the ways in which they are
// made to do so while processes call. Everything is looked at through unix sockets, which no
// partition cuts.

#pragma once

#include "caller.hpp"
#include "clock.hpp"
#include "first_decisions.hpp"
#include "record.hpp"

#include <support/redis_server.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::oracle {

/// A way to cause a failover.
struct fault {
    std::string_view name;
    std::function<failover()> make; ///< ends when all servers are well again
};

/// Follows whether a server that runs accepts writes, as masters do.
class write_watch {
  public:
    write_watch(test::redis_server& s, std::string key) : server_(&s), key_(std::move(key)) {}

    bool accepts();
    /// It accepted none yet at this time.
    [[nodiscard]] std::int64_t before() const noexcept { return before_; }
    /// Returns a time before the first accepted write; 0 if there was none.
    [[nodiscard]] std::int64_t first() const noexcept { return first_; }
    /// Returns when the first refusal after the last accepted write was known; 0 if none was
    /// accepted.
    [[nodiscard]] std::int64_t end() const noexcept { return end_; }

  private:
    [[nodiscard]] bool ask() const;

    test::redis_server* server_;
    std::string key_;
    std::int64_t before_ = microseconds_now();
    std::int64_t first_ = 0;
    std::int64_t end_ = 0;
    bool accepted_last_ = false;
};

class deployment {
  public:
    /// @param has_partitions whether they can be made; otherwise masters are frozen for as long
    explicit deployment(bool has_partitions) : has_partitions_(has_partitions) {}
    virtual ~deployment() = default;
    deployment(const deployment&) = delete;
    deployment& operator=(const deployment&) = delete;

    /// For config::server.
    [[nodiscard]] virtual std::string address() const = 0;
    /// Of one server only, as if it had no replicas; it serves at least one of the keys.
    [[nodiscard]] virtual std::string fixed_address() = 0;
    [[nodiscard]] virtual key_names keys() = 0;
    [[nodiscard]] virtual std::vector<fault> faults() = 0;
    /// From what time first decisions are measured.
    [[nodiscard]] virtual std::string_view measured_from() const = 0;
    /// Whether the first decision by a new server is that on the first connection after `begin`,
    /// not the first one after `known`, when an old server may still decide.
    [[nodiscard]] virtual bool has_one_connection() const = 0;
    /// Returns the state that was lost since the last fault because servers replaced each other
    /// without one, as a busy machine makes them do.
    [[nodiscard]] std::optional<loss> unordered();

  protected:
    /// A failover that is being made.
    struct course {
        std::size_t old; ///< the master that is to be replaced
        write_watch old_writes;
        std::vector<write_watch> others; ///< that may replace it
        std::size_t successor = 0;       ///< on a cluster
        failover result = {};
    };

    [[nodiscard]] fault kill();
    /// The master and half of the processes are cut off from everything else, and it goes on
    /// granting; or it is frozen.
    [[nodiscard]] fault cut();

    [[nodiscard]] virtual course begin() = 0;
    /// Returns when clients could know of the new server; 0 before that.
    [[nodiscard]] virtual std::int64_t time_known(const course& c) = 0;
    /// Whether the old master is the master again, or another one.
    [[nodiscard]] virtual bool was_replaced_again() = 0;
    /// Waits until all is well.
    virtual void await_health() = 0;
    /// Returns the keys whose server was replaced since the last call, except as ordered.
    [[nodiscard]] virtual key_set moved(const course* ordered) = 0;
    [[nodiscard]] virtual test::redis_server& server(std::size_t i) = 0;
    [[nodiscard]] virtual std::size_t servers() const = 0;
    /// Those of the servers first.
    [[nodiscard]] virtual std::vector<std::string> hosts() = 0;

    /// @param meanwhile is called again and again
    void await_successor(course& c, const std::function<void()>& meanwhile = {});
    /// Another master and the old one may have granted, until this one was a replica.
    void await_demotion(course& c);
    [[nodiscard]] loss granted_twice(const course& c) const;
    [[nodiscard]] failover finish(course& c);
    /// Scripts are forgotten now and then.
    void flush_sometimes();

  private:
    static constexpr auto nothing = ~std::size_t{0};

    [[nodiscard]] std::optional<loss> loss_of(const key_set& moved);

    bool has_partitions_;
    std::size_t away_ = nothing; ///< a server that was ended or halted
    std::int64_t healthy_at_ = microseconds_now();
    std::mt19937_64 random_{7};
    std::uint64_t ticks_ = 0;
};

[[nodiscard]] std::unique_ptr<deployment> make_sentinel_deployment(bool has_partitions);
[[nodiscard]] std::unique_ptr<deployment> make_cluster_deployment(bool has_partitions);

} // namespace colimit::oracle
