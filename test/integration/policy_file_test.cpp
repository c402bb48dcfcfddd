// SPDX-License-Identifier: BSL-1.0
//
// Policies from a file: which changes are taken, which mistakes leave the old document in force,
// and calls that are made meanwhile.

#include <support/observed_source.hpp>

#include <colimit/limits.hpp>
#include <support/live_limiter.hpp>
#include <support/refusal.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/detached.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(policies_in_a_file)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
namespace fs = std::filesystem;
using test::document_with;
using test::observed_source;

/// A source that looks at its file only when it is told to.
[[nodiscard]] policy_source_options patient() {
    auto made = policy_source_options{};
    made.poll_interval = 1h;
    return made;
}

/// The constructor's reason, without the folder.
[[nodiscard]] std::string reason(errc code, const std::string& text) {
    auto context = asio::io_context{};
    const auto folder = test::fresh_folder{};
    test::write_file(folder.path() + "/p", text);
    const auto said = test::refusal(
        code, [&] { return policy_source{context.get_executor(), folder.path() + "/p"}; });
    return said.starts_with(folder.path()) ? said.substr(folder.path().size()) : said;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_source_that_cannot_begin_is_not_made) {
    BOOST_TEST(reason(errc::invalid_policy, document_with("1/x")) ==
               "/p: policies.api: rule text, character 3: expected a unit of time (us, ms, s, m, "
               "h, d, week, month, year), found 'x'");
    BOOST_TEST(reason(errc::invalid_policy, R"({"policies": {}, "routes": [{"path": "/", "policy":
                      "api"}]})") == "/p: routes[0].policy: no such policy (got 'api', expected "
                                     "none, as there are no policies)");
    BOOST_TEST(reason(errc::invalid_policy, "") ==
               "/p: JSON, line 1, column 1: the document ends too early");
    BOOST_TEST(reason(errc::invalid_config, std::string(limits::max_json_bytes + 1, ' ')) ==
               "/p: is too long (expected at most 4194304 bytes)");

    auto context = asio::io_context{};
    const auto begin = [&](const std::string& file, const policy_source_options& options) {
        return test::refusal(errc::invalid_config,
                             [&] { return policy_source{context.get_executor(), file, options}; });
    };
    BOOST_TEST(begin("/no/such/file", {}) ==
               "/no/such/file: cannot be read: No such file or directory");
    BOOST_TEST(begin("/tmp", {}) == "/tmp: is a directory");
    BOOST_TEST(begin("", {}) == "policy_source: the path of the file is empty");
    auto options = policy_source_options{};
    options.poll_interval = 9ms;
    BOOST_TEST(begin("/tmp", options) == "policy_source_options::poll_interval: out of range (got "
                                         "9 ms, expected 10 ms to 3600000 ms)");
    options.poll_interval = 3'600'001ms;
    BOOST_TEST(begin("/tmp", options) == "policy_source_options::poll_interval: out of range (got "
                                         "3600001 ms, expected 10 ms to 3600000 ms)");
    options = {};
    options.copy = "/tmp/copy";
    BOOST_TEST(begin("/tmp", options) ==
               "policy_source_options::copy is given, but the document is not in Redis");
}

BOOST_AUTO_TEST_CASE(the_first_document_is_in_force_at_once) {
    auto o = observed_source{document_with("1/s", 3)};
    BOOST_TEST(o.text_of_rules() == "1/s");
    const auto status = o.source.status();
    BOOST_TEST(status.origin == "file " + o.path());
    BOOST_TEST((status.version == 3));
    BOOST_TEST(status.loads == 1U);
    BOOST_TEST(!status.problem);
    o.run_until_event("loaded version 3: file " + o.path());
}

