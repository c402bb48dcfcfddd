// SPDX-License-Identifier: BSL-1.0
//
// Servers over TLS with wrong certificates, or that stop; networks that corrupt data. Calls end by
// their deadlines, no call gets a wrong result, and a server that becomes trusted is used again.

#include "tls_peers.hpp"

#include <redis/protocol/script.hpp>
#include <scenario/tls_server.hpp>
#include <scenario/world.hpp>
#include <support/fault_proxy.hpp>
#include <support/live_limiter.hpp>
#include <support/problems.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/redirect_error.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(trouble_with_tls)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using scenario::tls_server;
using scenario::world;
using test::fault;
using test::fault_kind;
using test::live;
using test::way;

const auto rules = policy{"p", gcra(1'000'000, 24h * 36'500)};

/// Calls end with the error, by their deadline; if the configuration has to change, `ready` does,
/// too, and in every failure mode.
void check_ends(world& in, config settings, errc expected, std::string_view words = {}) {
    const auto is_refusal = expected != errc::unavailable;
    settings.timeout = is_refusal ? 10s : 1s;
    settings.advanced.reconnect_delay_max = 1h; // the call does not wait for an attempt
    for (const auto mode : {failure_mode::error, failure_mode::local}) {
        if (mode == failure_mode::local && !is_refusal)
            continue;
        settings.on_failure = mode;
        auto limits = limiter{in.context.get_executor(), settings};
        in.run([&]() -> asio::awaitable<void> {
            if (is_refusal) {
                const auto [ready] = co_await limits.ready(asio::as_tuple(asio::use_awaitable));
                BOOST_TEST((ready == expected), ready.message());
                BOOST_TEST((ready == condition::permanent));
            }
            const auto begin = in.now();
            const auto [ec, d] = co_await limits.allow("k", rules, asio::as_tuple(asio::deferred));
            BOOST_TEST((ec == expected), ec.message());
            BOOST_TEST((in.now() - begin <= 1s));
            co_await test::until_reported(limits, words);
            BOOST_TEST((test::last_of(limits).code == expected));
        });
    }
}

void check_refused(world& in, const std::string& address,
                   const std::function<void(config&)>& adjust, errc refusal) {
    auto settings = config{};
    settings.server = address;
    adjust(settings);
    check_ends(in, settings, refusal);
}

/// A limiter behind a proxy that does one thing wrong on its first connection.
struct hindered {
    hindered(const tls_server& s, asio::io_context& c, fault wrong,
             const std::function<void(config&)>& adjust = {})
        : proxy(c, s.address(), [wrong](int n) { return n == 1 ? wrong : fault{}; }),
          limiter(c.get_executor(), settings(s, adjust)) {}

    [[nodiscard]] config settings(const tls_server& s,
                                  const std::function<void(config&)>& adjust) const {
        auto c = config{};
        s.trusted()(c);
        c.server = proxy.address();
        c.timeout = 2s;
        c.advanced.ping_interval = 0ms; // only what the test asks for is sent
        c.advanced.reconnect_delay_max = 20ms;
        c.on_failure = failure_mode::error;
        if (adjust)
            adjust(c);
        return c;
    }
    auto allow(std::string_view key) {
        return limiter.allow(key, rules, {}, asio::as_tuple(asio::deferred));
    }
    [[nodiscard]] bool has_struck() const { return proxy.connections() > 0 && proxy.on(1).struck; }

    test::fault_proxy proxy;
    colimit::limiter limiter;
};

/// Runs a context of the limiter's own, and that of the server.
void run_both(asio::io_context& own, world& in, test::predicate holds) {
    while (!holds()) {
        own.restart();
        in.context.restart();
        if (own.poll() + in.context.poll() == 0)
            in.work_for(100us);
    }
}

/// In the server's part of the handshake, which has some 1,100 bytes, and before it.
constexpr auto stalls = {0, 1, 5, 100, 300, 900};

} // namespace

BOOST_AUTO_TEST_CASE(a_misbehaving_peer_decides_no_call_and_is_told_nothing) {
    for (const auto& row : scenario::misbehaving_peers()) {
        BOOST_TEST_CONTEXT(row.name) {
            auto authority = test::certificate_authority{};
            auto one = world{};
            const auto peer = row.open(one, authority);
            auto settings = config{};
            settings.server = "rediss://ann:s3cret@127.0.0.1:" + std::to_string(peer->port());
            settings.tls.ca_file = authority.file();
            settings.advanced.connect_timeout = row.connect_timeout;
            check_ends(one, settings, row.expected, row.words);
            BOOST_TEST(!peer->has_heard_secrets());
        }
    }
}

BOOST_AUTO_TEST_CASE(a_server_is_trusted_only_by_the_CA_and_the_name_that_are_configured) {
    auto in = world{};
    in.os.names["localhost"] = {{0x7f000001}};
    const auto right = tls_server{in};
    const auto stranger = test::certificate_authority{};
    const auto refused = errc::untrusted_server;
    check_refused(in, right.address(), [](config& /*of the system*/) {}, refused);
    check_refused(
        in, right.address(), [&](config& c) { c.tls.ca_file = stranger.file(); }, refused);
    check_refused(in, right.address(), right.trusted("cache.example.org"), refused);
    const auto named =
        tls_server{in, {.names = "DNS:cache.example.org,IP:10.0.0.1"}, false, {0x0a000002, 6379}};
    check_refused(in, named.address("localhost"), named.trusted(), refused);
}

BOOST_AUTO_TEST_CASE(a_server_that_demands_a_certificate_refuses_another_one) {
    auto in = world{};
    const auto s = tls_server{in, {}, true};
    auto stranger = test::certificate_authority{};
    const auto another = stranger.sign("another");
    check_refused(
        in, s.address(),
        [&](config& c) {
            s.trusted()(c);
            c.tls.cert_file = another.certificate;
            c.tls.key_file = another.key;
        },
        errc::auth_failed);
}

BOOST_AUTO_TEST_CASE(a_server_that_comes_to_be_trusted_is_asked_again) {
    auto in = world{};
    auto s = tls_server{in, {.until = -1h}};
    auto l = live{in.context, s.address(), [&](config& c) {
                      s.trusted()(c);
                      c.advanced.reconnect_delay_max = 20ms;
                  }};
    l.run([&]() -> asio::awaitable<void> {
        const auto ec = co_await l.ready();
        BOOST_TEST((ec == errc::untrusted_server));
        s.front.restart_as(s.authority.sign("server"));
        co_await l.until_it_works("k", rules);
    });
}

BOOST_AUTO_TEST_CASE(files_of_the_configuration_are_looked_at_when_a_limiter_is_made) {
    const auto make = [](const std::string& server, const tls_options& options) {
        auto context = asio::io_context{};
        auto settings = config{};
        settings.server = server;
        settings.tls = options;
        try {
            const auto made = limiter{context.get_executor(), settings};
        } catch (const error& e) {
            BOOST_TEST((e.code() == errc::invalid_config));
            return e.reason();
        }
        return std::string{};
    };
    BOOST_TEST(make("rediss://h", {.ca_file = "/nonexistent/ca"}) ==
               "config::tls.ca_file: cannot read /nonexistent/ca: No such file or directory");
    for (const auto* const server : {"redis://h", "memory:", "unix:/s"})
        BOOST_TEST(make(server, {.verify_peer = false}) ==
                   "config::tls.verify_peer is given, but config::server is not a "
                   "rediss:// address");
}

BOOST_AUTO_TEST_CASE(a_handshake_that_stalls_or_trickles_ends_by_its_deadline_and_begins_anew) {
    for (const auto kind : {fault_kind::stall, fault_kind::trickle})
        for (const auto at : stalls) {
            auto in = world{};
            auto s = tls_server{in};
            auto h = hindered{s,
                              in.context,
                              {.kind = kind, .byte = static_cast<std::size_t>(at), .pace = 50ms},
                              [](config& c) {
                                  c.advanced.connect_timeout = 300ms;
                                  c.timeout = 20s;
                              }};
            in.run([&]() -> asio::awaitable<void> {
                const auto [ec, d] = co_await h.allow("k");
                BOOST_TEST(!ec, ec.message());
            });
            BOOST_TEST(h.has_struck());
            BOOST_TEST(h.proxy.connections() >= 2);
            // Three quarters of it: a server that has said nothing is then sent line ends, which
            // end a handshake.
            BOOST_TEST((in.now() >= 225ms));
        }
}

BOOST_AUTO_TEST_CASE(calls_do_not_wait_for_a_handshake_longer_than_they_may) {
    auto in = world{};
    auto s = tls_server{in};
    auto h =
        hindered{s, in.context, {.kind = fault_kind::stall}, [](config& c) { c.timeout = 50ms; }};
    in.run([&]() -> asio::awaitable<void> {
        for (auto i = 0; i < 3; ++i) {
            const auto begin = in.now();
            const auto [ec, d] = co_await h.allow("k");
            BOOST_TEST((ec == errc::unavailable), ec.message());
            BOOST_TEST((in.now() - begin == 50ms));
        }
    });
    BOOST_TEST(h.proxy.connections() == 1);
}

BOOST_AUTO_TEST_CASE(a_limiter_may_end_anywhere_in_the_handshake) {
    for (const auto destroyed : {false, true})
        for (const auto at : stalls) {
            auto in = world{};
            auto s = tls_server{in};
            auto context = asio::io_context{1}; // of the limiter and its proxy alone
            auto h = std::make_unique<hindered>(
                s, context, fault{.kind = fault_kind::stall, .byte = static_cast<std::size_t>(at)});
            auto codes = std::vector<error_code>{};
            for (auto i = 0; i < 2; ++i)
                h->limiter.allow("k", rules, [&](error_code ec, const decision& /*none*/) {
                    codes.push_back(ec);
                });
            run_both(context, in, [&] { return h->has_struck(); });
            BOOST_TEST(codes.empty());
            if (destroyed)
                h.reset();
            else
                h->limiter.close();
            test::run_until(context, [&] { return codes.size() == 2; });
            for (const auto ec : codes)
                BOOST_TEST((ec == errc::closed));
            h.reset();
            context.restart();
            context.run_for(10s); // runs out
            BOOST_TEST(context.stopped());
        }
}

BOOST_AUTO_TEST_CASE(a_context_may_end_in_the_handshake) {
    for (const auto at : stalls) {
        auto in = world{};
        auto s = tls_server{in};
        auto context = std::make_unique<asio::io_context>(1);
        auto h = std::make_unique<hindered>(
            s, *context, fault{.kind = fault_kind::stall, .byte = static_cast<std::size_t>(at)});
        run_both(*context, in, [&] { return h->has_struck(); });
        auto kept = std::make_shared<std::unique_ptr<hindered>>(std::move(h));
        (*kept)->limiter.allow("k", rules, [kept](error_code, const decision&) {});
        kept.reset();
        context.reset(); // has the only hold on the limiter
    }
}

BOOST_AUTO_TEST_CASE(a_frozen_server_keeps_nobody_beyond_his_deadline) {
    auto in = world{};
    auto s = tls_server{in};
    auto l = live{in.context, s.address(), [&](config& c) {
                      s.trusted()(c);
                      c.timeout = 300ms;
                      c.advanced.reconnect_delay_max = 50ms;
                  }};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        s.front.stop();
        const auto begin = in.now();
        const auto [ec, d] = co_await l.allow("k", rules);
        BOOST_TEST((ec == errc::outcome_unknown), ec.message());
        BOOST_TEST((in.now() - begin == 300ms));
        s.front.cont();
        co_await l.until_it_works("k", rules);
    });
}

