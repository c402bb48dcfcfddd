// SPDX-License-Identifier: BSL-1.0
//
// The connection of an `acquire` ends, is reset or falls silent, at each byte of its request and of
// its reply. The caller gets a slot or an error, the place has a holder only if that slot lives,
// and the limiter gives back what it was not told of: leases are so long that none ends here.

#include <boost/test/unit_test.hpp>

#include <support/fault_proxy.hpp>
#include <support/live_limiter.hpp>
#include <support/on_failure.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(cut_slots)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::fault;
using test::fault_kind;
using test::way;

constexpr auto uncounted = std::int64_t{1} << 40;
/// The second rule counts how often the call was executed.
const auto rules =
    policy{"p", concurrent(1).lease(1h), fixed_window(uncounted, 24h * 36'500).named("total")};
constexpr std::size_t request = test::script_handshake;

struct findings {
    int granted = 0;
    int unknown = 0;
    int refused = 0;
    std::vector<std::string> wrong = {};
};

class trial {
  public:
    trial(asio::io_context& context, const std::string& server, const fault& wrong, bool records)
        : wrong_(wrong), key_(name_of(wrong)),
          proxy_(
              context, server,
              [wrong](int connection) { return connection == 1 ? wrong : fault{}; }, records),
          limiter_(context.get_executor(), settings()) {}

    /// @param look a limiter that asks the server itself
    asio::awaitable<void> run(limiter& look, findings& into) {
        co_await limiter_.ready();
        auto [ec, taken] = co_await limiter_.acquire(key_, rules, asio::as_tuple(asio::deferred));
        const auto seen = co_await look.peek(key_, rules, {.cost = 0});
        const auto executed = uncounted - seen.rules[1].balance;
        if (taken) {
            ++into.granted;
            check(executed == 1 && holders(seen) == 1 && !taken.lost(), "does not live", into);
            taken.release();
        } else if (ec == errc::outcome_unknown) {
            ++into.unknown;
            check(executed <= 1, "was taken twice", into);
        } else {
            ++into.refused;
            check(ec && executed == 0, "was taken, and the caller has not heard of it", into);
        }
        const auto end = std::chrono::steady_clock::now() + test::patience;
        for (auto left = holders(seen); left != 0;) {
            if (std::chrono::steady_clock::now() > end)
                co_return check(false, "is not given back", into);
            co_await test::pause_for(5ms);
            const auto now = co_await look.peek(key_, rules, {.cost = 0});
            left = holders(now);
        }
    }

    [[nodiscard]] const test::traffic& seen() const { return proxy_.on(1); }

  private:
    [[nodiscard]] static std::string name_of(const fault& f) {
        const auto digits = std::to_string(10'000 + f.byte);
        return (f.way == way::to_server ? "request " : "replies ") + digits;
    }
    [[nodiscard]] static std::int64_t holders(const decision& d) {
        return d.rules[0].limit - d.rules[0].balance;
    }

    [[nodiscard]] config settings() const {
        auto c = config{};
        c.server = proxy_.address();
        // Where the connection ends, that ends the call.
        c.timeout = wrong_.kind == fault_kind::stall ? 100ms : 10s;
        c.ping_interval = 0ms; // only what the test asks for is sent
        c.connect_timeout = 10s;
        c.reconnect_delay_min = 1ms;
        c.reconnect_delay_max = 4ms;
        test::errors_come_through(c);
        return c;
    }

    void check(bool holds, const char* what, findings& into) const {
        if (!holds)
            into.wrong.push_back("kind " + std::to_string(static_cast<int>(wrong_.kind)) + ", " +
                                 key_ + ": the place " + what);
    }

    fault wrong_;
    std::string key_;
    test::fault_proxy proxy_;
    limiter limiter_;
};

/// The sizes of request and reply.
[[nodiscard]] std::array<std::size_t, 2> sizes(const std::string& server, test::live& look) {
    auto unused = findings{};
    // A name that no other trial has.
    auto one = trial{look.context, server, {.kind = fault_kind::none, .byte = 50'000}, true};
    look.run([&] { return one.run(look.limiter, unused); });
    const auto& messages = one.seen().messages;
    return {messages[0].at(request).size(), messages[1].at(request).size()};
}

[[nodiscard]] std::vector<fault> every_byte(fault_kind kind, std::array<std::size_t, 2> sizes) {
    constexpr auto longer = std::size_t{5}; // a reply has microseconds, of 1 to 6 digits
    auto all = std::vector<fault>{};
    for (const auto w : {way::to_server, way::to_client})
        for (std::size_t byte = 0; byte <= sizes[static_cast<std::size_t>(w)] + longer; ++byte)
            all.push_back({.kind = kind, .way = w, .message = request, .byte = byte});
    return all;
}

void cut(fault_kind kind) {
    constexpr auto at_once = 64;
    auto server = test::redis_server{};
    auto look = test::live{server.unix_address()};
    const auto size = sizes(server.unix_address(), look);
    const auto row = every_byte(kind, size);
    auto found = findings{};
    auto next = std::size_t{0};
    auto working = at_once;
    for (auto i = 0; i < at_once; ++i)
        asio::co_spawn(
            look.context,
            [&]() -> asio::awaitable<void> {
                while (next < row.size()) {
                    auto one = std::make_unique<trial>(look.context, server.unix_address(),
                                                       row[next++], false);
                    co_await one->run(look.limiter, found);
                }
                --working;
            },
            test::rethrow);
    while (working != 0)
        look.context.run_one();
    BOOST_TEST_MESSAGE("request of " << size[0] << " bytes, reply of " << size[1] << ": granted "
                                     << found.granted << ", unknown " << found.unknown
                                     << ", other codes " << found.refused);
    for (std::size_t i = 0; i < std::min<std::size_t>(found.wrong.size(), 10); ++i)
        BOOST_ERROR(found.wrong[i]);
    BOOST_TEST(found.wrong.size() == 0U);
    // The faults come to pass, and matter. A reset may take along a reply that has arrived; on a
    // busy machine some calls end before they are sent.
    if (kind != fault_kind::reset)
        BOOST_TEST(found.granted > 0);
    BOOST_TEST(found.unknown > 0);
    if (kind != fault_kind::stall)
        BOOST_TEST(found.refused == 0);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_connection_that_ends_leaves_no_place_without_a_slot) {
    cut(fault_kind::fin);
}

BOOST_AUTO_TEST_CASE(a_connection_that_is_reset_leaves_no_place_without_a_slot) {
    cut(fault_kind::reset);
}

BOOST_AUTO_TEST_CASE(a_connection_that_falls_silent_leaves_no_place_without_a_slot) {
    cut(fault_kind::stall);
}

BOOST_AUTO_TEST_SUITE_END()
