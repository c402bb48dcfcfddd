// SPDX-License-Identifier: BSL-1.0
//
// What a source says about documents that a server has, without a server.

#include <colimit/policy_source.hpp>
#include <policy_source/redis_origin.hpp>
#include <policy_source/source_core.hpp>
#include <support/observed_source.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

BOOST_AUTO_TEST_SUITE(published_documents)

using namespace colimit;
using test::document_with;

BOOST_AUTO_TEST_CASE(the_same_bytes_under_a_higher_version_are_taken_with_a_remark) {
    const auto folder = test::fresh_folder{};
    const auto path = test::write_file(folder.path() + "/policies.json", document_with("1/s"));
    auto context = boost::asio::io_context{1};
    auto events = test::event_list{};
    auto options = policy_source_options{};
    options.on_event = events.to();
    const auto core = std::make_shared<detail::source_core>(context.get_executor(), options);
    auto origin = detail::redis_origin{*core,
                                       {.first = path, .copy = {}},
                                       config{},
                                       redis::parse_address("unix:" + folder.path() + "/none"),
                                       std::chrono::hours{1}};
    const auto last_event_after = [&](std::int64_t version, const std::string& rules) {
        origin.on_answer({.has_document = true,
                          .version = std::to_string(version),
                          .document = document_with(rules),
                          .error = {}});
        context.restart();
        context.poll();
        return events.lines.back();
    };
    const auto loaded = [](std::int64_t version) {
        return "loaded version " + std::to_string(version) + ": Redis";
    };
    const auto remark = ", with the same document as version 2 (was the field document written?)";
    BOOST_TEST(last_event_after(2, "2/s") == loaded(2));
    BOOST_TEST(last_event_after(3, "2/s") == loaded(3) + remark);
    BOOST_TEST(last_event_after(4, "4/s") == loaded(4));
    BOOST_TEST(last_event_after(5, "nothing").starts_with("refused version 5: "));
    BOOST_TEST(last_event_after(6, "4/s") == loaded(6)); // what replaces a refused one
    BOOST_TEST(core->status().origin == "Redis");
}

BOOST_AUTO_TEST_SUITE_END()
