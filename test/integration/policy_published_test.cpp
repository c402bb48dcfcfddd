// SPDX-License-Identifier: BSL-1.0
//
// Policies that are published in Redis: which versions are taken, what a source does while the
// server is away, and servers of every kind.

#include <support/observed_source.hpp>
#include <support/problems.hpp>

#include <colimit/limits.hpp>
#include <redis/protocol/hash_slot.hpp>
#include <support/live_limiter.hpp>
#include <support/loop_clock.hpp>
#include <support/redis_cluster.hpp>
#include <support/redis_server.hpp>
#include <support/refusal.hpp>
#include <support/sentinel_group.hpp>
#include <support/tls_server.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(policies_in_redis)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using test::document_with;
using test::has;
using test::observed_source;

constexpr std::string_view key = "colimit:policies";

/// @param patience after which silence is reported
[[nodiscard]] config at(const std::string& server, std::chrono::milliseconds patience = 200ms) {
    auto c = config{};
    c.server = server;
    c.advanced.connect_timeout = patience;
    c.on_event = {};
    return c;
}

/// A source that begins with the rule `1/s` and no version.
[[nodiscard]] auto source_at(const config& server,
                             policy_source_options options = observed_source::quick()) {
    return observed_source{document_with("1/s"), std::move(options), server};
}

void publish(test::raw_client& server, std::string_view version, std::string_view document) {
    server.must({"HSET", key, "version", version, "document", document});
}

[[nodiscard]] std::string text_of(const std::string& path) {
    auto file = std::ifstream{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
}

[[nodiscard]] bool has_event(const observed_source& o, std::string_view kind,
                             std::string_view part) {
    return std::ranges::any_of(o.events.lines, [&](const std::string& line) {
        return line.starts_with(kind) && has(line, part);
    });
}

} // namespace

BOOST_AUTO_TEST_CASE(a_published_version_replaces_the_file) {
    const auto server = test::redis_server{};
    auto look = server.connect();
    publish(look, "8", document_with("8/s"));
    auto o = source_at(at(server.address(), 10s)); // only what is published is reported
    BOOST_TEST(o.text_of_rules() == "1/s");        // at first
    o.run_until_rules("8/s");
    BOOST_TEST(o.source.status().origin == "Redis");
    BOOST_TEST((o.source.status().version == 8));
    BOOST_TEST((o.source.current()->version() == 8));
    publish(look, "10", document_with("10/s", 10));
    o.run_until_rules("10/s");
    o.run_until_event("loaded version 10: Redis");
    BOOST_TEST(!o.source.status().problem);
    BOOST_TEST(o.events.lines.size() == 3U);
}

BOOST_AUTO_TEST_CASE(all_processes_take_a_version_within_a_second) {
    const auto server = test::redis_server{};
    auto look = server.connect();
    auto all = std::deque<observed_source>{};
    for (auto i = 0; i < 40; ++i) // with the default options, except the events
        all.emplace_back(document_with("1/s"), policy_source_options{}, at(server.address()));
    const auto run_until_all_have = [&](std::string_view rules) {
        for (auto& o : all)
            o.run_until_rules(rules);
    };
    publish(look, "1", document_with("2/s"));
    run_until_all_have("2/s");
    auto best = std::chrono::milliseconds::max(); // of some versions: a busy machine may delay one
    for (auto version = 2; version < 20 && best >= 1s; ++version) {
        const auto rules = std::to_string(version + 1) + "/s";
        publish(look, std::to_string(version), document_with(rules));
        const auto start = std::chrono::system_clock::now();
        const auto end = std::chrono::steady_clock::now() + 30s;
        const auto is_done = [&](const observed_source& o) { return o.text_of_rules() == rules; };
        while (!std::ranges::all_of(all, is_done) && std::chrono::steady_clock::now() < end) {
            for (auto& o : all)
                o.context.poll();
        }
        auto worst = std::chrono::milliseconds{0};
        for (const auto& o : all)
            worst = std::max(worst, std::chrono::duration_cast<std::chrono::milliseconds>(
                                        o.source.status().since - start));
        BOOST_TEST_MESSAGE("the last of 40 sources was " << worst.count() << " ms late");
        best = std::min(best, worst);
    }
    BOOST_TEST((best < 1s));
}

