// SPDX-License-Identifier: BSL-1.0
//
// For tests of what only the script does: it calls commands, which ACLs may forbid and the server
// counts, and it is loaded.
//
//     BOOST_AUTO_TEST_CASE(a_test_of_the_script, *test::script_only) {

#pragma once

#include <support/unit_test.hpp>

#include <cstdlib>

namespace colimit::test {

/// Leaves the test out where every server has the server module.
inline const auto script_only = boost::unit_test::precondition(
    [](boost::unit_test::test_unit_id) { return std::getenv("COLIMIT_TEST_MODULE") == nullptr; });

} // namespace colimit::test
