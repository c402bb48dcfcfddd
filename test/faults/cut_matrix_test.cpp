// SPDX-License-Identifier: BSL-1.0
//
// The cut matrix on one server: every byte of the recorded conversations, in both directions. The
// script itself, 67 KB that SCRIPT LOAD sends, is cut at both ends of it and every 1,499 bytes.

#include <faults/cut_matrix.hpp>
#include <support/unit_test.hpp>

#include <support/fault_proxy.hpp>
#include <support/server_module.hpp>

#include <cstddef>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(cut_matrix)

namespace {

using namespace colimit;

using test::module_handshake;
using test::script_handshake;

void cut(const test::conversation& c, std::size_t first,
         const std::vector<std::string>& arguments = {}) {
    for (const auto kind : test::matrix_kinds) {
        auto server = test::redis_server{{.arguments = arguments}};
        auto matrix =
            test::cut_matrix{{.direct = server.unix_address(), .nodes = {server.unix_address()}}};
        matrix.cut(c, {.first = first}, kind);
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(
    a_greeting_and_batches_of_keys_and_of_a_log_cut_anywhere_end_as_the_table_says) {
    cut(test::allow_conversation(script_handshake), 0);
}

BOOST_AUTO_TEST_CASE(calls_with_ids_cut_anywhere_are_answered_on_another_connection) {
    cut(test::id_conversation(script_handshake), script_handshake);
}

BOOST_AUTO_TEST_CASE(ids_that_are_asked_of_a_filter_cut_anywhere_end_as_the_table_says) {
    cut(test::seen_conversation(script_handshake), script_handshake);
}

BOOST_AUTO_TEST_CASE(commands_of_the_server_module_cut_anywhere_end_as_the_table_says) {
    cut(test::allow_conversation(module_handshake), 0, test::with_server_module());
    cut(test::id_conversation(module_handshake), module_handshake, test::with_server_module());
    cut(test::seen_conversation(module_handshake), module_handshake, test::with_server_module());
}

BOOST_AUTO_TEST_CASE(transactions_cut_anywhere_end_as_the_table_says) {
    cut(test::transaction_conversation(), 0);
}

BOOST_AUTO_TEST_SUITE_END()
