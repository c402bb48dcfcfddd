// SPDX-License-Identifier: BSL-1.0
//
// Which server is the master, according to several Sentinels. Each of them may be dead, cut off
// from the others or late: the one whose configuration has the highest epoch knows the latest
// failover. A lower epoch than before is believed only if more than half of all Sentinels insist on
// it, as after `SENTINEL REMOVE` and `MONITOR`, which begin at 0 again; those that still have the
// higher one are ignored then. Pure: times are arguments, in microseconds.
//
// A majority is not waited for: it would be late by the time that Sentinels need to tell each other
// of a failover. The epoch grows with each failover.

#pragma once

#include <redis/connection/address.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace colimit::redis {

/// What a Sentinel says about the master.
struct master_statement {
    std::optional<host_port> master; ///< nullopt: it knows no master with this name
    /// The epoch of its configuration, which grows with each failover; 0 if it does not say.
    std::uint64_t epoch = 0;

    friend bool operator==(const master_statement&, const master_statement&) = default;
};

class master_view {
  public:
    /// A Sentinel insists on a lower epoch if it has named nothing else for this long: they tell
    /// each other of a failover within two seconds.
    static constexpr std::int64_t insistence = 5'000'000;

    explicit master_view(std::size_t sentinels) : sentinels_(sentinels) {}

    /// Records a statement. If it throws (bad_alloc), the next one makes up for it.
    void note_statement(std::size_t sentinel, const master_statement& what, std::int64_t now);
    /// Called when the connection to a Sentinel is lost: what it has said may be out of date.
    void lose(std::size_t sentinel) noexcept { sentinels_[sentinel] = {}; }

    /// Returns the master: of several in one epoch, the one that most Sentinels name; nullopt until
    /// one is named. It stays the master if no Sentinel names one any more: they may all be dead,
    /// and it alive.
    [[nodiscard]] const std::optional<host_port>& master() const noexcept {
        return believed_.master;
    }
    /// Returns whether this Sentinel is connected, and knows no master with this name.
    [[nodiscard]] bool knows_no_master(std::size_t sentinel) const noexcept {
        const auto& said = sentinels_[sentinel].statement;
        return said && !said->master;
    }

  private:
    struct source {
        std::optional<master_statement> statement;
        std::int64_t at = 0; ///< when it was made last
        /// Since when it has made this statement although a higher epoch is believed.
        std::optional<std::int64_t> late_since;
    };

    [[nodiscard]] bool is_insisted_on(const master_statement& s) const noexcept;
    [[nodiscard]] bool is_most(std::size_t votes) const noexcept;
    [[nodiscard]] std::size_t votes_for(const master_statement& s) const noexcept;

    std::vector<source> sentinels_;
    master_statement believed_;
    std::optional<master_statement> overruled_; ///< of a higher epoch
};

} // namespace colimit::redis