BOOST_AUTO_TEST_CASE(an_invalid_version_is_refused_by_every_source_and_named) {
    const auto server = test::redis_server{};
    auto look = server.connect();
    publish(look, "3", document_with("3/s"));
    auto all = std::deque<observed_source>{};
    for (auto i = 0; i < 3; ++i)
        all.emplace_back(document_with("1/s"), observed_source::quick(), at(server.address(), 10s));
    for (auto& o : all)
        o.run_until_rules("3/s");
    const auto refused_by_all = [&](const std::string& line) {
        for (auto& o : all) {
            o.run_until_event(line);
            BOOST_TEST(o.text_of_rules() == "3/s");
            const auto status = o.source.status();
            BOOST_TEST_REQUIRE(status.problem.has_value());
            BOOST_TEST(to_string(*status.problem) == line);
            BOOST_TEST((status.version == 3));
        }
    };
    const std::string start = "refused version 4: colimit:policies: ";
    publish(look, "4", R"({"policies": {}, "routes": [{"path": "/a", "policy": "b"}]})");
    refused_by_all(start + "routes[0].policy: no such policy (got 'b', expected none, as there are "
                           "no policies)");
    publish(look, "4", R"({"policies": )");
    refused_by_all(start + "JSON, line 1, column 14: the document ends too early");
    publish(look, "4", document_with("4/s", 5));
    refused_by_all(start + "version: not the published one (got 5, expected 4)");
    const auto missing = "the field document is missing, empty, or longer than 4194304 bytes";
    publish(look, "4", "");
    refused_by_all(start + missing);
    publish(look, "4", document_with("4/s") + std::string(limits::max_json_bytes, ' '));
    look.must({"HSET", key, "version", "5"});
    refused_by_all("refused version 5: colimit:policies: " + std::string{missing});
    look.must({"HDEL", key, "document"});
    look.must({"HSET", key, "version", "6"});
    refused_by_all("refused version 6: colimit:policies: " + std::string{missing});
    for (const std::string wrong : {"0", "-1", "1.5", "seven", "9007199254740992", ""}) {
        look.must({"HSET", key, "version", wrong});
        refused_by_all("refused: colimit:policies: version: invalid value (got '" + wrong +
                       "', expected 1 to 9007199254740991)");
    }
    for (auto& o : all) { // each was reported once, however often it was seen
        const auto asked = test::calls_of(look, "hmget");
        o.run_until([&] { return test::calls_of(look, "hmget") > asked + 4; });
        BOOST_TEST(o.events.lines.size() == 14U);
    }
    publish(look, "6", document_with("6/s")); // under the version that was refused
    for (auto& o : all) {
        o.run_until_rules("6/s");
        BOOST_TEST(!o.source.status().problem);
    }
}

BOOST_AUTO_TEST_CASE(a_lower_version_is_ignored_and_reported) {
    const auto server = test::redis_server{};
    auto look = server.connect();
    publish(look, "9", document_with("9/s"));
    auto o = source_at(at(server.address()));
    o.run_until_rules("9/s");
    publish(look, "8", document_with("8/s"));
    o.run_until_event("older version 8: colimit:policies: version 8 is lower than the one in "
                      "force, 9");
    BOOST_TEST(o.text_of_rules() == "9/s");
    publish(look, "9", document_with("9/s"));
    o.run_until([&] { return !o.source.status().problem; });
    BOOST_TEST(o.events.count("loaded") == 2);
    // The file has versions of the same sequence.
    auto later =
        observed_source{document_with("5/s", 12), observed_source::quick(), at(server.address())};
    later.run_until_event("older version 9: colimit:policies: version 9 is lower than the one in "
                          "force, 12");
    BOOST_TEST(later.text_of_rules() == "5/s");
}

BOOST_AUTO_TEST_CASE(a_large_document_is_read) {
    const auto server = test::redis_server{};
    auto look = server.connect();
    auto o = source_at(at(server.address()));
    const auto text = document_with("2/s");
    publish(look, "2", text + std::string(limits::max_json_bytes - text.size(), ' '));
    o.run_until_rules("2/s");
    publish(look, "3", document_with("3/s"));
    o.run_until_rules("3/s");
}

