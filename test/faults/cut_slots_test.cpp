// SPDX-License-Identifier: BSL-1.0
//
// The connection of an `acquire` ends, is reset or falls silent, at each byte of its request and of
// its reply. The caller gets a slot or an error; the store has a holder only if that slot lives,
// and the limiter gives back what it was not told of: leases are so long that none ends here.

#include <faults/cuts.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstddef>
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
        : wrong_(wrong), key_(name_of(wrong)), cut_(context, server, wrong, {.records = records}) {}

    /// @param look a limiter that asks the server itself
    asio::awaitable<void> run(limiter& look, findings& into) {
        co_await cut_.limiter.ready();
        auto [ec, taken] =
            co_await cut_.limiter.acquire(key_, rules, asio::as_tuple(asio::deferred));
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

    [[nodiscard]] const test::traffic& seen() const { return cut_.proxy.on(1); }

  private:
    [[nodiscard]] static std::string name_of(const fault& f) {
        const auto digits = std::to_string(10'000 + f.byte);
        return (f.way == way::to_server ? "request " : "replies ") + digits;
    }
    [[nodiscard]] static std::int64_t holders(const decision& d) {
        return d.rules[0].limit - d.rules[0].balance;
    }

    void check(bool holds, const char* what, findings& into) const {
        if (!holds)
            into.wrong.push_back("kind " + std::to_string(static_cast<int>(wrong_.kind)) + ", " +
                                 key_ + ": the place " + what);
    }

    fault wrong_;
    std::string key_;
    test::cut_limiter cut_;
};

/// Returns the messages of a trial without a fault.
[[nodiscard]] test::traffic measure(const std::string& server, test::live& look) {
    auto unused = findings{};
    // A name that no other trial has.
    auto one = trial{look.context, server, {.kind = fault_kind::none, .byte = 50'000}, true};
    look.run([&] { return one.run(look.limiter, unused); });
    return one.seen();
}

void cut(fault_kind kind) {
    auto server = test::redis_server{};
    const auto address = server.unix_address();
    auto look = test::live{address, test::ask_patiently};
    const auto row = test::every_cut(kind, measure(address, look), request);
    auto found = findings{};
    const auto run = [&](std::size_t i) -> asio::awaitable<void> {
        auto one = std::make_unique<trial>(look.context, address, row[i], false);
        co_await one->run(look.limiter, found);
    };
    test::run_trials_at_once(look.context, row.size(), run);
    BOOST_TEST_MESSAGE(row.size() << " trials: granted " << found.granted << ", unknown "
                                  << found.unknown << ", other codes " << found.refused);
    test::expect_none(found.wrong);
    // The faults come to pass, and matter. A reset may take along a reply that has arrived; on a
    // busy machine some calls end before they are sent.
    if (kind != fault_kind::reset)
        BOOST_TEST(found.granted > 0);
    BOOST_TEST(found.unknown > 0);
    if (kind != fault_kind::stall)
        BOOST_TEST(found.refused == 0);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_connection_that_ends_leaves_no_slot_without_an_owner) {
    cut(fault_kind::fin);
}

BOOST_AUTO_TEST_CASE(a_connection_that_is_reset_leaves_no_slot_without_an_owner) {
    cut(fault_kind::reset);
}

BOOST_AUTO_TEST_CASE(a_connection_that_falls_silent_leaves_no_slot_without_an_owner) {
    cut(fault_kind::stall);
}

BOOST_AUTO_TEST_SUITE_END()
