// SPDX-License-Identifier: BSL-1.0
//
// Policies in Redis, on a cluster whose nodes do not agree who serves the key.

#include <scenario/world.hpp>
#include <support/observed_source.hpp>

#include <redis/protocol/hash_slot.hpp>
#include <support/scripted_node.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

BOOST_FIXTURE_TEST_SUITE(policies_of_a_cluster_that_redirects, colimit::scenario::world)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;

/// Nodes of which each redirects to the next one, and that a source asks.
struct circle {
    circle(asio::io_context& on, std::size_t count) : context(on) {
        for (std::size_t i = 0; i < count; ++i)
            nodes.emplace_back(context, test::scripted_node::behaviour{
                                            .map = [this] { return std::vector{all_slots()}; },
                                            .call =
                                                [this, i](const test::command& /*words*/) {
                                                    ++redirections;
                                                    return moved_to(i + 1);
                                                }});
        settings.server = "redis+cluster://127.0.0.1:" + std::to_string(port(0));
        settings.advanced.connect_timeout = 200ms;
    }

    [[nodiscard]] std::uint16_t port(std::size_t i) const { return nodes[i % nodes.size()].port(); }
    [[nodiscard]] test::slot_range all_slots() const {
        return {.first = 0, .last = redis::hash_slot_count - 1, .port = port(0)};
    }
    [[nodiscard]] std::string moved_to(std::size_t i) const {
        return "-MOVED " + std::to_string(redis::hash_slot("colimit:policies")) +
               " 127.0.0.1:" + std::to_string(stranger != 0 ? stranger : port(i)) + "\r\n";
    }
    /// Begins a source, and returns its first report of a problem.
    [[nodiscard]] std::string first_problem() {
        const auto folder = test::fresh_folder{};
        const auto path = folder.path() + "/policies.json";
        test::write_file(path, test::document_with("1/s"));
        const auto source =
            policy_source{context.get_executor(), path, settings, test::observed_source::quick()};
        test::run_until(context, [&] { return source.status().problem.has_value(); });
        return to_string(*source.status().problem);
    }

    asio::io_context& context;
    std::deque<test::scripted_node> nodes;
    std::uint16_t stranger = 0; ///< the port to which they redirect, if not to each other
    int redirections = 0;
    config settings;
};

} // namespace

BOOST_AUTO_TEST_CASE(nodes_that_redirect_to_each_other_are_reported_and_asked_with_pauses) {
    auto c = circle{context, 2};
    const auto problem = c.first_problem();
    const auto polls = now() / 10ms;
    BOOST_TEST(problem.starts_with("unavailable: "), problem);
    BOOST_TEST(c.redirections > 2);
    BOOST_TEST(c.redirections <= 2 * polls + 10); // a connection asks once, and in each poll
}

BOOST_AUTO_TEST_CASE(a_redirection_that_may_not_be_followed_is_reported) {
    auto c = circle{context, 1};
    c.stranger = 1;
    c.settings.advanced.may_connect = [](std::string_view /*host*/, std::uint16_t port) {
        return port > 1;
    };
    const auto problem = c.first_problem();
    BOOST_TEST(problem.find("config::advanced.may_connect does not allow node") !=
                   std::string::npos,
               problem);
}

BOOST_AUTO_TEST_SUITE_END()
