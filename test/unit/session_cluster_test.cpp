// SPDX-License-Identifier: BSL-1.0
//
// A session with a node of a cluster, and one whose server is not needed for a while.

#include <support/unit_test.hpp>
#include <unit/session_bench.hpp>

#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(session_clusters)

namespace {

using namespace colimit;
using redis::action;
using redis::session_state;
using test::info;
using test::mode;
using test::session_bench;

[[nodiscard]] redis::session_settings settings(int protocol = 3) {
    return {.role = redis::server_role::node, .protocol = protocol};
}

constexpr std::string_view in_no_cluster =
    "a server that is in no cluster; its address is redis://host:port";

} // namespace

BOOST_AUTO_TEST_CASE(a_node_of_a_cluster_is_accepted) {
    auto c = session_bench{settings()};
    c.open("HELLO 3");
    c.serve(mode("cluster"));
    BOOST_TEST(c.session.facts().is_cluster);
}

/// Such as a proxy.
BOOST_AUTO_TEST_CASE(a_node_that_reports_no_mode_is_accepted) {
    auto c = session_bench{settings()};
    c.make_ready();
    BOOST_TEST(!c.session.facts().is_cluster);
}

BOOST_AUTO_TEST_CASE(a_server_that_is_in_no_cluster_is_refused) {
    auto c = session_bench{settings()};
    c.open();
    c.fail({mode("standalone")}, errc::bad_reply, in_no_cluster);
    BOOST_TEST(c.errors.codes.size() == 1U);
    BOOST_TEST(c.session.script_loads() == 0U);
    BOOST_TEST((c.wait() == action::connect)); // it may join a cluster
}

BOOST_AUTO_TEST_CASE(a_sentinel_is_not_a_node) {
    auto c = session_bench{settings()};
    c.open();
    c.fail({mode("sentinel")}, errc::bad_reply,
           "a Sentinel, whose address is redis+sentinel://host:port/master");
}

/// Where HELLO is not known, INFO has the mode.
BOOST_AUTO_TEST_CASE(the_mode_is_that_of_info_in_resp2) {
    for (const std::string_view name : {"cluster", "standalone", ""}) {
        auto c = session_bench{settings()};
        c.open();
        c.hear({test::no_hello}, action::send);
        BOOST_TEST(c.sent() == "PING; INFO server");
        c.hear({test::pong});
        if (name == "standalone") {
            c.fail({info(name)}, errc::bad_reply, in_no_cluster);
            continue;
        }
        c.serve(info(name));
        BOOST_TEST(c.session.facts().is_cluster == (name == "cluster"));
    }
}

BOOST_AUTO_TEST_CASE(a_node_of_which_info_is_denied_is_accepted_in_resp2) {
    auto c = session_bench{settings(2)};
    c.open();
    c.hear({test::pong});
    c.serve("-NOPERM this user has no permissions to run the 'info' command\r\n");
}

BOOST_AUTO_TEST_CASE(a_connection_that_executes_no_calls_loads_no_script) {
    for (const auto protocol : {3, 2}) {
        auto s = settings(protocol);
        s.executes_calls = false;
        auto c = session_bench{s};
        c.open();
        if (protocol == 2)
            c.hear({test::pong});
        c.hear({protocol == 2 ? info("cluster") : mode("cluster")}, action::serve);
        BOOST_TEST((c.session.state() == session_state::ready));
        BOOST_TEST(c.session.script_loads() == 0U);
    }
}

BOOST_AUTO_TEST_CASE(a_cluster_that_has_no_other_database_is_refused) {
    for (const auto* const error : {"-ERR SELECT is not allowed in cluster mode\r\n",
                                    "-ERR DB index is out of range\r\n"}) // Valkey 9
        for (const auto role : {redis::server_role::node, redis::server_role::any}) {
            auto c = session_bench{{.role = role, .database = 2}};
            c.open("HELLO 3; SELECT 2");
            c.fail({mode("cluster"), error}, errc::bad_reply,
                   "a cluster that does not have the database of the address; "
                   "its address is redis+cluster://host:port without /db");
        }
}

// A server that is not needed

namespace {

/// Checks that a suspended session knows nothing of its server, and can start again.
void check_suspend(session_bench& c, action expected) {
    BOOST_TEST((c.session.suspend() == expected));
    BOOST_TEST((c.session.state() == session_state::idle));
    BOOST_TEST(!c.session.wake_at().has_value());
    BOOST_TEST((c.session.error() == errc::unavailable));
    BOOST_TEST(c.session.earliest_ready_at() == 0); // calls wait
    BOOST_TEST((c.session.wake(c.now + 3'600'000'000) == action::nothing));
    BOOST_TEST((c.session.suspend() == action::nothing));
    BOOST_TEST((c.session.moved(c.now) == action::nothing));
    c.open("HELLO 3");
    c.serve();
    // The pauses begin again.
    c.lose();
    BOOST_TEST(c.session.wake_at().value() <= c.now + 10'000);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_session_that_was_never_started_has_nothing_to_end) {
    auto c = session_bench{settings()};
    check_suspend(c, action::nothing);
}

BOOST_AUTO_TEST_CASE(an_attempt_to_connect_is_given_up) {
    auto c = session_bench{settings()};
    BOOST_TEST((c.session.start(c.now) == action::connect));
    check_suspend(c, action::disconnect);
}

BOOST_AUTO_TEST_CASE(a_handshake_is_given_up_in_both_parts) {
    for (const auto is_second : {false, true}) {
        auto c = session_bench{settings()};
        c.open();
        if (is_second)
            c.introduce();
        check_suspend(c, action::disconnect);
    }
}

BOOST_AUTO_TEST_CASE(a_handshake_that_began_in_resp2_begins_in_resp3_elsewhere) {
    auto c = session_bench{settings()};
    c.open();
    c.hear({test::no_hello}, action::send);
    check_suspend(c, action::disconnect);
}

BOOST_AUTO_TEST_CASE(a_connection_that_is_ready_is_closed) {
    auto c = session_bench{settings()};
    c.make_ready();
    check_suspend(c, action::disconnect);
}

BOOST_AUTO_TEST_CASE(a_session_that_waits_after_losses_does_not_wait_on) {
    auto c = session_bench{settings()};
    BOOST_TEST((c.session.start(c.now) == action::connect));
    for (auto i = 0; i < 10; ++i) {
        c.lose();
        BOOST_TEST((c.wait() == action::connect));
    }
    c.lose();
    check_suspend(c, action::nothing);
}

/// The connection is kept while the dataset is loaded.
BOOST_AUTO_TEST_CASE(a_connection_to_a_server_that_loads_its_dataset_is_closed) {
    auto c = session_bench{settings()};
    c.open();
    c.hear({test::loading});
    BOOST_TEST((c.session.state() == session_state::waiting));
    check_suspend(c, action::disconnect);
}

BOOST_AUTO_TEST_CASE(a_refusal_is_not_kept) {
    auto c = session_bench{settings()};
    c.open();
    c.fail({test::wrong_password}, errc::auth_failed);
    check_suspend(c, action::nothing);
}

BOOST_AUTO_TEST_CASE(a_session_that_is_closed_is_not_suspended) {
    auto c = session_bench{settings()};
    c.make_ready();
    c.session.close();
    BOOST_TEST((c.session.suspend() == action::nothing));
    BOOST_TEST((c.session.state() == session_state::closed));
    BOOST_TEST((c.session.start(c.now) == action::nothing));
}

BOOST_AUTO_TEST_SUITE_END()
