// SPDX-License-Identifier: BSL-1.0
//
// Error replies: for every one that a server is known to give, what its callers are told and what
// becomes of the connection.

#include <redis/protocol/reply_error.hpp>
#include <support/unit_test.hpp>

#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(reply_errors)

namespace {

using colimit::errc;
using colimit::redis::classify;
using colimit::redis::recovery;

void check(std::string_view text, errc code, recovery what) {
    BOOST_TEST_CONTEXT(text) {
        const auto meaning = classify(text);
        BOOST_TEST((meaning.code == code));
        BOOST_TEST((meaning.recovery == what));
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(a_forgotten_script_is_sent_again) {
    check("NOSCRIPT No matching script. Please use EVAL.", errc::unavailable,
          recovery::resend_with_script);
}

BOOST_AUTO_TEST_CASE(a_server_without_the_library_ran_nothing_and_is_left) {
    check("ERR Function not found", errc::invalid_config, recovery::leave_unloaded);
}

BOOST_AUTO_TEST_CASE(a_server_that_is_busy_with_itself_ran_nothing_and_stays_connected) {
    check("LOADING Redis is loading the dataset in memory", errc::unavailable,
          recovery::server_busy);
    check("BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
          errc::unavailable, recovery::server_busy);
    check("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
          errc::unavailable, recovery::server_busy);
    check("CLUSTERDOWN The cluster is down", errc::unavailable, recovery::server_busy);
}

BOOST_AUTO_TEST_CASE(a_demoted_master_is_left) {
    check("READONLY You can't write against a read only replica.", errc::unavailable,
          recovery::leave_read_only);
    check("READONLY You can't write against a read only replica. script: 0123456789, on "
          "@user_script:207.",
          errc::unavailable, recovery::leave_read_only);
}

BOOST_AUTO_TEST_CASE(a_refused_write_is_an_error_of_the_server) {
    check("OOM command not allowed when used memory > 'maxmemory'.", errc::server_error,
          recovery::keep);
    check(
        "OOM command not allowed when used memory > 'maxmemory'. script: 0123, on @user_script:1.",
        errc::server_error, recovery::keep);
    check("MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist "
          "to disk.",
          errc::server_error, recovery::keep);
    check("NOREPLICAS Not enough good replicas to write.", errc::server_error, recovery::keep);
    check("EXECABORT Transaction discarded because of previous errors.", errc::server_error,
          recovery::keep);
}

BOOST_AUTO_TEST_CASE(a_cluster_node_that_does_not_serve_the_key_is_a_cause_to_be_fixed) {
    check("MOVED 3999 127.0.0.1:6381", errc::wrong_node, recovery::keep);
    check("ASK 3999 127.0.0.1:6381", errc::wrong_node, recovery::keep);
    check("CROSSSLOT Keys in request don't hash to the same slot", errc::wrong_node,
          recovery::keep);
    check("CLUSTERDOWN Hash slot not served", errc::wrong_node, recovery::keep);
    for (const auto* text :
         {"ERR Script attempted to access a non local key in a cluster node script: 0123, on "
          "@user_script:1.",
          "ERR Attempted to access a non local key in a cluster node script: on @user_script:1."})
        check(text, errc::wrong_node, recovery::keep);
    check("TRYAGAIN Multiple keys request during rehashing of slot", errc::server_error,
          recovery::keep);
}

BOOST_AUTO_TEST_CASE(a_value_of_another_type_is_a_conflict_of_that_key) {
    check("WRONGTYPE Operation against a key holding the wrong kind of value", errc::key_conflict,
          recovery::keep);
}

BOOST_AUTO_TEST_CASE(refused_credentials_are_tried_again_slowly_on_a_new_connection) {
    check("NOAUTH Authentication required.", errc::auth_failed, recovery::reconnect_late);
    check("NOAUTH HELLO must be called with the client already authenticated", errc::auth_failed,
          recovery::reconnect_late);
    check("WRONGPASS invalid username-password pair or user is disabled.", errc::auth_failed,
          recovery::reconnect_late);
    check("ERR invalid password", errc::auth_failed, recovery::reconnect_late);
}

BOOST_AUTO_TEST_CASE(an_exec_that_is_refused_itself_has_the_error_that_it_was_refused_for) {
    const auto refused = [](std::string_view why) {
        return "EXECABORT Transaction discarded because of: " + std::string{why};
    };
    for (const std::string mark : {"", "-"}) {
        check(refused(mark + "NOPERM this user has no permissions to run the 'exec' command"),
              errc::auth_failed, recovery::keep);
        check(refused(mark + "READONLY You can't write against a read only replica."),
              errc::unavailable, recovery::leave_read_only);
        check(refused(mark + "LOADING Redis is loading the dataset in memory"), errc::unavailable,
              recovery::server_busy);
        check(refused(mark + "something new"), errc::server_error, recovery::keep);
    }
}

BOOST_AUTO_TEST_CASE(a_lack_of_permission_is_told_from_a_server_that_cannot) {
    check("NOPERM this user has no permissions to run the 'evalsha' command", errc::auth_failed,
          recovery::keep);
    check("ERR The user executing the script can't run this command or subcommand script: "
          "0123, on @user_script:12.",
          errc::auth_failed, recovery::keep);
    for (const std::string why : {"User ann has no permissions to run the 'setrange' command",
                                  "No permissions to access a key"}) {
        check("ERR ACL failure in script: " + why, errc::auth_failed, recovery::keep); // since 7.2
        check("ERR ACL failure in script: " + why + " script: 0123, on @user_script:12.",
              errc::auth_failed, recovery::keep);
    }
}

BOOST_AUTO_TEST_CASE(a_command_that_the_server_does_not_know_is_not_allowed) {
    for (const auto* text :
         {"ERR unknown command 'EVALSHA', with args beginning with: '01' ",
          "ERR unknown command `EVALSHA`, with args beginning with: `01`, ",
          "ERR unknown subcommand 'LOAD'. Try SCRIPT HELP.",
          "ERR Unknown Redis command called from script script: 0123, on @user_script:12.",
          "ERR Unknown command called from script script: 0123, on @user_script:12.", // Valkey
          "ERR Unknown command called from script script: on @user_script:12.",
          "ERR Error running script (call to f_0123): @user_script:12: @user_script: 12: Unknown "
          "Redis command called from Lua script",
          "@user_script: 12: Unknown Redis command called from Lua script"})
        check(text, errc::auth_failed, recovery::keep);
}

BOOST_AUTO_TEST_CASE(a_server_without_lua_runs_no_script) {
    check("ERR Could not find scripting engine 'lua'", errc::auth_failed, recovery::keep);
}

BOOST_AUTO_TEST_CASE(a_denied_key_is_distinguished_from_a_denied_command) {
    using colimit::redis::is_key_denial;
    for (const auto* text :
         {"NOPERM this user has no permissions to access one of the keys used as arguments",
          "NOPERM No permissions to access a key",
          "ERR ACL failure in script: No permissions to access a key",
          "The user executing the script can't access at least one of the keys mentioned in the "
          "command arguments",
          "ERR The user executing the script can't access at least one of the keys mentioned in "
          "the command arguments script: 0123, on @user_script:12."})
        BOOST_TEST(is_key_denial(text), text);
    for (const auto* text :
         {"", "NOPERM this user has no permissions to run the 'evalsha' command",
          "NOPERM User access has no permissions to run the 'keys' command",
          "The user executing the script can't run this command or subcommand",
          "ERR ACL failure in script: User ann has no permissions to run the 'mget' command"})
        BOOST_TEST(!is_key_denial(text), text);
}

BOOST_AUTO_TEST_CASE(a_full_server_is_left_alone_for_a_while) {
    check("ERR max number of clients reached", errc::unavailable, recovery::reconnect_late);
}

BOOST_AUTO_TEST_CASE(another_error_of_a_script_may_have_come_half_way) {
    check(
        "ERR user_script:12: attempt to index a nil value script: 0123456789, on @user_script:12.",
        errc::outcome_unknown, recovery::keep);
    check("ERR Error running script (call to f_0123): @user_script:12: boom", errc::outcome_unknown,
          recovery::keep);
    check("UNKNOWN some words about a script", errc::outcome_unknown, recovery::keep);
}

BOOST_AUTO_TEST_CASE(another_error_of_a_command_ran_nothing) {
    check("ERR wrong number of arguments for 'get' command", errc::server_error, recovery::keep);
    check("", errc::server_error, recovery::keep);
    check("ERR value is not an integer or out of range", errc::key_conflict, recovery::keep);
    check("noscript", errc::outcome_unknown,
          recovery::keep); // it is said in capitals or not at all
}

// Redis before 7.0 wraps the errors of commands within scripts.

BOOST_AUTO_TEST_CASE(an_error_that_a_script_of_redis_6_has_caught_is_read) {
    const auto caught = [](const std::string& error) { return "@user_script: 12: " + error; };
    check(caught("-READONLY You can't write against a read only replica.\r\n"), errc::unavailable,
          recovery::leave_read_only);
    check(caught("-OOM command not allowed when used memory > 'maxmemory'.\r\n"),
          errc::server_error, recovery::keep);
    check(caught("-MISCONF Redis is configured to save RDB snapshots"), errc::server_error,
          recovery::keep);
    check(caught("-CLUSTERDOWN Hash slot not served"), errc::wrong_node, recovery::keep);
    check(caught("Lua script attempted to access a non local key in a cluster node"),
          errc::wrong_node, recovery::keep);
    check(caught("The user executing the script can't run this command or subcommand"),
          errc::auth_failed, recovery::keep);
    check(caught("The user executing the script can't access at least one of the keys mentioned in "
                 "the command arguments"),
          errc::auth_failed, recovery::keep);
    check(caught("WRONGTYPE Operation against a key holding the wrong kind of value"),
          errc::key_conflict, recovery::keep);
    check(caught("Wrong number of args calling Redis command From Lua script"),
          errc::outcome_unknown, recovery::keep);
}

BOOST_AUTO_TEST_CASE(an_error_that_ended_a_script_of_redis_6_is_read) {
    const auto raised = [](const std::string& error) {
        return "ERR Error running script (call to f_0123456789): @user_script:12: "
               "@user_script: 12: " +
               error;
    };
    check(raised("-READONLY You can't write against a read only replica."), errc::unavailable,
          recovery::leave_read_only);
    check(raised("-OOM command not allowed when used memory > 'maxmemory'."), errc::server_error,
          recovery::keep);
    check(raised("-MISCONF Redis is configured to save RDB snapshots"), errc::server_error,
          recovery::keep);
    check(raised("The user executing the script can't run this command or subcommand"),
          errc::auth_failed, recovery::keep);
    // Commands before it may have written.
    check(raised("WRONGTYPE Operation against a key holding the wrong kind of value"),
          errc::outcome_unknown, recovery::keep);
    check("ERR Error running script (call to f_0123): @user_script:12: user_script:12: boom",
          errc::outcome_unknown, recovery::keep);
    check("ERR Error running script (call to f_0123): @user_script:", errc::outcome_unknown,
          recovery::keep);
    check("ERR Error running script (call to f_0123): @user_script:7", errc::outcome_unknown,
          recovery::keep);
    check("ERR Error running script (call to f_0123): @user_script:7:", errc::outcome_unknown,
          recovery::keep);
}

BOOST_AUTO_TEST_CASE(a_server_in_protected_mode_refuses_clients) {
    check("DENIED Redis is running in protected mode because protected mode is enabled",
          errc::auth_failed, recovery::reconnect_late);
}

BOOST_AUTO_TEST_SUITE_END()
