// SPDX-License-Identifier: BSL-1.0
//
// Host names with several addresses, of which some do not work: they drop packets, refuse, accept
// and stay silent, or stop working later. The limiter connects to one that works, in the share of
// the time that each has.

#include <scenario/fake_redis.hpp>
#include <scenario/tls_server.hpp>
#include <scenario/world.hpp>
#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

BOOST_FIXTURE_TEST_SUITE(addresses, colimit::scenario::world)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using scenario::fake_redis;
using test::live;

const auto rules = policy{"p", gcra(1'000'000, 24h * 36'500)};

constexpr std::uint32_t first_ip = 0x0a000001;
constexpr std::uint16_t port = 6379;

/// Takes connections, as its system does, and never says anything.
class silent_host : public simulation::host {
  public:
    silent_host(simulation::network& of, simulation::place where) : network_(of) {
        of.add(where, *this);
    }
    ~silent_host() override { network_.remove(*this); }

    void on_bytes(simulation::connection& /*from*/, std::string_view /*bytes*/) override {}
    void on_end(simulation::connection& /*of*/) override {}
    void on_connect() override { ++tries; }

    int tries = 0;

  private:
    simulation::network& network_;
};

/// Drops what would connect.
struct dropping_host : silent_host {
    dropping_host(simulation::network& of, simulation::place where) : silent_host(of, where) {
        cut_until = simulation::never / 4;
    }
};

[[nodiscard]] error_code ready(scenario::world& in, live& l) {
    auto ec = error_code{};
    in.run([&]() -> asio::awaitable<void> { ec = co_await l.ready(); });
    return ec;
}

} // namespace

BOOST_AUTO_TEST_CASE(an_address_that_drops_packets_is_passed_over) {
    const auto first = dropping_host{net, {first_ip, port}};
    const auto second = dropping_host{net, {first_ip + 1, port}};
    const auto server = fake_redis{net, {first_ip + 2, port}};
    os.names["drops.test"] = {{first_ip, first_ip + 1, first_ip + 2}};
    auto l =
        live{context, "redis://drops.test", [](config& c) { c.advanced.connect_timeout = 900ms; }};
    const auto ec = ready(*this, l);
    BOOST_TEST(!ec, ec.message());
    BOOST_TEST((now() >= 600ms));
    BOOST_TEST((now() <= 602ms));
    BOOST_TEST(l.limiter.statistics().reconnects == 0U);
}

BOOST_AUTO_TEST_CASE(an_address_that_refuses_is_passed_over) {
    const auto server = fake_redis{net, {first_ip + 1, port}};
    os.names["refuses.test"] = {{first_ip, first_ip + 1}};
    auto l = live{context, "redis://refuses.test"};
    const auto ec = ready(*this, l);
    BOOST_TEST(!ec, ec.message());
    BOOST_TEST((now() <= 2ms));
}

BOOST_AUTO_TEST_CASE(an_address_that_never_answers_the_greeting_is_passed_over) {
    const auto silent = silent_host{net, {first_ip, port}};
    const auto another = silent_host{net, {first_ip + 1, port}};
    const auto server = fake_redis{net, {first_ip + 3, port}};
    os.names["silent.test"] = {{first_ip, first_ip + 1, first_ip + 2, first_ip + 3}};
    auto l =
        live{context, "redis://silent.test", [](config& c) { c.advanced.connect_timeout = 500ms; }};
    const auto ec = ready(*this, l);
    BOOST_TEST(!ec, ec.message());
    BOOST_TEST(silent.tries == 1);
    BOOST_TEST(another.tries == 1);
    BOOST_TEST((now() >= 1s));
    BOOST_TEST((now() <= 1'050ms)); // with two pauses
}

BOOST_AUTO_TEST_CASE(tls_goes_on_to_the_next_address_too) {
    const auto server = scenario::tls_server{*this};
    const auto silent = silent_host{net, {first_ip + 1, server.front.port()}};
    const auto dropping = dropping_host{net, {first_ip + 2, server.front.port()}};
    os.names["secure.test"] = {{first_ip + 1, first_ip + 2, 0x7f000001}};
    auto l = live{context, server.address("secure.test"), [&](config& c) {
                      server.trusted("localhost")(c);
                      c.advanced.connect_timeout = 1s;
                  }};
    const auto ec = ready(*this, l);
    BOOST_TEST(!ec, ec.message());
    BOOST_TEST(silent.tries == 1);
    BOOST_TEST((now() >= 1'333ms)); // the second attempt has three addresses
    BOOST_TEST((now() <= 1'400ms));
}

BOOST_AUTO_TEST_CASE(a_server_that_falls_silent_is_left_for_the_next_address) {
    auto first = fake_redis{net, {first_ip, port}};
    const auto second = fake_redis{net, {first_ip + 1, port}};
    os.names["moves.test"] = {{first_ip, first_ip + 1}};
    auto l = live{context, "redis://moves.test", [](config& c) {
                      c.timeout = 500ms;
                      c.advanced.connect_timeout = 500ms;
                  }};
    run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        first.stop();
        const auto begin = now();
        co_await l.until_code("k", rules, errc::outcome_unknown);
        BOOST_TEST((now() - begin == 500ms));
        co_await l.until_it_works("k", rules);
        BOOST_TEST((now() - begin >= 2'500ms)); // five deadlines of silence
        BOOST_TEST((now() - begin <= 2'600ms));
    });
    BOOST_TEST(l.limiter.statistics().reconnects == 1U);
    BOOST_TEST(second.connections() == 1);
}

BOOST_AUTO_TEST_CASE(a_server_that_restarts_is_asked_again_before_the_other_addresses) {
    const auto silent = silent_host{net, {first_ip, port}};
    auto server = fake_redis{net, {first_ip + 1, port}};
    os.names["restarts.test"] = {{first_ip, first_ip + 1}};
    auto l = live{context, "redis://restarts.test",
                  [](config& c) { c.advanced.connect_timeout = 500ms; }};
    const auto ec = ready(*this, l);
    BOOST_TEST(!ec, ec.message());
    BOOST_TEST(silent.tries == 1);
    run([&]() -> asio::awaitable<void> {
        server.drop_connections();
        co_await test::until([&] { return l.limiter.statistics().reconnects == 1; });
    });
    BOOST_TEST(silent.tries == 1);
}

/// The resolver begins anew with no attempt, so the time that it takes is not lost.
BOOST_AUTO_TEST_CASE(a_name_that_takes_longer_than_an_attempt_is_found_all_the_same) {
    const auto server = fake_redis{net};
    os.names["slow.test"] = {{first_ip}, 700'000};
    auto l =
        live{context, "redis://slow.test", [](config& c) { c.advanced.connect_timeout = 200ms; }};
    BOOST_TEST(!ready(*this, l));
    BOOST_TEST((now() >= 700ms));
    BOOST_TEST((now() <= 750ms));
}

BOOST_AUTO_TEST_SUITE_END()
