// SPDX-License-Identifier: BSL-1.0
//
// A program that compiles Boost.JSON into itself, as this file does, and links colimit, which has a
// separate copy, has no duplicate symbols: the test is that it links.

#include <boost/json/src.hpp>
#include <boost/test/unit_test.hpp>

#include <colimit/json.hpp>

#include <string>

BOOST_AUTO_TEST_SUITE(json_coexistence)

BOOST_AUTO_TEST_CASE(a_program_may_have_a_boost_json_of_its_own) {
    const auto set = colimit::parse_policies(R"({"policies": {"login": "5/s burst 10"}})");
    const auto document = boost::json::parse(colimit::to_json(set));
    BOOST_TEST(document.at("policies").at("login").at("rules").at(0).as_string() == "5/s burst 10");
}

BOOST_AUTO_TEST_SUITE_END()