namespace {

/// The decisions of a limiter while one bit on its connection is flipped, and the correct ones.
struct flipped {
    flipped(const tls_server& s, asio::io_context& c, way w, std::size_t at)
        : name((w == way::to_client ? "c" : "s") + std::to_string(at)),
          h(s, c,
            {.kind = fault_kind::flip, .way = w, .byte = at, .bit = static_cast<unsigned>(at % 8)},
            [](config& settings) { settings.timeout = 1s; }) {}

    /// Keys are charged differently beforehand, so that a result of another key is recognised.
    asio::awaitable<void> ask(colimit::limiter& truth) {
        auto greeted = error_code{};
        co_await h.limiter.ready(asio::redirect_error(asio::use_awaitable, greeted));
        for (auto i = 0; i < 6; ++i) {
            const auto key = name + "/" + std::to_string(i);
            const auto before = co_await truth.charge(key, rules, {.cost = 10 * i + 1});
            const auto [ec, d] = co_await h.allow(key);
            const auto after = co_await truth.peek(key, rules);
            const auto taken = before.remaining - after.remaining;
            if (!ec)
                BOOST_TEST(d.remaining == before.remaining - 1);
            const auto right =
                ec == errc::outcome_unknown ? taken == 0 || taken == 1 : taken == (ec ? 0 : 1);
            BOOST_TEST(right, name << ": " << taken << " taken, " << ec.message());
            failed += ec ? 1 : 0;
        }
        auto ec = error_code{errc::unavailable};
        for (auto left = 1'000; ec && left > 0; --left) {
            const auto [code, d] = co_await h.allow(name);
            ec = code;
            co_await test::pause_for(10ms);
        }
        BOOST_TEST(!ec, name << ": " << ec.message());
    }

