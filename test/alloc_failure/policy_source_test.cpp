// SPDX-License-Identifier: BSL-1.0
//
// Files of policies that change while memory runs out: nothing leaves the context, and the change
// is not lost. (What strands of Asio allocate does not fail: they do not survive that.)

#include <alloc_failure/failing_new.hpp>
#include <colimit/policy_source.hpp>
#include <policy_source/document_file.hpp>
#include <policy_source/redis_origin.hpp>
#include <policy_source/source_core.hpp>
#include <support/observed_source.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>

BOOST_AUTO_TEST_SUITE(alloc_failure)

namespace {

using namespace colimit;
using test::document_with;
using test::shortage;
namespace asio = boost::asio;

/// Does `step` with each of its allocations failing, and `check` after each time.
template<class Step, class Check>
void fail_each(Step step, Check check) {
    auto first = std::int64_t{0};
    for (auto more = true; more;)
        BOOST_TEST_CONTEXT("allocation " << ++first) {
            {
                const auto failing = shortage{first, 1};
                step();
                more = shortage::has_struck();
            }
            check();
        }
    BOOST_TEST(first > 1);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_look_at_a_file_without_memory_loses_no_change) {
    const auto folder = test::fresh_folder{};
    const auto path = folder.path() + "/a";
    auto text = std::string{"0"};
    test::write_file(path, text);
    auto file = detail::watched_file{path};
    (void)file.read();
    (void)file.poll();
    test::write_file(path, text += "1");
    fail_each(
        [&] {
            try {
                (void)file.poll();
            } catch (const std::bad_alloc&) { // NOLINT(bugprone-empty-catch): see below
            }
        },
        [&] {
            const auto seen = file.poll();
            BOOST_TEST_REQUIRE(seen.has_value());
            BOOST_TEST(seen->content.text == text);
            while (file.poll())
                continue;
            test::write_file(path, text += "1");
        });
}

BOOST_AUTO_TEST_CASE(a_reload_without_memory_leaves_the_context_alone) {
    const auto folder = test::fresh_folder{};
    const auto path = folder.path() + "/policies.json";
    auto context = std::optional<asio::io_context>{};
    auto source = std::optional<policy_source>{}; // does not outlive its context
    const auto begin = [&] {
        source.reset();
        context.emplace(1);
        test::write_file(path, document_with("1/s"));
        auto options = policy_source_options{};
        options.poll_interval = std::chrono::hours{1};
        source.emplace(context->get_executor(), path, options);
        test::write_file(path, document_with("2/s burst 20")); // longer: to keep it takes memory
        source->reload();
    };
    begin();
    fail_each([&] { context->poll(); },
              [&] {
                  for (const std::string rules : {"1/s", "2/s burst 20"}) {
                      test::write_file(path, document_with(rules));
                      source->reload();
                      context->poll();
                      BOOST_TEST(to_string(source->current()->policies().at("api")[0]) == rules);
                  }
                  begin();
              });
}

BOOST_AUTO_TEST_CASE(a_published_document_that_came_without_memory_is_taken_later_with_its_copy) {
    const auto folder = test::fresh_folder{};
    const auto path = folder.path() + "/policies.json";
    const auto copy = folder.path() + "/copy.json";
    test::write_file(path, document_with("1/s"));
    auto context = asio::io_context{1};
    const auto core =
        std::make_shared<detail::source_core>(context.get_executor(), policy_source_options{});
    auto origin = detail::redis_origin{*core,
                                       {.first = path, .copy = copy},
                                       config{},
                                       redis::parse_address("unix:" + folder.path() + "/none"),
                                       std::chrono::hours{1}};
    auto version = std::int64_t{1};
    const auto answer = [&] {
        return redis::document_requests::answer{.has_document = true,
                                                .version = std::to_string(version),
                                                .document =
                                                    document_with(std::to_string(version) + "/s"),
                                                .error = {}};
    };
    fail_each(
        [&] {
            try {
                origin.on_answer(answer());
            } catch (const std::bad_alloc&) { // NOLINT(bugprone-empty-catch): as in key_link
            }
        },
        [&] {
            origin.on_answer(answer());
            const auto status = core->status();
            BOOST_TEST(!status.problem);
            BOOST_TEST((status.version == version));
            BOOST_TEST(to_string(core->current()->policies().at("api")[0]) ==
                       std::to_string(version) + "/s");
            BOOST_TEST(detail::read_file(copy).text.find(
                           "\"version\": " + std::to_string(version)) != std::string::npos);
            ++version;
        });
}

BOOST_AUTO_TEST_SUITE_END()
