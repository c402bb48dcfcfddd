// SPDX-License-Identifier: BSL-1.0
//
// Slots that move from node to node: key by key, or as a whole.

#include <support/redis_cluster.hpp>
#include <support/server_version.hpp>

namespace colimit::test {

void redis_cluster::begin_migration(std::size_t slot, std::size_t from, std::size_t to) {
    const auto number = std::to_string(slot);
    connect(to).must({"CLUSTER", "SETSLOT", number, "IMPORTING", id(from)});
    connect(from).must({"CLUSTER", "SETSLOT", number, "MIGRATING", id(to)});
}

std::size_t redis_cluster::move_keys(std::size_t slot, std::size_t from, std::size_t to,
                                     std::size_t most) {
    auto source = connect(from);
    const auto keys =
        source.must({"CLUSTER", "GETKEYSINSLOT", std::to_string(slot), std::to_string(most)});
    for (const auto& key : keys.elements)
        move_key(key.text, from, to);
    return keys.elements.size();
}

void redis_cluster::move_key(const std::string& name, std::size_t from, std::size_t to) {
    connect(from).must({"MIGRATE", host(to), std::to_string(port(to)), name, "0", "5000"});
}

void redis_cluster::end_migration(std::size_t slot, std::size_t from, std::size_t to) {
    const auto assign = [&](std::size_t i) {
        connect(i).must({"CLUSTER", "SETSLOT", std::to_string(slot), "NODE", id(to)});
    };
    assign(to); // first, or the source could hear of the former owner again
    assign(from);
    for (std::size_t i = 0; i < size(); ++i) {
        if (i == from || i == to || !is_running(i))
            continue;
        if (connect(i).must({"ROLE"}).elements.at(0).text == "master")
            assign(i);
    }
}

void redis_cluster::migrate_slot(std::size_t slot, std::size_t from, std::size_t to) {
    begin_migration(slot, from, to);
    while (move_keys(slot, from, to) > 0) {
    }
    end_migration(slot, from, to);
}

reply redis_cluster::order_whole_migration(std::size_t slot, std::size_t from, std::size_t to) {
    const auto number = std::to_string(slot);
    auto source = connect(from);
    if (version_of(source).is_valkey())
        return source({"CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", number, number, "NODE", id(to)});
    return connect(to)({"CLUSTER", "MIGRATION", "IMPORT", number, number});
}

} // namespace colimit::test
