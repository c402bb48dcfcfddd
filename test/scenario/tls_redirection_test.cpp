// SPDX-License-Identifier: BSL-1.0
//
// A node of a cluster over TLS that sends a limiter to each misbehaving peer: with MOVED, with ASK,
// and by its map. Nothing is said to the peer before it is trusted, calls that need it end by their
// deadline with the reason, and calls on the node go on.

#include "tls_peers.hpp"

#include <redis/protocol/hash_slot.hpp>
#include <support/live_limiter.hpp>
#include <support/problems.hpp>
#include <support/scripted_node.hpp>
#include <support/unit_test.hpp>
#include <support/usual_tags.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(tls_redirections)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;

const auto rules = policy{"p", gcra(1'000'000, 24h * 36'500)};

/// Slots from here on are served by the peer, the map says.
constexpr std::size_t middle = 8'192;
constexpr std::size_t last = 16'383;

/// Keys in different slots.
struct keys {
    keys() {
        auto taken = std::set<std::size_t>{};
        const auto find = [&](bool is_ours) {
            for (auto i = 0;; ++i) {
                auto key = "key" + std::to_string(i);
                const auto slot = test::slot_of(key);
                if ((slot < middle) == is_ours && taken.insert(slot).second)
                    return key;
            }
        };
        of_node = find(true);
        moved = find(true);
        asked = find(true);
        of_peer = find(false);
    }

    std::string of_node; ///< which decides it
    std::string moved;   ///< MOVED to the peer
    std::string asked;   ///< ASK
    std::string of_peer;
};

/// A node that decides calls, except for those on the slots that it sends to the peer.
class node {
  public:
    node(asio::io_context& context, const test::identity& who, const keys& of, std::uint16_t peer)
        : moved_(test::slot_of(of.moved)), asked_(test::slot_of(of.asked)), peer_(peer),
          node_(context, {.map = [this] { return map(); },
                          .call = [this](const test::command& words) { return decide(words); },
                          .tls = who}) {}

    [[nodiscard]] std::string address() const {
        return "rediss+cluster://ann:s3cret@127.0.0.1:" + std::to_string(node_.port());
    }

  private:
    /// It is out of date until a call has shown that.
    [[nodiscard]] std::vector<test::slot_range> map() const {
        const auto own = node_.port();
        return {{0, moved_ - 1, own},
                {moved_, moved_, has_moved_ ? peer_ : own},
                {moved_ + 1, middle - 1, own},
                {middle, last, peer_}};
    }

    [[nodiscard]] std::string decide(const test::command& words) {
        const auto slot = std::size_t{redis::hash_slot(words.at(3))};
        const auto to_peer = [&](std::string_view kind) {
            return std::string{kind} + std::to_string(slot) +
                   " 127.0.0.1:" + std::to_string(peer_) + "\r\n";
        };
        if (slot == asked_)
            return to_peer("-ASK ");
        if (slot != moved_)
            return script_.answer(words);
        has_moved_ = true;
        return to_peer("-MOVED ");
    }

    std::size_t moved_;
    std::size_t asked_;
    std::uint16_t peer_;
    bool has_moved_ = false;
    test::script_double script_{rules};
    test::scripted_node node_;
};

/// A limiter, and a call that needs the peer.
struct route {
    route(scenario::world& in, const config& settings, std::string key)
        : in(in), limits(in.context.get_executor(), settings), key(std::move(key)) {}

    void start() {
        limits.allow(key, rules, [this, begin = in.now()](error_code ec, const decision&) {
            code = ec;
            took = in.now() - begin;
        });
    }

    scenario::world& in;
    limiter limits;
    std::string key;
    std::optional<error_code> code;
    std::chrono::microseconds took{0};
};

asio::awaitable<bool> is_decided_by_node(limiter& l, const std::string& key) {
    const auto [ec, d] = co_await l.allow(key, rules, asio::as_tuple(asio::deferred));
    co_return !ec && d.source == decision_source::store;
}

void check(const scenario::misbehaving_peer& row) {
    auto authority = test::certificate_authority{};
    auto world = scenario::world{};
    const auto peer = row.open(world, authority);
    const auto all = keys{};
    const auto sends_away = node{world.context, authority.sign("node"), all, peer->port()};
    auto settings = config{};
    settings.server = sends_away.address();
    settings.tls.ca_file = authority.file();
    settings.advanced.ping_interval = 0ms;
    settings.advanced.connect_timeout = row.connect_timeout;
    // No failure mode hides a refusal.
    const auto is_refusal = row.expected != errc::unavailable;
    settings.on_failure = is_refusal ? failure_mode::local : failure_mode::error;
    settings.timeout = is_refusal ? 10s : 2s;
    if (is_refusal)
        settings.advanced.reconnect_delay_max = 1h; // calls do not wait for the next attempt
    auto routes = std::vector<std::unique_ptr<route>>{};
    for (const auto& key : {all.of_peer, all.moved, all.asked})
        routes.push_back(std::make_unique<route>(world, settings, key));
    world.run([&]() -> asio::awaitable<void> {
        for (const auto& r : routes)
            for (auto is_connected = false; !is_connected;)
                is_connected = co_await is_decided_by_node(r->limits, all.of_node);
        for (const auto& r : routes)
            r->start();
        const auto is_done = [&] {
            return std::ranges::all_of(routes, [](const auto& r) { return r->code.has_value(); });
        };
        do {
            for (const auto& r : routes) {
                const auto is_decided = co_await is_decided_by_node(r->limits, all.of_node);
                BOOST_TEST(is_decided);
            }
            co_await test::pause_for(1ms);
        } while (!is_done());
        for (const auto& r : routes) {
            BOOST_TEST((*r->code == row.expected), r->key << ": " << r->code->message());
            BOOST_TEST((r->took <= settings.timeout), r->key);
            co_await test::until_reported(r->limits, row.words);
            test::check_last(r->limits, row.expected, test::last_of(r->limits).phase,
                             "node 127.0.0.1:" + std::to_string(peer->port()) + ": ");
        }
    });
    BOOST_TEST(!peer->has_heard_secrets());
}

} // namespace

BOOST_AUTO_TEST_CASE(no_misbehaving_peer_is_trusted_because_a_node_names_it) {
    for (const auto& row : scenario::misbehaving_peers()) {
        BOOST_TEST_CONTEXT(row.name) {
            check(row);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
