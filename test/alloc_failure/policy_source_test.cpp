// SPDX-License-Identifier: BSL-1.0
//
// Files of policies that change while memory runs out: nothing leaves the context, and the change
// is not lost. (What strands of Asio allocate does not fail: they do not survive that.)

#include <alloc_failure/failing_new.hpp>
#include <policy_source/document_file.hpp>
#include <support/observed_source.hpp>
#include <support/unit_test.hpp>

#include <cstdint>
#include <new>
#include <optional>

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
        test::write_file(path, document_with("2/s"));
        source->reload();
    };
    begin();
    fail_each([&] { context->poll(); },
              [&] {
                  source->reload();
                  context->poll();
                  BOOST_TEST(to_string(source->current()->policies().at("api")[0]) == "2/s");
                  begin();
              });
}

BOOST_AUTO_TEST_SUITE_END()