BOOST_AUTO_TEST_CASE(a_source_begins_without_redis_with_the_copy_or_the_file) {
    auto server = test::redis_server{};
    auto look = server.connect();
    const auto folder = test::fresh_folder{};
    auto options = observed_source::quick();
    options.copy = folder.path() + "/copy";
    {
        auto o = source_at(at(server.address()), options);
        publish(look, "7", document_with("7/s"));
        o.run_until_rules("7/s");
        BOOST_TEST(text_of(options.copy) ==
                   R"({"version": 7, "policies": {"api": "7/s"}, "routes": [{"path": "/*", )"
                   R"("policy": "api"}]})");
        publish(look, "8", document_with("8/s", 8));
        o.run_until_rules("8/s");
        BOOST_TEST(text_of(options.copy) == document_with("8/s", 8));
        publish(look, "9", "{"); // which is not copied
        o.run_until([&] { return o.events.count("refused") == 1; });
    }
    server.kill();
    auto o = source_at(at(server.address()), options);
    BOOST_TEST(o.text_of_rules() == "8/s");
    BOOST_TEST(o.source.status().origin == "copy " + options.copy);
    o.run_until([&] { return has_event(o, "unavailable: connect: ", "Connection refused"); });

    auto without = source_at(at(server.address()));
    BOOST_TEST(without.text_of_rules() == "1/s");
    BOOST_TEST(without.source.status().origin == "file " + without.path());

    server.start(); // empty
    for (auto* s : {&o, &without})
        s->run_until_event("unavailable: there is no field version in the hash colimit:policies");
    BOOST_TEST(o.text_of_rules() == "8/s");
    auto again = server.connect();
    publish(again, "9", document_with("9/s"));
    for (auto* s : {&o, &without}) {
        s->run_until_rules("9/s");
        BOOST_TEST(!s->source.status().problem);
    }
}

BOOST_AUTO_TEST_CASE(a_copy_that_is_not_valid_or_cannot_be_written_is_reported) {
    const auto server = test::redis_server{};
    auto look = server.connect();
    const auto folder = test::fresh_folder{};
    auto options = observed_source::quick();
    options.copy = folder.path() + "/copy";
    test::write_file(options.copy, "{\"policies\"");
    auto o = source_at(at(server.address()), options);
    BOOST_TEST(o.text_of_rules() == "1/s");
    o.run_until_event("copy failed: " + options.copy +
                      ": JSON, line 1, column 12: the document ends too early");
    BOOST_TEST(!(o.source.status().problem &&
                 o.source.status().problem->kind == policy_event_kind::copy_failed));
    publish(look, "2", document_with("2/s"));
    o.run_until_rules("2/s");
    BOOST_TEST(has(text_of(options.copy), "\"version\": 2"));

    options.copy = folder.path(); // cannot be read
    auto unreadable = source_at(at("unix:/nonexistent/redis"), options);
    unreadable.run_until_event("copy failed: " + options.copy + ": is a directory");
    BOOST_TEST(unreadable.text_of_rules() == "1/s");

    options.copy = folder.path() + "/missing/copy";
    auto other = source_at(at(server.address()), options);
    other.run_until_rules("2/s");
    other.run_until([&] { return other.events.count("copy failed version 2: ") == 1; });
    BOOST_TEST(
        has_event(other, "copy failed version 2: " + options.copy, "No such file or directory"));
    const auto left = std::distance(std::filesystem::directory_iterator{folder.path()}, {});
    BOOST_TEST(left == 1);
}

BOOST_AUTO_TEST_CASE(a_source_that_cannot_begin_is_not_made) {
    auto context = test::asio::io_context{};
    const auto begin = [&](errc code, const std::string& file, const config& server) {
        return test::refusal(code,
                             [&] { return policy_source{context.get_executor(), file, server}; });
    };
    const auto folder = test::fresh_folder{};
    const auto file = folder.path() + "/p";
    test::write_file(file, document_with("1/s"));
    BOOST_TEST(begin(errc::invalid_config, file, config{}) ==
               "config::server is memory:, which has no documents");
    BOOST_TEST(has(begin(errc::invalid_config, file, at("redis://a:b:c")), "port"));
    auto wrong = at("redis://localhost");
    wrong.prefix = "a b";
    BOOST_TEST(has(begin(errc::invalid_config, file, wrong), "config::prefix"));
    wrong = at("redis://localhost");
    wrong.tls.ca_file = "x";
    BOOST_TEST(has(begin(errc::invalid_config, file, wrong), "config::tls.ca_file"));
    BOOST_TEST(begin(errc::invalid_config, "/no/file", at("redis://localhost")) ==
               "/no/file: cannot be read: No such file or directory");
    test::write_file(file, "{");
    BOOST_TEST(begin(errc::invalid_policy, file, at("redis://localhost")) ==
               file + ": JSON, line 1, column 2: the document ends too early");
}

BOOST_AUTO_TEST_CASE(a_server_that_dies_freezes_or_returns_costs_no_document) {
    auto server = test::redis_server{{.tcp = true}};
    auto look = server.connect();
    publish(look, "2", document_with("2/s"));
    auto o = source_at(at(server.address()));
    o.run_until_rules("2/s");

    server.stop();
    o.run_until([&] { return o.events.count("unavailable: ") == 1; });
    server.cont();
    o.run_until_event("recovered version 2: Redis");
    BOOST_TEST(!o.source.status().problem);
    publish(look, "3", document_with("3/s"));
    o.run_until_rules("3/s");

    server.kill();
    o.run_until([&] { return has_event(o, "unavailable: connect: ", "Connection refused"); });
    BOOST_TEST(o.text_of_rules() == "3/s");
    server.start();
    auto again = server.connect();
    publish(again, "4", document_with("4/s"));
    o.run_until_rules("4/s");
    BOOST_TEST(!o.source.status().problem);
    o.run_until([&] { return o.events.count("loaded") == 4; });
}

BOOST_AUTO_TEST_CASE(a_reload_asks_at_once) {
    const auto server = test::redis_server{};
    auto look = server.connect();
    auto options = policy_source_options{};
    options.poll_interval = 1h;
    auto o = source_at(at(server.address()), options);
    o.run_until_event("unavailable: there is no field version in the hash colimit:policies");
    publish(look, "2", document_with("2/s"));
    o.source.reload();
    o.run_until_rules("2/s");
}

BOOST_AUTO_TEST_CASE(another_prefix_and_database_are_other_documents) {
    const auto server = test::redis_server{};
    auto look = server.connect();
    publish(look, "2", document_with("2/s"));
    look.must({"SELECT", "3"});
    look.must({"HSET", "x:policies", "version", "3", "document", document_with("3/s")});
    auto settings = at(server.address() + "?db=3");
    settings.prefix = "x";
    auto o = source_at(settings);
    o.run_until_rules("3/s");
}

BOOST_AUTO_TEST_CASE(a_key_of_another_type_and_a_missing_permission_are_reported) {
    auto server = test::redis_server{};
    auto look = server.connect();
    look.must({"SET", key, "x"});
    auto o = source_at(at(server.address()));
    o.run_until([&] { return has_event(o, "unavailable: reply: ", "WRONGTYPE"); });
    look.must({"DEL", key});
    publish(look, "2", document_with("2/s"));
    o.run_until_rules("2/s");
    server.stop(); // which is another problem
    o.run_until_event("unavailable: the server does not reply");
    server.cont();
    o.run_until([&] { return !o.source.status().problem; });

    look.must({"ACL", "SETUSER", "app", "on", ">secret123", "~other:*", "+hmget"});
    auto denied = source_at(at("unix://app:secret123@" + server.socket()));
    denied.run_until([&] { return has_event(denied, "unavailable: reply: ", "NOPERM"); });
    look.must({"ACL", "SETUSER", "app", "~colimit:policies"});
    denied.run_until_rules("2/s");
    look.must({"ACL", "SETUSER", "app", "resetpass", ">secret456"});
    auto wrong = source_at(at("unix://app:secret123@" + server.socket()));
    wrong.run_until([&] { return has_event(wrong, "unavailable: handshake: ", "WRONGPASS"); });
    BOOST_TEST(!has_event(wrong, "", "secret123"));
    look.must({"ACL", "SETUSER", "app", ">secret123"});
    wrong.run_until_rules("2/s");
}

BOOST_AUTO_TEST_CASE(every_protocol_and_mode_and_tls_work) {
    const auto server = test::redis_server{};
    auto look = server.connect();
    publish(look, "2", document_with("2/s"));
    for (const auto resp : {2, 3}) {
        for (const auto mode :
             {execution_mode::script, execution_mode::function, execution_mode::multi}) {
            auto settings = at(server.address());
            settings.advanced.resp_version = resp;
            settings.advanced.mode = mode;
            auto o = source_at(settings);
            o.run_until_rules("2/s");
        }
    }
    auto secure = test::tls_server{};
    auto secure_look = secure.server.connect();
    publish(secure_look, "3", document_with("3/s"));
    auto settings = at(secure.address());
    secure.trusted()(settings);
    auto o = source_at(settings);
    o.run_until_rules("3/s");
    auto untrusting = source_at(at(secure.address()));
    untrusting.run_until([&] { return has_event(untrusting, "unavailable: TLS: ", ""); });
}

BOOST_AUTO_TEST_CASE(the_master_of_sentinels_is_followed) {
    auto g = test::sentinel_group{};
    auto look = g.server(0).connect();
    publish(look, "2", document_with("2/s"));
    auto o = source_at(at(g.address()));
    o.run_until_rules("2/s");
    look.must({"WAIT", "2", "5000"});
    g.server(0).kill();
    const auto is_replaced = [&] { return g.named_by(0) != 0; };
    o.run_until(is_replaced);
    auto next = g.server(g.named_by(0)).connect();
    o.run_until([&] { return has(next.must({"ROLE"}).elements.front().text, "master"); });
    publish(next, "3", document_with("3/s"));
    o.run_until_rules("3/s");
    BOOST_TEST((o.source.status().version == 3));
}

BOOST_AUTO_TEST_CASE(no_sentinel_that_answers_is_reported) {
    auto g = test::sentinel_group{{.sentinels = 1, .replicas = 0}};
    g.watcher(0).kill();
    auto o = source_at(at(g.address()));
    o.run_until([&] { return has_event(o, "unavailable: connect: ", "Connection refused"); });
    auto named = source_at(at("redis+sentinel://" + g.hosts() + "/other"));
    BOOST_TEST(named.text_of_rules() == "1/s");
}

BOOST_AUTO_TEST_CASE(the_node_of_a_cluster_that_serves_the_key_is_followed) {
    auto c = test::redis_cluster{{.masters = 3, .replicas = 1}};
    const auto slot = std::size_t{redis::hash_slot(key)};
    const auto owner = c.owner(slot);
    auto look = c.connect(owner);
    publish(look, "2", document_with("2/s"));
    for (std::size_t asked = 0; asked < 3; ++asked) {
        auto o = source_at(at("redis+cluster://" + c.endpoint(asked)));
        o.run_until_rules("2/s");
        BOOST_TEST(!o.source.status().problem);
    }
    auto o = source_at(at("redis+cluster://" + c.endpoint(owner)));
    o.run_until_rules("2/s");

    const auto other = (owner + 1) % 3; // while it moves, the document stays
    c.begin_migration(slot, owner, other);
    (void)c.move_keys(slot, owner, other);
    o.run_until([&] { return has_event(o, "unavailable: reply: ", "ASK"); });
    c.end_migration(slot, owner, other);
    auto moved = c.connect(other);
    publish(moved, "3", document_with("3/s"));
    const auto clock = test::loop_clock{o.context};
    o.run_until_rules("3/s");
    BOOST_TEST((clock.now() < 10s)); // before the map is due
    BOOST_TEST(!o.source.status().problem);

    moved.must({"WAIT", "1", "5000"});
    c.stop(other); // which says nothing, and keeps its connections
    c.failover(c.replica(other), test::redis_cluster::takeover);
    auto replica = c.connect(c.replica(other));
    publish(replica, "4", document_with("4/s"));
    o.run_until_rules("4/s");
}

/// Everything ends while a connection is being made, or is in use.
BOOST_AUTO_TEST_CASE(a_source_may_end_at_any_time) {
    auto server = test::redis_server{};
    auto look = server.connect();
    publish(look, "2", document_with("2/s"));
    for (auto i = 0; i < 40; ++i) {
        auto o = source_at(at(server.address()));
        for (auto steps = 0; steps < i; ++steps)
            o.context.run_one_for(1ms);
        if (i % 2 == 0) {
            o.source.close();
            o.context.restart();
            o.context.run(); // returns
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
