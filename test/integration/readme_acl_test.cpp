// SPDX-License-Identifier: BSL-1.0
//
// The permissions that src/tool/README.md lists: with them, everything that an execution mode can
// do works, and without any one of them something does not. Of that, a server keeps a log, which is
// empty only if the user was denied nothing.

#include <support/observed_source.hpp>
#include <support/problems.hpp>

#include <colimit/bloom_filter.hpp>
#include <redis/protocol/hash_slot.hpp>
#include <support/function_library.hpp>
#include <support/live_limiter.hpp>
#include <support/readme_acl.hpp>
#include <support/redis_cluster.hpp>
#include <support/rules_of_every_kind.hpp>
#include <support/sentinel_group.hpp>
#include <support/server_module.hpp>
#include <support/unit_test.hpp>
#include <support/usual_tags.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(permissions_in_readme)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::live;
using test::readme_acl;
using test::set_user;
using rules_of_user = std::vector<std::string>;

/// Supplied clocks, as of replays: keys get a TTL instead of a time.
const auto morning = time_point{1'700'000'000s};

/// Calls that were started together, and how many of them have failed.
class tally {
  public:
    auto next() {
        ++open_;
        return [this](error_code ec, const auto&...) {
            --open_;
            failed_ += ec ? 1 : 0;
        };
    }
    /// Waits for all of them; returns whether none has failed.
    [[nodiscard]] bool none_fails(live& l) {
        test::run_until(l.context, [this] { return open_ == 0; });
        return failed_ == 0;
    }

  private:
    int open_ = 0;
    int failed_ = 0;
};

void use(live& l, tally& calls, std::string_view key, const policy& p,
         std::optional<time_point> now) {
    const auto check = [&](std::int64_t cost) {
        return check_options{.cost = cost, .member = cost == 1 ? "m1" : "m20", .now = now};
    };
    l.limiter.allow(key, p, check(1), calls.next());
    l.limiter.allow(key, p, check(1), calls.next());
    l.limiter.charge(key, p, {.cost = 5, .member = "x", .now = now}, calls.next());
    l.limiter.allow(key, p, check(20), calls.next());
    l.limiter.peek(key, p, check(1), calls.next());
}

void refund(live& l, tally& calls, std::string_view key, const policy& p,
            std::optional<time_point> now) {
    l.limiter.refund(key, p, {.cost = 2, .member = "x", .now = now}, calls.next());
}

[[nodiscard]] std::vector<policy> policies_of_scripts() {
    auto all = std::vector<policy>{};
    for (const auto& r : test::rules_of_every_kind(20, 1h))
        all.emplace_back("p" + std::to_string(all.size()), r);
    all.emplace_back("log", sliding_log(20, 1h));
    all.emplace_back("counting", sliding_log(2, 1h).count_denied());
    all.emplace_back("members", distinct(20, 1h));
    all.emplace_back("all", gcra(20, 1h), sliding_log(20, 1h), distinct(20, 1h));
    return all;
}

/// Every verb, under every kind of rule, with the server's clock and with supplied ones.
void use_scripts(live& l, tally& calls, std::deque<std::vector<check_item>>& checks) {
    static const auto all = policies_of_scripts();
    static const auto packed = policy{"packed", gcra(20, 1h)}.with_storage(storage::shared_hash);
    static const auto filter = bloom_filter{"ids", {.capacity = 1'000, .ttl = 1h}};
    for (const auto& now : {std::optional<time_point>{}, std::optional{morning},
                            std::optional{morning + 2h}, std::optional{morning + 4h}}) {
        const auto key = now ? "supplied" : "own";
        for (const auto& p : all) {
            use(l, calls, key, p, now);
            refund(l, calls, key, p, now);
            l.limiter.block("blocked", p, 1h, {.now = now}, calls.next());
        }
        use(l, calls, key, packed, now);
        refund(l, calls, key, packed, now);
        l.limiter.once("id", 1h, {.now = now}, calls.next());
        l.limiter.seen("id", filter, {.now = now}, calls.next());
        l.limiter.probably_seen("id", filter, {.now = now}, calls.next());
        l.limiter.filter_status(filter, {.now = now}, calls.next());
        l.limiter.count_distinct(key, all[all.size() - 2], {.now = now}, calls.next());
    }
    for (const auto& p : all)
        l.limiter.reset("supplied", p, {.now = morning + 4h}, calls.next());
    l.limiter.reset("supplied", packed, {.now = morning + 4h}, calls.next());
    l.limiter.wait("waiting", all.front(), {}, calls.next());
    auto& items = checks.emplace_back();
    for (const auto* key : {"a", "b"})
        items.push_back({.key = key, .policy = all.front()});
    l.limiter.allow_all(checks.back(), calls.next());
    l.limiter.allow_many(checks.emplace_back(items), calls.next());
}

/// Takes places, gives them back, and looks at them then.
void use_scripts_and_places(live& l, tally& calls, std::deque<std::vector<check_item>>& checks) {
    static const auto places = policy{"places", concurrent(1).lease(1h), gcra(20, 1h)};
    static const auto alone = policy{"alone", concurrent(1).lease(1h)};
    static const auto events = policy{"events", sliding_log(1'000, 1h)};
    use_scripts(l, calls, checks);
    for (int i = 0; i < 400; ++i) // a log that is read in parts, by a later batch
        l.limiter.charge("long", events, {}, calls.next());
    for (const auto& now : {std::optional<time_point>{}, std::optional{morning}}) {
        const auto key = now ? "supplied" : "own";
        l.limiter.acquire(key, alone, {.now = now},
                          [done = calls.next()](error_code ec, const slot&) mutable { done(ec); });
        l.limiter.acquire(key, places, {.now = now},
                          [=, &l, &calls, done = calls.next()](error_code ec, slot held) mutable {
                              l.limiter.peek("long", events, {}, calls.next());
                              l.limiter.peek(key, places, {.now = now}, calls.next());
                              held.release();
                              l.limiter.peek(key, places, {.now = now}, calls.next());
                              l.limiter.reset(key, places, {.now = now}, calls.next());
                              done(ec);
                          });
    }
}

void use_transactions(live& l, tally& calls, std::deque<std::vector<check_item>>& checks) {
    static const auto log = policy{"log", sliding_log(5, 1h)};
    static const auto counting = policy{"counting", sliding_log(2, 1h).count_denied()};
    static const auto window = policy{"window", fixed_window(5, 1h)};
    static const auto from_first = policy{"first", fixed_window(5, 1h).from_first()};
    for (const auto* p : {&log, &counting, &window, &from_first})
        use(l, calls, "k", *p, {});
    for (const auto* p : {&log, &counting})
        refund(l, calls, "k", *p, {});
    for (const auto* p : {&log, &counting, &window, &from_first})
        l.limiter.reset("k", *p, {}, calls.next());
    auto& items = checks.emplace_back();
    for (const auto* key : {"a", "b"})
        items.push_back({.key = key, .policy = log});
    l.limiter.allow_many(items, calls.next());
}

struct mode_of_user {
    execution_mode mode;
    std::string_view row;
    void (*use)(live&, tally&, std::deque<std::vector<check_item>>&);
    module_use server_module = module_use::never;
};

constexpr auto modes = std::array{
    mode_of_user{execution_mode::script, "script", &use_scripts_and_places},
    mode_of_user{execution_mode::function, "function", &use_scripts_and_places},
    mode_of_user{execution_mode::script, "module", &use_scripts, module_use::if_available},
    mode_of_user{execution_mode::multi, "multi", &use_transactions},
};

[[nodiscard]] std::string line_of(test::raw_client& look, std::string_view command) {
    const auto info = look.must({"INFO", "commandstats"}).text;
    const auto begin = info.find("cmdstat_" + std::string{command} + ":");
    return begin == std::string::npos ? "" : info.substr(begin, info.find('\r', begin) - begin);
}

[[nodiscard]] bool is_log_empty(test::raw_client& look) {
    return look.must({"ACL", "LOG"}).elements.empty();
}

/// Returns whether a user with these rules can do everything, and is denied nothing.
[[nodiscard]] bool suffice(const rules_of_user& rules, const mode_of_user& how,
                           const test::redis_server& server, test::raw_client& look) {
    look.must({"FLUSHALL"});
    look.must({"SCRIPT", "FLUSH"});
    look.must({"ACL", "LOG", "RESET"});
    set_user(look, "app", rules);
    auto l = live{"unix://app:pw@" + server.socket(), [&](config& c) {
                      c.advanced.mode = how.mode;
                      c.advanced.server_module = how.server_module;
                      c.timeout = 20s;
                      c.advanced.connect_timeout = 20s;
                      c.advanced.ping_interval = 1ms;
                  }};
    auto code = error_code{};
    l.run([&]() -> asio::awaitable<void> { code = co_await l.ready(); });
    auto calls = tally{};
    auto checks = std::deque<std::vector<check_item>>{};
    if (!code)
        how.use(l, calls, checks);
    const auto all_succeed = calls.none_fails(l) && !code;
    if (all_succeed) { // until an idle connection was checked
        const auto before = line_of(look, "ping");
        test::run_until(l.context, [&] { return line_of(look, "ping") != before; });
    }
    return all_succeed && is_log_empty(look);
}

[[nodiscard]] rules_of_user without(const rules_of_user& rules, const std::string& rule) {
    auto others = rules;
    std::erase(others, rule);
    return others;
}

void check_each(std::string_view row, const std::function<bool(const rules_of_user&)>& suffice) {
    const auto rules = readme_acl(row);
    BOOST_TEST(suffice(rules), row);
    for (const auto& rule : rules)
        BOOST_TEST(!suffice(without(rules, rule)), row << " does not need " << rule);
    BOOST_TEST(suffice(rules), row);
}

} // namespace

BOOST_AUTO_TEST_CASE(each_execution_mode_needs_all_of_its_rules_and_no_others) {
    const auto server = test::redis_server{{.arguments = test::with_server_module()}};
    auto look = server.connect();
    test::load_function_library(look);
    for (const auto& how : modes)
        check_each(how.row,
                   [&](const rules_of_user& rules) { return suffice(rules, how, server, look); });
}

BOOST_AUTO_TEST_CASE(slots_are_renewed_with_the_rules_of_each_execution_mode) {
    const auto server = test::redis_server{{.arguments = test::with_server_module()}};
    auto look = server.connect();
    test::load_function_library(look);
    for (const auto& how : {modes[0], modes[1]}) {
        look.must({"FLUSHALL"});
        look.must({"ACL", "LOG", "RESET"});
        set_user(look, "app", readme_acl(how.row));
        auto l = live{"unix://app:pw@" + server.socket(), [&](config& c) {
                          c.advanced.mode = how.mode;
                          c.advanced.server_module = how.server_module;
                      }};
        l.run([&]() -> asio::awaitable<void> {
            const auto held =
                co_await l.limiter.acquire("k", policy{"p", concurrent(1).lease(10s)});
            BOOST_TEST_REQUIRE(static_cast<bool>(held));
            co_await test::until([&] { return l.limiter.statistics().slots_renewed != 0; });
        });
        BOOST_TEST(is_log_empty(look));
    }
}

namespace {

void append(rules_of_user& to, std::string_view row) {
    const auto rules = readme_acl(row);
    to.insert(to.end(), rules.begin(), rules.end());
}

/// One call for a key whose slot is about to move, so that the node replies ASK.
[[nodiscard]] bool suffice_on(test::redis_cluster& c, const rules_of_user& rules,
                              const mode_of_user& how) {
    for (std::size_t i = 0; i < c.size(); ++i) {
        auto node = c.connect(i);
        node.must({"FLUSHALL"});
        node.must({"ACL", "LOG", "RESET"});
        set_user(node, "app", rules);
    }
    const auto slot = std::size_t{test::slot_of("k")};
    const auto owner = c.owner(slot);
    const auto other = (owner + 1) % c.size();
    c.begin_migration(slot, owner, other);
    auto l = live{"redis+cluster://app:pw@" + c.endpoint(0), [&how](config& s) {
                      s.advanced.mode = how.mode;
                      s.advanced.server_module = how.server_module;
                      s.timeout = 20s;
                      s.advanced.connect_timeout = 20s;
                  }};
    auto all_succeed = false;
    l.run([&]() -> asio::awaitable<void> {
        const auto code = co_await l.ready();
        if (code)
            co_return;
        const auto [ec, d] = co_await l.allow("k", policy{"p", gcra(5, 1h)});
        all_succeed = !ec;
    });
    const auto name = std::to_string(slot);
    for (const auto i : {owner, other})
        c.connect(i).must({"CLUSTER", "SETSLOT", name, "STABLE"});
    for (std::size_t i = 0; i < c.size(); ++i) {
        auto node = c.connect(i);
        all_succeed = is_log_empty(node) && all_succeed;
    }
    return all_succeed;
}

/// Calls on the master, and a wrong name of a master, to which Sentinels are asked for the right
/// one.
[[nodiscard]] bool suffice_behind(test::sentinel_group& g, const rules_of_user& app,
                                  const rules_of_user& watcher) {
    auto look = g.server(0).connect();
    auto look_at_sentinel = g.watcher(0).connect();
    set_user(look, "app", app);
    set_user(look_at_sentinel, "watcher", watcher);
    for (auto* server : {&look, &look_at_sentinel})
        server->must({"ACL", "LOG", "RESET"});
    const auto settings = [](config& s) {
        s.advanced.ping_interval = 1ms;
        s.advanced.sentinel_credentials = [] {
            return credentials{.user = "watcher", .password = "pw"};
        };
    };
    const auto address = "redis+sentinel://app:pw@" + g.hosts();
    auto l = live{address + "/mymaster", settings};
    auto wrong = live{address + "/other", settings};
    auto all_succeed = false;
    l.run([&]() -> asio::awaitable<void> {
        const auto code = co_await l.ready();
        if (code)
            co_return;
        const auto [ec, d] = co_await l.allow("k", policy{"p", gcra(5, 1h)});
        all_succeed = !ec;
    });
    wrong.run([&]() -> asio::awaitable<void> { (void)co_await wrong.ready(); });
    const auto is_checked = [&] { // an idle connection
        const auto clients = look_at_sentinel.must({"CLIENT", "LIST"}).text;
        for (auto at = clients.find("cmd=ping"); at != std::string::npos;
             at = clients.find("cmd=ping", at + 1))
            if (clients.find("user=watcher", at) < clients.find('\n', at))
                return true;
        return false;
    };
    if (all_succeed)
        test::run_until(l.context, is_checked);
    return is_log_empty(look) && is_log_empty(look_at_sentinel) && all_succeed;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_cluster_needs_further_rules_in_each_mode_that_works_there) {
    auto c = test::redis_cluster{{.arguments = test::with_server_module()}};
    for (std::size_t i = 0; i < c.size(); ++i) {
        auto node = c.connect(i);
        test::load_function_library(node);
    }
    for (const auto& how : {modes[0], modes[1]}) {
        const auto app = readme_acl(how.row);
        check_each("cluster", [&](rules_of_user rules) {
            rules.insert(rules.end(), app.begin(), app.end());
            return suffice_on(c, rules, how);
        });
    }
}

BOOST_AUTO_TEST_CASE(sentinels_need_users_of_their_own_and_the_master_one_more_rule) {
    auto g =
        test::sentinel_group{{.sentinels = 1,
                              .replicas = 0,
                              .lines = {"user default off", "user test on >pw allchannels +@all"},
                              .look_as = "test:pw@"}};
    auto app = readme_acl("script");
    check_each("sentinel", [&](rules_of_user rules) {
        rules.insert(rules.end(), app.begin(), app.end());
        return suffice_behind(g, rules, readme_acl("watcher"));
    });
    append(app, "sentinel");
    check_each("watcher",
               [&](const rules_of_user& rules) { return suffice_behind(g, app, rules); });
}

namespace {

/// Returns whether a source at this address takes the published document, and asks again.
/// @param look at the server that has it
[[nodiscard]] bool source_suffices(const std::string& address, test::raw_client& look) {
    auto settings = config{};
    settings.server = address;
    settings.advanced.connect_timeout = 500ms;
    settings.advanced.ping_interval = 1ms;
    auto o = test::observed_source{test::document_with("1/s"), policy_source_options{}, settings};
    o.run_until([&] {
        return o.source.status().origin == "Redis" || o.source.status().problem.has_value();
    });
    if (o.source.status().origin != "Redis")
        return false;
    const auto asked = test::calls_of(look, "hmget");
    o.run_until([&] { return test::calls_of(look, "hmget") > asked; });
    return true;
}

void publish(test::raw_client& server) {
    server.must(
        {"HSET", "colimit:policies", "version", "2", "document", test::document_with("2/s")});
}

} // namespace

BOOST_AUTO_TEST_CASE(a_policy_source_needs_rules_of_its_own) {
    const auto server = test::redis_server{};
    auto look = server.connect();
    publish(look);
    check_each("policies", [&](const rules_of_user& rules) {
        look.must({"ACL", "LOG", "RESET"});
        set_user(look, "app", rules);
        return source_suffices("unix://app:pw@" + server.socket(), look) && is_log_empty(look);
    });

    auto c = test::redis_cluster{};
    auto owner = c.connect(c.owner(redis::hash_slot("colimit:policies")));
    publish(owner);
    for (const auto is_permitted : {false, true}) {
        for (std::size_t i = 0; i < c.size(); ++i) {
            auto node = c.connect(i);
            auto rules = readme_acl("policies");
            if (is_permitted)
                append(rules, "cluster");
            set_user(node, "app", rules);
        }
        BOOST_TEST(source_suffices("redis+cluster://app:pw@" + c.endpoint(0), owner) ==
                   is_permitted);
    }

    auto g = test::sentinel_group{{.sentinels = 1, .replicas = 0}};
    auto master = g.server(0).connect();
    publish(master);
    for (const auto is_permitted : {false, true}) {
        auto rules = readme_acl("policies");
        if (is_permitted)
            append(rules, "sentinel");
        set_user(master, "app", rules);
        BOOST_TEST(source_suffices("redis+sentinel://app:pw@" + g.hosts() + "/mymaster", master) ==
                   is_permitted);
    }
}

BOOST_AUTO_TEST_SUITE_END()
