// SPDX-License-Identifier: BSL-1.0
//
// Effects are propagated from the moment on at which a replica or an AOF begins to follow: they
// have the same states as the server, although it made no effects before.

#include <server_module/dataset.hpp>
#include <support/raw_client.hpp>
#include <support/redis_replica.hpp>
#include <support/redis_server.hpp>
#include <support/server_module.hpp>
#include <support/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(module_listeners)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using test::raw_client;
using test::redis_server;
using words = std::vector<std::string>;

[[nodiscard]] words with_module(const words& others = {}) {
    auto all = test::with_server_module();
    all.insert(all.end(), {"--repl-diskless-sync-delay", "0", "--enable-debug-command", "yes"});
    all.insert(all.end(), others.begin(), others.end());
    return all;
}

/// Makes a check of one of some keys.
void check(raw_client& client, std::size_t n) {
    client.must({"COLIMIT.ALLOW", "k" + std::to_string(n % 50), "1000000", "1000000", "365d"});
}

/// Makes checks in a thread until it ends.
class checks {
  public:
    explicit checks(const redis_server& server)
        : client_(server.connect()), thread_([this] {
              while (!stop_)
                  check(client_, made_++);
          }) {}
    checks(const checks&) = delete;
    checks& operator=(const checks&) = delete;
    ~checks() {
        stop_ = true;
        thread_.join();
    }

    /// Waits for further ones.
    void await(std::size_t number) const {
        const auto enough = made_ + number;
        while (made_ < enough)
            std::this_thread::sleep_for(1ms);
    }

  private:
    raw_client client_;
    std::atomic<bool> stop_ = false;
    std::atomic<std::size_t> made_ = 0;
    std::thread thread_;
};

void require_same(raw_client& master, raw_client& replica, std::string_view where) {
    master.must({"SET", "last", "write", "PX", "3600000"});
    while (replica.get("last") != "write")
        std::this_thread::sleep_for(1ms);
    BOOST_TEST(test::require_equal(test::read_dataset(master), test::read_dataset(replica),
                                   master.time() / 1'000, where) > 40U);
    master.must({"DEL", "last"});
}

} // namespace

BOOST_AUTO_TEST_CASE(replicas_that_connect_at_any_moment) {
    for (const auto* diskless : {"yes", "no"}) {
        const auto server = redis_server{
            {.tcp = true,
             .arguments = with_module({"--repl-diskless-sync", diskless, "--save", ""})}};
        auto client = server.connect();
        auto running = std::optional<checks>{server};
        running->await(100);
        auto first = test::redis_replica{server};
        running->await(100);
        auto second = test::redis_replica{server};
        running->await(100);
        running.reset();
        require_same(client, first.client, "the first replica");
        require_same(client, second.client, "the second replica");
    }
}

BOOST_AUTO_TEST_CASE(an_aof_that_is_switched_on_at_any_moment) {
    const auto server = redis_server{{.arguments = with_module({"--appendfsync", "no"})}};
    auto client = server.connect();
    {
        const auto running = checks{server};
        for (auto i = 0; i < 3; ++i) {
            running.await(50);
            client.must({"CONFIG", "SET", "appendonly", "yes"});
            running.await(50);
            client.must({"CONFIG", "SET", "appendonly", "no"});
        }
        client.must({"CONFIG", "SET", "appendonly", "yes"});
        running.await(50);
    }
    while (client.must({"INFO", "persistence"}).text.find("aof_rewrite_in_progress:1") !=
           std::string::npos)
        std::this_thread::sleep_for(5ms);
    const auto before = test::read_dataset(client);
    client.must({"DEBUG", "LOADAOF"});
    BOOST_TEST(test::require_equal(before, test::read_dataset(client), client.time() / 1'000,
                                   "the AOF") > 40U);
}

/// It knows that it had no listeners before it was a replica. As a master it may be followed from
/// its backlog, without a fork.
BOOST_AUTO_TEST_CASE(a_replica_that_becomes_a_master) {
    const auto old = redis_server{{.tcp = true, .arguments = with_module()}};
    const auto next = redis_server{{.tcp = true, .arguments = with_module()}};
    auto at_old = old.connect();
    auto at_next = next.connect();
    check(at_next, 0);
    const auto follow = [](raw_client& one, const redis_server& other) {
        one.must({"REPLICAOF", "127.0.0.1", std::to_string(other.port())});
        while (one.must({"INFO", "replication"}).text.find("master_link_status:up") ==
               std::string::npos)
            std::this_thread::sleep_for(5ms);
    };
    for (std::size_t n = 0; n < 50; ++n)
        check(at_old, n);
    follow(at_next, old);
    auto third = test::redis_replica{old};
    at_next.must({"REPLICAOF", "NO", "ONE"});
    check(at_next, 1);
    follow(third.client, next);
    for (std::size_t n = 0; n < 100; ++n)
        check(at_next, n);
    require_same(at_next, third.client, "the replica of the new master");
}

BOOST_AUTO_TEST_SUITE_END()
