// SPDX-License-Identifier: BSL-1.0
//
// Policies in Redis, on a virtual clock: how often a document is read that was refused, and what
// becomes of another one under the version in force.

#include <scenario/world.hpp>
#include <support/observed_source.hpp>

#include <colimit/limits.hpp>
#include <redis/protocol/resp.hpp>
#include <support/scripted_node.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

BOOST_FIXTURE_TEST_SUITE(published_policies, colimit::scenario::world)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::document_with;

[[nodiscard]] std::string bulk(std::string_view text) {
    auto out = std::string{};
    redis::resp::append_bulk(out, text);
    return out;
}

/// A server with one published document, and a source that polls it.
struct publication {
    publication(asio::io_context& on, std::string_view file)
        : context(on),
          node(on, {.map =
                        [this] {
                            return std::vector{
                                test::slot_range{.first = 0, .last = 16'383, .port = node.port()}};
                        },
                    .call = [this](const test::command& words) { return reply(words); }}) {
        test::write_file(folder.path() + "/p", std::string{file});
        begin();
    }

    /// As another process, with the file and the copy.
    void begin() {
        auto settings = config{};
        settings.server = "redis+cluster://127.0.0.1:" + std::to_string(node.port());
        auto options = policy_source_options{};
        options.copy = folder.path() + "/copy";
        options.on_event = events.to();
        source = std::make_unique<policy_source>(context.get_executor(), folder.path() + "/p",
                                                 settings, options);
    }

    [[nodiscard]] std::string reply(const test::command& words) {
        if (words.at(0) != "HMGET")
            return "+OK\r\n";
        const auto with_document = words.size() > 3;
        read += with_document ? document.size() : 0;
        reads += with_document ? 1 : 0;
        return (with_document ? "*2\r\n" : "*1\r\n") + bulk(version) +
               (with_document ? bulk(document) : "");
    }
    void publish(std::string v, std::string d) {
        version = std::move(v);
        document = std::move(d);
    }
    void run_for(std::chrono::microseconds time) {
        context.restart();
        context.run_for(time);
    }
    [[nodiscard]] std::string rules() const {
        return to_string(source->current()->policies().at("api")[0]);
    }
    [[nodiscard]] std::string problem() const {
        const auto now = source->status().problem;
        return now ? to_string(*now) : "none";
    }

    asio::io_context& context;
    std::string version;
    std::string document;
    std::size_t reads = 0; ///< of the document
    std::size_t read = 0;  ///< bytes of it
    test::fresh_folder folder;
    test::event_list events;
    test::scripted_node node;
    std::unique_ptr<policy_source> source;
};

const std::string other_under_version_5 =
    "refused version 5: colimit:policies: document: not the one that is in force with version 5 "
    "(publish a change with a higher version)";

} // namespace

BOOST_AUTO_TEST_CASE(a_refused_document_is_read_again_with_pauses_and_checked_once) {
    auto p = publication{context, document_with("1/s")};
    p.publish("2", document_with("2/s", 9));
    p.run_for(10min);
    BOOST_TEST(p.events.count("refused version 2: ") == 1);
    BOOST_TEST(p.reads >= 10U); // each minute
    BOOST_TEST(p.reads <= 20U);
    p.document = document_with("2/s"); // corrected under its version
    p.run_for(61s);
    BOOST_TEST(p.rules() == "2/s");

    // A higher version is taken with the next poll, whatever the pause is.
    p.publish("3", "{");
    p.run_for(10min);
    BOOST_TEST(p.events.count("refused version 3: ") == 1);
    p.publish("4", document_with("4/s"));
    p.run_for(300ms);
    BOOST_TEST(p.rules() == "4/s");
    p.publish("5", "{");
    p.run_for(10min);
    p.document = document_with("5/s");
    p.source->reload();
    p.run_for(10ms);
    BOOST_TEST(p.rules() == "5/s");
    BOOST_TEST(p.problem() == "none");
}

BOOST_AUTO_TEST_CASE(large_documents_are_read_seldom) {
    auto p = publication{context, document_with("1/s")};
    for (const auto* const end : {"", "}"}) { // in force, and refused
        p.publish(*end == '\0' ? "2" : "3",
                  document_with("2/s") + std::string(1'000'000, ' ') + end);
        p.run_for(1min);
        p.read = 0;
        p.run_for(10min);
        BOOST_TEST(p.read <= 600U * 64 * 1024);
        BOOST_TEST(p.read > 0U);
    }
    BOOST_TEST(p.rules() == "2/s");
}

/// Otherwise processes that start later would have other limits, and nothing would say so.
BOOST_AUTO_TEST_CASE(another_document_under_the_version_in_force_is_a_problem_while_it_lasts) {
    auto p = publication{context, document_with("1/s")};
    p.publish("5", document_with("5/s"));
    p.run_for(3s);
    BOOST_TEST(p.problem() == "none");
    p.document = document_with("50/s");
    p.run_for(3s);
    BOOST_TEST(p.problem() == other_under_version_5);
    p.run_for(10min);
    BOOST_TEST(p.problem() == other_under_version_5);
    BOOST_TEST(p.events.count("refused") == 1);
    BOOST_TEST(p.events.count("recovered") == 0);
    BOOST_TEST(p.rules() == "5/s");

    // After a lower version, too: what comes back must be what is in force.
    p.version = "4";
    p.run_for(3s);
    BOOST_TEST(p.problem().starts_with("older version 4: "));
    p.version = "5";
    p.run_for(3s);
    BOOST_TEST(p.problem() == other_under_version_5);
    p.document = "not JSON";
    p.run_for(61s);
    BOOST_TEST(p.problem().starts_with("refused version 5: colimit:policies: JSON, line 1"));
    p.document = document_with("5/s", 5) + "\n"; // the same, written otherwise
    p.run_for(61s);
    BOOST_TEST(p.problem() == "none");
    BOOST_TEST(p.events.count("recovered version 5") == 1);
    BOOST_TEST(p.source->status().loads == 2U);
}

/// A process that begins with its copy, or with a file that has the version, may have another one.
BOOST_AUTO_TEST_CASE(the_document_that_a_process_began_with_is_compared_too) {
    auto p = publication{context, document_with("50/s", 5)};
    p.publish("5", document_with("5/s"));
    p.run_for(3s);
    BOOST_TEST(p.problem() == other_under_version_5);
    BOOST_TEST(p.rules() == "50/s");
    p.publish("6", document_with("5/s"));
    p.run_for(3s);
    BOOST_TEST(p.rules() == "5/s");
    BOOST_TEST(p.problem() == "none");
}

/// A copy of the version that Redis has is in force as that, and Redis has to have the same.
BOOST_AUTO_TEST_CASE(a_process_that_begins_with_the_copy_of_the_same_version_loads_it_once) {
    auto p = publication{context, document_with("1/s")};
    p.publish("5", document_with("5/s"));
    p.run_for(3s);
    BOOST_TEST(p.rules() == "5/s");
    for (const auto* const published : {"5/s", "50/s", "5/s"}) {
        p.source.reset();
        p.events.lines.clear();
        p.document = document_with(published);
        p.begin();
        p.run_for(3s);
        BOOST_TEST(p.rules() == "5/s");
        BOOST_TEST(p.problem() ==
                   (p.document == document_with("5/s") ? "none" : other_under_version_5));
        BOOST_TEST(p.source->status().origin == "copy " + p.folder.path() + "/copy");
        BOOST_TEST((p.source->status().version == 5));
        BOOST_TEST(p.source->status().loads == 1U);
        BOOST_TEST(p.events.count("loaded") == 1);
        BOOST_TEST(p.events.count("recovered") == 0);
    }
}

/// Else processes with a copy would take a version that the others refuse.
BOOST_AUTO_TEST_CASE(a_file_of_a_higher_version_than_the_copy_is_in_force) {
    auto p = publication{context, document_with("1/s")};
    p.publish("4", document_with("4/s"));
    p.run_for(3s);
    BOOST_TEST(p.rules() == "4/s");
    p.source.reset();
    test::write_file(p.folder.path() + "/p", document_with("9/s", 9));
    p.publish("5", document_with("5/s"));
    p.begin();
    p.run_for(3s);
    BOOST_TEST(p.rules() == "9/s");
    BOOST_TEST(p.source->status().origin == "file " + p.folder.path() + "/p");
    p.source.reset();
    test::write_file(p.folder.path() + "/p", "no document");
    p.begin();
    BOOST_TEST(p.rules() == "4/s");
}

BOOST_AUTO_TEST_CASE(the_copy_is_another_file_than_the_first_one) {
    const auto folder = test::fresh_folder{};
    test::write_file(folder.path() + "/p", document_with("1/s"));
    auto options = policy_source_options{};
    options.copy = folder.path() + "/./p";
    auto settings = config{};
    settings.server = "redis://127.0.0.1:1";
    BOOST_CHECK_EXCEPTION(
        (policy_source{context.get_executor(), folder.path() + "/p", settings, options}), error,
        [](const error& e) {
            return e.code() == errc::invalid_config &&
                   e.reason().starts_with("policy_source_options::copy: ");
        });
}

BOOST_AUTO_TEST_CASE(the_copy_of_the_longest_document_can_be_read) {
    auto p = publication{context, document_with("1/s")};
    const auto text = document_with("9007199254740991/s");
    p.publish("9007199254740991", text + std::string(limits::max_json_bytes - text.size(), ' '));
    p.run_for(3s);
    BOOST_TEST((p.source->status().version == 9007199254740991));
    BOOST_TEST(!p.source->status().copy_problem);
    p.source.reset();

    auto settings = config{};
    settings.server = "redis://127.0.0.1:1";
    auto options = policy_source_options{};
    options.copy = p.folder.path() + "/copy";
    const auto later =
        policy_source{context.get_executor(), p.folder.path() + "/p", settings, options};
    BOOST_TEST(later.status().origin == "copy " + options.copy);
    BOOST_TEST((later.status().version == 9007199254740991));
    BOOST_TEST(!later.status().copy_problem);
}

BOOST_AUTO_TEST_CASE(a_problem_of_the_copy_is_in_the_status_until_it_is_written) {
    auto p = publication{context, document_with("1/s")};
    std::filesystem::create_directory(p.folder.path() + "/copy");
    p.publish("2", document_with("2/s"));
    p.run_for(3s);
    BOOST_TEST(p.rules() == "2/s");
    BOOST_TEST_REQUIRE(p.source->status().copy_problem.has_value());
    BOOST_TEST((p.source->status().copy_problem->version == 2));
    BOOST_TEST(p.problem() == "none");
    std::filesystem::remove(p.folder.path() + "/copy");
    p.publish("3", document_with("3/s"));
    p.run_for(3s);
    BOOST_TEST(!p.source->status().copy_problem);
}

BOOST_AUTO_TEST_SUITE_END()