    std::string name;
    hindered h;
    int failed = 0;
};

} // namespace

BOOST_AUTO_TEST_CASE(a_flipped_bit_ends_the_connection_and_gives_nobody_a_wrong_answer) {
    auto in = world{};
    auto& context = in.context;
    auto s = tls_server{in};
    auto settings = config{};
    settings.server = s.server.url();
    settings.timeout = 20s;
    settings.on_failure = failure_mode::error;
    auto truth = colimit::limiter{context.get_executor(), settings};
    // Handshake and calls; most of what goes to the server between them is the script.
    auto trials = std::vector<std::unique_ptr<flipped>>{};
    const auto flip = [&](way w, std::size_t from, std::size_t to) {
        for (auto at = from; at < to; at += 37)
            trials.push_back(std::make_unique<flipped>(s, context, w, at));
    };
    flip(way::to_client, 0, 3'000);
    flip(way::to_server, 0, 1'000);
    const auto script = redis::check_script.body.size();
    flip(way::to_server, script, script + 4'000);
    auto running = trials.size();
    for (const auto& t : trials)
        asio::co_spawn(
            context, [&]() -> asio::awaitable<void> { co_await t->ask(truth); },
            [&](const std::exception_ptr& failure) {
                --running;
                test::rethrow(failure);
            });
    test::run_until(context, [&] { return running == 0; });
    const auto struck = std::ranges::count_if(trials, [](auto& t) { return t->h.has_struck(); });
    const auto again = std::ranges::count_if(
        trials, [](auto& t) { return t->h.has_struck() && t->h.proxy.connections() > 1; });
    const auto failed = std::ranges::count_if(trials, [](auto& t) { return t->failed > 0; });
    BOOST_TEST_MESSAGE(struck << " struck of " << trials.size() << ", " << failed
                              << " with calls that failed");
    BOOST_TEST(struck > 100);
    BOOST_TEST(again == struck); // not one was taken for good
    BOOST_TEST(failed > 10);
}

BOOST_AUTO_TEST_SUITE_END()
