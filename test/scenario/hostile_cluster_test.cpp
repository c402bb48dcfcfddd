// SPDX-License-Identifier: BSL-1.0
//
// A node of a cluster that is controlled by the test, has all addresses of this machine, and sends
// batches to other ones of them.

#include <colimit/limiter.hpp>
#include <redis/protocol/hash_slot.hpp>
#include <scenario/world.hpp>
#include <support/coroutine_run.hpp>
#include <support/script_double.hpp>
#include <support/scripted_node.hpp>
#include <support/unit_test.hpp>
#include <support/usual_tags.hpp>

#include <boost/asio/ip/tcp.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

BOOST_FIXTURE_TEST_SUITE(hostile_clusters, colimit::scenario::world)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using asio::ip::tcp;

/// A node that says that it serves all slots, and answers script calls as the test says.
class hostile_node {
  public:
    hostile_node(asio::io_context& context,
                 std::function<std::string(const test::command& words)> decide)
        : node_(context,
                {.map = [this] { return std::vector{all_slots()}; }, .call = std::move(decide)}) {}

    [[nodiscard]] std::string port() const { return std::to_string(node_.port()); }

  private:
    [[nodiscard]] test::slot_range all_slots() const {
        return {.first = 0, .last = redis::hash_slot_count - 1, .port = node_.port()};
    }

    test::scripted_node node_;
};

/// Sends a script call to the `number`-th address of a network, such as 127.1.
[[nodiscard]] std::string moved(const test::command& words, const std::string& network, int number,
                                const std::string& port) {
    return "-MOVED " + std::to_string(redis::hash_slot(words.at(3))) + " " + network + "." +
           std::to_string(number / 256 % 256) + "." + std::to_string(number % 256) + ":" + port +
           "\r\n";
}

} // namespace

BOOST_AUTO_TEST_CASE(a_node_that_names_ever_new_servers_does_not_take_all_memory) {
    constexpr std::size_t most_servers = 128;
    auto servers = std::set<std::string, std::less<>>{};
    auto c = config{};
    auto redirections = 0;
    hostile_node node{context, [&](const test::command& words) {
                          return moved(words, "127.1", ++redirections, node.port());
                      }};
    c.server = "redis+cluster://127.0.0.1:" + node.port();
    c.timeout = 300ms;
    c.advanced.may_connect = [&](std::string_view host, std::uint16_t /*port*/) {
        servers.emplace(host);
        return true;
    };
    auto limits = limiter{context.get_executor(), c};
    const auto rules = policy{"p", gcra(100, 1s)};
    auto ended = 0;
    while (redirections < 500) {
        ended = 0;
        for (auto i = 0; i < 300; ++i)
            limits.allow("k" + std::to_string(i), rules,
                         [&](error_code /*ec*/, decision /*d*/) { ++ended; });
        test::run_until(context, [&] { return ended == 300; });
    }
    // A server that is not in the map is left after one to two seconds.
    const auto generations = static_cast<std::size_t>(now() / 1s) + 1;
    const auto asked_for_the_map = 20 * generations; // at most
    BOOST_TEST(servers.size() <= most_servers * generations + asked_for_the_map);
    BOOST_TEST_MESSAGE(servers.size() << " servers in " << now() / 1ms << " ms, " << redirections
                                      << " redirections");
    BOOST_TEST(limits.last_error().has_value());
    limits.close();
}

/// The map is asked for at nodes that have sent one, not at those that redirections name.
BOOST_AUTO_TEST_CASE(the_map_is_known_again_soon_after_redirections_to_64_silent_servers) {
    constexpr std::size_t count = redis::key_tags::usual;
    constexpr auto bound = 5s; // a pause and a reply; 64 timeouts would be 32 s
    const auto silent = tcp::acceptor{context, {asio::ip::address_v4::any(), 0}};
    const auto silent_port = std::to_string(silent.local_endpoint().port());
    const auto rules = policy{"p", gcra(100, 1s)};
    auto script = test::script_double{rules};
    auto redirections = 0;
    const auto decide = [&](const test::command& words) {
        return redirections < int{count} ? moved(words, "127.2", ++redirections, silent_port)
                                         : script.answer(words);
    };
    const auto node = hostile_node{context, decide};
    auto c = config{};
    c.server = "redis+cluster://127.0.0.1:" + node.port();
    c.timeout = 100ms;
    c.on_failure = failure_mode::error;
    auto limits = limiter{context.get_executor(), c};

    auto keys = std::vector<std::string>(count); // one in each group
    for (auto i = 0; std::ranges::any_of(keys, &std::string::empty); ++i) {
        const auto key = "k" + std::to_string(i);
        keys[test::tag_of(key)] = key;
    }
    auto errors = std::vector<error_code>(count);
    do {
        auto ended = std::size_t{0};
        for (std::size_t i = 0; i < count; ++i)
            limits.allow(keys[i], rules, [&, i](error_code ec, decision /*d*/) {
                errors[i] = ec;
                ++ended;
            });
        test::run_until(context, [&] { return ended == count; });
    } while (std::ranges::any_of(errors, &error_code::failed) && now() < bound);
    BOOST_TEST_MESSAGE("all slots are served again after " << now() / 1ms << " ms");
    BOOST_TEST(redirections == int{count});
    BOOST_TEST((now() < bound));
    limits.close();
}

BOOST_AUTO_TEST_SUITE_END()