BOOST_AUTO_TEST_CASE(a_change_is_taken_however_it_is_made) {
    auto o = observed_source{document_with("1/s")};
    const auto first = o.source.current();
    o.write(document_with("2/s"));
    o.run_until_rules("2/s");
    o.replace(document_with("3/s"));
    o.run_until_rules("3/s");
    test::write_file(o.path("other"), document_with("4/s", 1));
    fs::remove(o.path());
    fs::create_symlink(o.path("other"), o.path());
    o.run_until_rules("4/s");
    o.write(document_with("5/s")); // through the link
    o.run_until_rules("5/s");
    BOOST_TEST(o.source.status().loads == 5U);
    o.run_until([&] { return o.events.count("loaded") == 5; });
    BOOST_TEST(o.events.lines.size() == 5U);
    BOOST_TEST(to_string(first->policies().at("api")[0]) == "1/s"); // it is still used
}

BOOST_AUTO_TEST_CASE(a_document_that_limits_no_request_is_in_force_and_says_so) {
    const auto policies = std::string{R"({"policies": {"api": "1/s"})"};
    auto o = observed_source{policies + "}"};
    const auto said = "loaded: file " + o.path() + ", in which no route has a policy that may deny";
    o.run_until_event(said);
    o.write(document_with("2/s"));
    o.run_until_event("loaded: file " + o.path());
    o.write(policies + R"(, "routes": [{"path": "/*", "policies": []}]})");
    o.run_until([&] { return o.events.count(said) == 2; });
    o.write(document_with("2/s shadow"));
    o.run_until([&] { return o.events.count(said) == 3; });
    BOOST_TEST(o.source.status().origin == "file " + o.path());
}

BOOST_AUTO_TEST_CASE(the_state_counts_routes_that_limit_and_those_that_hardly_any_request_matches) {
    const auto with = [](const std::string& routes) {
        return R"({"policies": {"api": "1/s", "trial": "1/s shadow"}, "routes": [)" + routes + "]}";
    };
    auto o = observed_source{with(R"({"path": "/a", "policy": "api"},
                                     {"path": "/b", "policy": "trial"},
                                     {"path": "/c", "policies": []},
                                     {"path": "/*", "policies": ["trial", "api"]})")};
    const auto counts = [&](std::size_t limiting, std::size_t unlikely) {
        const auto s = o.source.status();
        return s.limiting_routes == limiting && s.unlikely_routes == unlikely;
    };
    BOOST_TEST(counts(2, 0));
    o.run_until_event("loaded: file " + o.path());
    const auto said = [&](const std::string& share) {
        return "loaded: file " + o.path() + ", in which hardly any request matches " + share +
               " routes with a policy that may deny (colimit lint says why)";
    };
    o.write(with(R"({"path": "/api/:id", "policy": "api"})"));
    o.run_until_event(said("1 of 1"));
    BOOST_TEST(counts(0, 1));
    o.write(with(R"({"path": "/a/<id>", "policy": "api"}, {"path": "/b ", "policy": "api"},
                    {"path": "/c", "methods": ["ANY"], "policy": "api"},
                    {"path": "/d", "methods": ["ANY", "GET"], "policy": "api"},
                    {"path": "/%3Aid", "policy": "api"}, {"path": "/:id/x", "policy": "trial"})"));
    o.run_until_event(said("3 of 5"));
    BOOST_TEST(counts(2, 3));
    o.write("{");
    o.run_until([&] { return o.events.count("refused") == 1; });
    BOOST_TEST(counts(2, 3)); // of the document that is in force
    o.write(R"({"policies": {"api": "1/s"}})");
    o.run_until([&] { return counts(0, 0); });
}

BOOST_AUTO_TEST_CASE(events_are_one_line_whatever_the_name_of_the_file) {
    auto context = asio::io_context{};
    const auto folder = test::fresh_folder{};
    const auto path = folder.path() + "/a\nloaded: \x1b[2J\x7f.json";
    test::write_file(path, document_with("1/s"));
    auto events = test::event_list{};
    auto options = patient();
    options.on_event = events.to();
    auto source = policy_source{context.get_executor(), path, options};
    test::write_file(path, document_with("1/x"));
    source.reload();
    test::run_until(context, [&] { return events.count("refused") == 1; });
    const auto shown = folder.path() + "/a\\x0aloaded: \\x1b[2J\\x7f.json";
    BOOST_TEST(source.status().origin == "file " + shown);
    BOOST_TEST(events.lines.front() == "loaded: file " + shown);
    BOOST_TEST(events.lines.back().starts_with("refused: " + shown + ": policies.api: "));
}

BOOST_AUTO_TEST_CASE(an_invalid_document_leaves_the_old_one_in_force) {
    auto o = observed_source{document_with("1/s")};
    o.write(document_with("1/x"));
    const auto refused = "refused: " + o.path() +
                         ": policies.api: rule text, character 3: expected a unit of time (us, "
                         "ms, s, m, h, d, week, month, year), found 'x'";
    o.run_until_event(refused);
    BOOST_TEST(o.text_of_rules() == "1/s");
    auto status = o.source.status();
    BOOST_TEST_REQUIRE(status.problem.has_value());
    BOOST_TEST(to_string(*status.problem) == refused);
    BOOST_TEST(status.loads == 1U);

    o.replace("");
    o.run_until_event("refused: " + o.path() +
                      ": JSON, line 1, column 1: the document ends too early");
    o.write(document_with("2/s"));
    o.run_until_rules("2/s");
    BOOST_TEST(!o.source.status().problem);
    o.write(document_with("1/x")); // another incident
    o.run_until([&] { return o.events.count(refused) == 2; });
    o.write(document_with("2/s")); // back to what is in force
    o.run_until_event("recovered: file " + o.path());
    BOOST_TEST(!o.source.status().problem);
    BOOST_TEST(o.source.status().loads == 2U);
    BOOST_TEST(o.events.count("refused") == 3);
    BOOST_TEST(o.events.count("recovered") == 1);
}

BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_read_leaves_the_old_document_in_force) {
    auto o = observed_source{document_with("1/s")};
    const auto problem = [&](const std::string& what) {
        return "unavailable: " + o.path() + ": " + what;
    };
    fs::rename(o.path(), o.path("away"));
    o.run_until_event(problem("cannot be read: No such file or directory"));
    fs::create_directory(o.path());
    o.run_until_event(problem("is a directory"));
    fs::remove(o.path());
    fs::create_symlink("policies.json", o.path());
    o.run_until_event(problem("cannot be read: Too many levels of symbolic links"));
    fs::remove(o.path());
    o.write(std::string(limits::max_json_bytes + 1, ' '));
    o.run_until_event(problem("is too long (expected at most 4194304 bytes)"));
    BOOST_TEST(o.text_of_rules() == "1/s");
    fs::rename(o.path("away"), o.path());
    o.run_until_event("recovered: file " + o.path());
    BOOST_TEST(!o.source.status().problem);
    BOOST_TEST(o.source.status().loads == 1U);
    BOOST_TEST(o.events.lines.size() == 6U);
}

/// The file is empty, half a document and a whole one in turn, and is looked at all the time.
BOOST_AUTO_TEST_CASE(a_file_that_is_being_written_is_not_a_mistake) {
    auto o = observed_source{document_with("1/s")};
    test::run(o.context, [&]() -> asio::awaitable<void> {
        for (auto i = 1; i <= 30; ++i) {
            const auto text = document_with(std::to_string(i) + "/s");
            auto file = std::ofstream{o.path(), std::ios::binary};
            co_await test::pause_for(3ms);
            file << text.substr(0, text.size() / 2) << std::flush;
            co_await test::pause_for(3ms);
            file << text.substr(text.size() / 2) << std::flush;
            co_await test::pause_for(7ms);
        }
    });
    o.run_until_rules("30/s");
    BOOST_TEST(o.events.count("loaded") == static_cast<long>(o.events.lines.size()));
    BOOST_TEST(o.events.count("loaded") > 5);
}

BOOST_AUTO_TEST_CASE(a_reload_is_immediate_and_reports_a_mistake_at_once) {
    auto o = observed_source{document_with("1/s"), patient()};
    o.write(document_with("2/s"));
    o.source.reload();
    o.run_until_rules("2/s");
    o.write("{");
    o.source.reload();
    o.run_until([&] { return o.events.count("refused") == 1; });
    BOOST_TEST(o.text_of_rules() == "2/s");
    o.source.reload(); // which says the same
    o.write(document_with("3/s"));
    o.source.reload();
    o.run_until([&] { return o.events.count("loaded") == 3; });
    BOOST_TEST(o.events.lines.size() == 4U);
}

BOOST_AUTO_TEST_CASE(a_hangup_reloads) {
    auto options = patient();
    options.reload_on_hangup = true;
    auto o = observed_source{document_with("1/s"), options};
    for (const std::string rules : {"2/s", "3/s"}) {
        o.write(document_with(rules));
        BOOST_REQUIRE(std::raise(SIGHUP) == 0);
        o.run_until_rules(rules);
    }
}

BOOST_AUTO_TEST_CASE(a_closed_source_keeps_its_document_and_ends_the_context) {
    auto options = observed_source::quick();
    options.reload_on_hangup = true;
    auto o = observed_source{document_with("1/s"), options};
    o.source.close();
    o.source.close();
    o.write(document_with("2/s"));
    o.source.reload();
    o.context.restart();
    o.context.run(); // returns
    BOOST_TEST(o.text_of_rules() == "1/s");
    o.source = policy_source{o.context.get_executor(), o.path()}; // which closes the old one
    BOOST_TEST(o.text_of_rules() == "2/s");
}

/// A coroutine that owns a source is destroyed with its context.
BOOST_AUTO_TEST_CASE(a_source_may_end_with_its_context) {
    const auto folder = test::fresh_folder{};
    test::write_file(folder.path() + "/p", document_with("1/s"));
    auto began = false;
    {
        auto context = asio::io_context{1};
        asio::co_spawn(
            context,
            [&]() -> asio::awaitable<void> {
                auto options = observed_source::quick();
                options.reload_on_hangup = true;
                const auto executor = co_await asio::this_coro::executor;
                const auto source = policy_source{executor, folder.path() + "/p", options};
                began = source.current() != nullptr;
                co_await test::pause_for(1h);
            },
            asio::detached);
        test::run_until(context, [&] { return began; });
        context.run_for(30ms);
    }
    BOOST_TEST(began);
}

BOOST_AUTO_TEST_CASE(what_an_event_function_does_is_allowed) {
    auto o = observed_source{document_with("1/s")};
    auto options = observed_source::quick();
    auto seen = std::vector<std::string>{};
    auto* self = static_cast<policy_source*>(nullptr);
    options.on_event = [&](const policy_event& e) {
        seen.push_back(to_string(e));
        BOOST_TEST(self->status().loads == seen.size());
        (void)self->current();
        if (seen.size() == 2)
            self->close();
        else
            self->reload();
    };
    auto source = policy_source{o.context.get_executor(), o.path(), options};
    self = &source;
    o.run_until([&] { return seen.size() == 1; });
    o.write(document_with("2/s"));
    o.run_until([&] { return seen.size() == 2; });
    o.source.close();
    o.context.restart();
    o.context.run(); // returns, as both are closed
    BOOST_TEST(seen.size() == 2U);
}

/// As from a handler. The source works on, and later events are sent.
BOOST_AUTO_TEST_CASE(what_an_event_function_throws_leaves_run) {
    const auto folder = test::fresh_folder{};
    const auto file = folder.path() + "/policies.json";
    auto options = observed_source::quick();
    options.on_event = [](const policy_event& e) { throw std::runtime_error{to_string(e)}; };
    auto context = asio::io_context{1};
    test::write_file(file, document_with("1/s", 1));
    auto source = policy_source{context.get_executor(), file, options};
    for (auto version = 1; version <= 3; ++version) {
        const auto expected = "loaded version " + std::to_string(version) + ": file " + file;
        BOOST_CHECK_EXCEPTION((context.restart(), (void)context.run_for(test::patience)),
                              std::runtime_error,
                              [&](const auto& e) { return e.what() == expected; });
        BOOST_TEST((source.status().version == version));
        test::write_file(folder.path() + "/next", document_with("1/s", version + 1));
        std::filesystem::rename(folder.path() + "/next", file);
    }
    source.close();
    context.restart();
    context.run(); // returns
}

/// Callers take whatever document is in force. The window is an hour long, so all documents that
/// were in force share its count.
BOOST_AUTO_TEST_CASE(calls_go_on_while_documents_change_and_state_stays) {
    const auto document = [](int limit) {
        return R"({"policies": {"api": [{"algorithm": "fixed_window", "limit": )" +
               std::to_string(limit) + R"(, "period": "1000d"}]}})";
    };
    auto o = observed_source{document(1'000)};
    auto limiter = colimit::limiter{o.context.get_executor(), "memory:"};
    constexpr auto callers = 8;
    constexpr auto calls_each = 4'000; // at least
    constexpr auto documents = 4U;     // at least
    auto started = 0;
    auto completed = 0;
    auto granted = 0;
    auto running = callers;
    const auto call = [&]() -> asio::awaitable<void> {
        for (auto i = 0; i < calls_each || o.source.status().loads < documents; ++i) {
            ++started;
            const auto document_now = o.source.current();
            const auto d = co_await limiter.allow("k", document_now->policies().at("api"));
            ++completed;
            granted += d.allowed() ? 1 : 0;
            if (i % 100 == 0)
                co_await test::pause_for(1ms);
        }
        --running;
    };
    for (auto i = 0; i < callers; ++i)
        asio::co_spawn(o.context, call, test::rethrow);
    test::run(o.context, [&]() -> asio::awaitable<void> {
        auto changes = 0;
        while (running > 0) {
            if (++changes % 3 == 0)
                o.write("{");
            else
                o.replace(document(1'000 - changes % 2));
            co_await test::pause_for(5ms);
        }
    });
    BOOST_TEST(completed == started);
    BOOST_TEST((granted == 1'000 || granted == 999), granted);

    // What was used counts under the next limit, too.
    const auto more = 5;
    o.write(document(granted + more));
    o.run_until(
        [&] { return o.source.current()->policies().at("api")[0].capacity() == granted + more; });
    auto grants_then = 0;
    test::run(o.context, [&]() -> asio::awaitable<void> {
        for (auto i = 0; i < 20; ++i) {
            const auto d = co_await limiter.allow("k", o.source.current()->policies().at("api"));
            grants_then += d.allowed() ? 1 : 0;
        }
    });
    BOOST_TEST(grants_then == more);
}

/// The document of a moment is whole: its policy and its version belong together.
BOOST_AUTO_TEST_CASE(threads_read_the_document_while_it_changes) {
    auto o = observed_source{document_with("1/s", 1)};
    auto ends = std::atomic{false};
    auto mixed = std::atomic{0};
    auto readers = std::vector<std::thread>{};
    for (auto i = 0; i < 3; ++i)
        readers.emplace_back([&] {
            while (!ends) {
                const auto d = o.source.current();
                const auto expected = std::to_string(*d->version()) + "/s";
                mixed += to_string(d->policies().at("api")[0]) == expected ? 0 : 1;
                mixed += o.source.status().loads == 0 ? 1 : 0;
                o.source.reload();
                std::this_thread::yield();
            }
        });
    for (auto i = 2; i < 30; ++i) {
        const auto rules = std::to_string(i) + "/s";
        o.replace(document_with(rules, i));
        o.run_until_rules(rules);
    }
    ends = true;
    for (auto& r : readers)
        r.join();
    BOOST_TEST(mixed == 0);
}

BOOST_AUTO_TEST_SUITE_END()
