// SPDX-License-Identifier: BSL-1.0
//
// Decides when the map of a cluster is asked for, and which node: a state machine without a clock
// and without sockets. Times are arguments, in microseconds.
//
//              due: the next node is asked                reply
//   waiting -------------------------------> asking -----------------> waiting
//      ^                                        |   a map, for a period; or doubt, for a pause
//      '----- a pause, then the next node ------'
//                 failure, or no reply in time
//
// At most one node is asked at a time. A refresh is due when it was requested (there is no map yet,
// a node replied MOVED, a connection was lost, a slot has no owner or a forbidden one), and after a
// period without a request. The first request is served at once. While requests continue and the
// map stays as it is, at least a pause lies between two refreshes: a twenty-fourth of the time for
// which this has lasted, and up to half of that as jitter. So a new master is known at most a
// sixteenth (or 150 ms) later than is possible, however long the failover takes, and a thousand
// clients do not occupy the nodes that are left: the two commands cost a node of Redis 7.0 about 50
// us.
//
// Masters of the last map that a node sent are asked first, in rotation from a random one. After a
// failure a replica is next, then one of the seeds, which are the addresses of the configuration,
// then a master again, and so on: nodes of one kind may have failed together. Nodes that failed are
// left out until all have failed, or no refresh was requested for a period. Servers that only
// redirections have named come last: a redirection may be wrong, and a node that is right about a
// new master has the map, too.
//
// So a refresh ends, however many servers redirections name, within a pause and a timeout for each
// node that is silent when it is asked: the second one at the latest, if all masters have failed
// and the replicas have not.
//
// How long a healthy node takes, with its name, TLS and the distance, is not known before the first
// has replied. Until then each has `reply_timeout`; later four times as long as the last one took,
// but at least `usual_timeout`, and twice as long after all have failed.
//
// Nodes may have different maps for a moment, and a node that is cut off from the others has an old
// one for as long. CLUSTER SLOTS has no version, so CLUSTER INFO is asked with it: a map is
// doubtful if its node is not `ok`, or has a lower epoch than the node of the current map. A
// doubtful map is taken only if there is no map yet, or all nodes have been asked and none had a
// better one: perhaps the whole cluster is down, or was reset. Without permission for CLUSTER INFO,
// each map with slots is taken.
//
// What is known is not forgotten because a node knows less: a slot without an owner in a new map
// keeps the one that it had, and the map is asked for again for a period, as that owner may have
// failed. A node that lost its disk has an empty map, which is doubtful, and the others know no
// address of such a node.
//
// Addresses are used again, also by nodes of other clusters. So a map is taken from a node that a
// map has named only if it has the id of a node of the current map; from a seed always.

#pragma once

#include <redis/cluster/cluster_info.hpp>
#include <redis/cluster/slot_map.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace colimit::redis {

/// Microseconds, except the seed.
struct map_refresh_settings {
    std::int64_t pause_least = 100'000;
    std::int64_t pause_most = 1'000'000;
    std::int64_t period = 30'000'000; ///< between refreshes that were not requested
    /// The longest time for connecting, and again for the reply after that.
    std::int64_t reply_timeout = 500'000;
    std::int64_t usual_timeout = 500'000; ///< if nodes reply much sooner
    std::uint32_t seed = 1;               ///< of the jitter, and of the first node
};

class map_refresh {
  public:
    /// @param seeds at least one
    map_refresh(map_refresh_settings settings, std::vector<host_port> seeds);

    /// Returns the map; without slots before the first reply.
    [[nodiscard]] const slot_map& map() const noexcept { return map_; }
    [[nodiscard]] bool has_map() const noexcept { return has_map_; }

    /// Returns whether a node is being asked.
    [[nodiscard]] bool is_asking() const noexcept { return asked_.has_value(); }
    /// Returns when `wake` is to be called.
    [[nodiscard]] std::int64_t wake_at() const noexcept;

    /// A node to be asked for CLUSTER INFO and CLUSTER SLOTS.
    struct query {
        host_port node;
        std::uint64_t number; ///< names the query when it ends
    };
    /// Begins a refresh if it is due. Ends one that is late, as a failure; a caller whose event
    /// loop stood still looks first whether the reply has arrived.
    [[nodiscard]] std::optional<query> wake(std::int64_t now);

    /// Called when the map may be out of date.
    void request(std::int64_t now);
    /// Called when a node replied MOVED: patches the map, and requests a refresh. Returns whether
    /// the map has changed. A reply to a query in flight may undo the patch; the refresh follows
    /// it.
    bool apply_moved(std::uint16_t slot, const host_port& to, std::int64_t now);

    enum class outcome : std::uint8_t {
        changed,   ///< the map is another one
        unchanged, ///< and the node agrees with it
        doubtful,  ///< the node's map was not taken
        foreign,   ///< it was not taken, as it is the map of another cluster
        late,      ///< the query had ended before
    };
    /// @param info nullopt if the node did not say
    /// @param ids of the nodes in the map, sorted; empty if it does not have them
    outcome on_reply(std::uint64_t number, slot_map fresh, std::optional<cluster_info> info,
                     std::int64_t now, std::vector<std::string> ids = {});
    /// Called when the node that is asked has accepted the connection: its reply may take as long
    /// again.
    void note_progress(std::int64_t now) noexcept { progress_at_ = now; }
    /// Called when a node could not be asked, or its reply was not a map.
    void on_failure(std::uint64_t number, std::int64_t now) noexcept;

  private:
    [[nodiscard]] bool is_related(std::span<const std::string> ids) const;
    [[nodiscard]] const host_port* next_node() const;
    [[nodiscard]] const host_port* next_of(std::span<const host_port> nodes) const;
    [[nodiscard]] bool is_troubled(std::int64_t now) const noexcept;
    void reject(std::int64_t now) noexcept;
    void pause(std::int64_t now);

    map_refresh_settings settings_;
    std::vector<host_port> seeds_;
    slot_map map_;
    std::vector<host_port> masters_;  ///< of the last map that was taken, before redirections
    std::vector<host_port> replicas_; ///< the same
    std::vector<std::string> ids_;    ///< of the nodes of that map, if it had them
    bool has_map_ = false;
    std::optional<std::uint64_t> epoch_; ///< of the map's node, if that said it

    std::optional<query> asked_;
    std::int64_t asked_at_ = 0;
    std::int64_t progress_at_ = 0; ///< when it was asked, or has accepted the connection
    std::int64_t patience_;        ///< from then on
    std::uint64_t queries_ = 0;

    bool is_requested_ = true;
    std::optional<std::int64_t> requested_at_; ///< the last time
    std::int64_t trouble_since_ = 0;         ///< the first request of a series, or the last change
    std::optional<std::int64_t> gaps_since_; ///< a slot has had no owner in each map since then
    std::int64_t earliest_ = 0;              ///< of a refresh that is requested
    std::int64_t periodic_at_ = 0;

    std::set<host_port> failed_;
    bool has_doubt_ = false; ///< since all nodes failed or a map was taken, one was not
    bool takes_any_ = false; ///< all nodes were asked, and none had a better map
    std::minstd_rand random_;
    std::size_t rotation_; ///< the position in the rotation
};

} // namespace colimit::redis
