// SPDX-License-Identifier: BSL-1.0
//
// A Sentinel, which says what it was told: the others may know of a failover earlier or later.

#pragma once

#include "server.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace colimit::simulation {

class sentinel_server final : public server {
  public:
    /// @param name of the master
    sentinel_server(network& of, place where, std::string name, const server& master)
        : server(of, where), name_(std::move(name)), master_(&master) {}

    /// It hears of a failover, and publishes it to its subscribers.
    void hear(const server& master, std::int64_t epoch);

  protected:
    std::int64_t execute(session& of, words command, std::string& out) override;

  private:
    void answer(words command, std::string& out) const;

    std::string name_;
    const server* master_;
    std::int64_t epoch_ = 0;
};

} // namespace colimit::simulation
