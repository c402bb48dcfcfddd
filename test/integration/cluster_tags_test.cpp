// SPDX-License-Identifier: BSL-1.0
//
// Checks of several keys on a real cluster: with a common tag they are in one slot, whatever the
// number of tags, and one step; without one they are an error that says so.

#include <colimit/key.hpp>
#include <redis/protocol/hash_slot.hpp>
#include <redis/protocol/key_tags.hpp>
#include <support/live_limiter.hpp>
#include <support/redis_cluster.hpp>
#include <support/redis_server.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(cluster_tags)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::live;
using test::redis_cluster;

const auto per_user = policy{"user", gcra(2, 1h)};
const auto per_tenant = policy{"tenant", sliding_log(3, 1h), distinct(10, 24h * 365)};
const auto for_all = policy{"all", fixed_window(1'000, 24h * 36'500)};

constexpr auto apart = "checks: the keys are in several hash slots of a cluster "
                       "(expected keys with a common tag: scoped_key::tagged)";

/// A call by a user of a tenant, with this tag for the tenant's key and that of all.
struct call {
    call(const std::string& user, const std::string& tenant, const std::string& tag)
        : keys{key::user(user).tagged(tenant), key::global().part(tenant).tagged(tag),
               key::global().tagged(tag)},
          checks{{{.key = keys[0], .policy = per_user},
                  {.key = keys[1], .policy = per_tenant, .options = {.member = "m"}},
                  {.key = keys[2], .policy = for_all}}} {}

    std::array<scoped_key, 3> keys;
    std::array<check_item, 3> checks;
};

[[nodiscard]] auto all_of(live& l, std::span<check_item> checks) {
    return l.limiter.allow_all(checks, asio::as_tuple(asio::deferred));
}

} // namespace

BOOST_AUTO_TEST_CASE(a_user_a_tenant_and_all_are_checked_in_one_step_on_whichever_node_they_are) {
    auto c = redis_cluster{};
    for (const std::size_t hash_tags : {64U, 1U, 16'384U}) {
        auto l = live{"redis+cluster://" + c.endpoint(0), [&](config& s) {
                          s.advanced.hash_tags = hash_tags;
                          s.prefix = "tags" + std::to_string(hash_tags);
                      }};
        l.run([&]() -> asio::awaitable<void> {
            for (auto i = 0; i < 40; ++i) {
                const auto tenant = "acme" + std::to_string(i);
                auto granted = 0;
                for (const auto* const user : {"ann", "ann", "ann", "bob", "bob"}) {
                    auto asked = call{user, tenant, tenant};
                    const auto [ec, d] = co_await all_of(l, asked.checks);
                    BOOST_REQUIRE_MESSAGE(!ec, ec.message());
                    granted += d.allowed() ? 1 : 0;
                }
                // Two of ann's, then the tenant has one left, and bob was charged for that only.
                BOOST_REQUIRE(granted == 3);
                const auto bobs = key::user("bob").tagged(tenant);
                BOOST_REQUIRE((co_await l.limiter.peek(bobs, per_user)).remaining == 1);
                const auto global = key::global().tagged(tenant);
                BOOST_REQUIRE((co_await l.limiter.peek(global, for_all)).remaining == 997);
            }
        });
        BOOST_TEST(!l.limiter.last_error());
    }
    for (std::size_t node = 0; node < c.size(); ++node) {
        const auto names = c.connect(node).keys();
        for (const std::string tags : {"tags64:", "tags16384:"})
            BOOST_TEST(std::ranges::count_if(
                           names, [&](const auto& n) { return n.starts_with(tags); }) > 40);
    }
}

BOOST_AUTO_TEST_CASE(checks_with_differing_tags_or_none_are_refused_and_charge_nothing) {
    auto c = redis_cluster{};
    auto l = live{"redis+cluster://" + c.endpoint(0)};
    l.run([&]() -> asio::awaitable<void> {
        auto differing = call{"ann", "acme", "all"};
        const auto plain = std::array{key::user("ann"), key::global()};
        auto untagged = std::array{check_item{.key = plain[0], .policy = per_user},
                                   check_item{.key = plain[1], .policy = for_all}};
        for (const auto checks :
             {std::span<check_item>{differing.checks}, std::span<check_item>{untagged}}) {
            const auto [ec, d] = co_await all_of(l, checks);
            BOOST_TEST((ec == errc::invalid_argument));
            BOOST_TEST(ec.message() == apart);
        }
        BOOST_TEST((co_await l.limiter.peek(differing.keys[0], per_user)).remaining == 2);
        BOOST_TEST((co_await l.limiter.peek(plain[1], for_all)).remaining == 1'000);
    });
    for (std::size_t node = 0; node < c.size(); ++node)
        BOOST_TEST(c.connect(node).keys().empty());
}

BOOST_AUTO_TEST_CASE(one_tag_lets_any_keys_be_checked_together) {
    auto c = redis_cluster{};
    auto l = live{"redis+cluster://" + c.endpoint(0), [](config& s) { s.advanced.hash_tags = 1; }};
    l.run([&]() -> asio::awaitable<void> {
        for (auto i = 0; i < 50; ++i) {
            const auto keys = std::array{"a" + std::to_string(i), "b" + std::to_string(i)};
            auto checks = std::array{check_item{.key = keys[0], .policy = per_user},
                                     check_item{.key = keys[1], .policy = for_all}};
            const auto [ec, d] = co_await all_of(l, checks);
            BOOST_REQUIRE_MESSAGE(!ec, ec.message());
            BOOST_REQUIRE(d.allowed());
        }
    });
}

/// Every verb finds the states of a key where the others keep them.
BOOST_AUTO_TEST_CASE(each_verb_and_storage_works_with_any_number_of_tags) {
    auto c = redis_cluster{};
    const auto packed = policy{"packed", gcra(2, 1h)}.with_storage(storage::shared_hash);
    const auto filter = bloom_filter{"filter", {.capacity = 20'000'000}};
    for (const std::size_t hash_tags : {1U, 2U, 4U, 8U, 128U, 16'384U}) {
        auto l = live{"redis+cluster://" + c.endpoint(0), [&](config& s) {
                          s.advanced.hash_tags = hash_tags;
                          s.prefix = "tags" + std::to_string(hash_tags);
                      }};
        l.run([&]() -> asio::awaitable<void> {
            const auto numbers = [](const auto& begin) {
                auto texts = std::vector<std::string>{};
                for (auto i = 0; i < 100; ++i)
                    texts.push_back(begin + std::to_string(i));
                return texts;
            };
            for (const std::string begin : {"", "tag=acme;", "tag#"})
                for (const auto& p : {per_user, packed}) {
                    const auto keys = numbers(begin);
                    auto checks = std::vector<check_item>{};
                    for (auto i = 0; i < 3; ++i)
                        for (const auto& key : keys)
                            checks.push_back({.key = key, .policy = p});
                    co_await l.limiter.allow_many(checks);
                    for (std::size_t i = 0; i < checks.size(); ++i)
                        BOOST_REQUIRE(checks[i].result.allowed() == (i < 200));
                    for (const auto& key : keys)
                        co_await l.limiter.reset(key, p);
                    for (const auto& key : keys)
                        BOOST_REQUIRE((co_await l.limiter.peek(key, p)).remaining == 2);
                }
            for (const std::string begin : {"", "tag=acme;"})
                for (const auto& id : numbers(begin)) {
                    BOOST_REQUIRE((co_await l.limiter.once(id, 1h)).allowed());
                    BOOST_REQUIRE(!(co_await l.limiter.once(id, 1h)).allowed());
                    (void)co_await l.limiter.seen(id, filter);
                    BOOST_REQUIRE(co_await l.limiter.probably_seen(id, filter));
                }
            BOOST_REQUIRE((co_await l.limiter.filter_status(filter)).capacity == 20'000'000);
        });
        BOOST_TEST(!l.limiter.last_error());
    }
}

BOOST_AUTO_TEST_CASE(names_have_the_tag_of_the_common_tag_in_both_execution_modes) {
    auto server = test::redis_server{};
    const auto logged = policy{"logged", sliding_log(3, 1h)};
    for (const auto mode : {execution_mode::script, execution_mode::multi})
        for (const std::size_t hash_tags : {1U, 64U, 512U}) {
            const auto tags = redis::key_tags{hash_tags};
            auto l = live{server.address(), [&](config& s) {
                              s.advanced.hash_tags = hash_tags;
                              s.advanced.mode = mode;
                          }};
            const auto plain = key::user("ann");
            const auto tagged = plain.tagged("acme");
            l.run([&]() -> asio::awaitable<void> {
                for (const auto& k : {plain, tagged})
                    BOOST_TEST((co_await l.limiter.allow(k, logged)).remaining == 2);
            });
            auto own = server.connect();
            auto found = 0;
            for (const auto& name : own.keys())
                for (const auto& [k, part] : {std::pair{plain, "user=ann"}, {tagged, "acme"}})
                    if (name.ends_with("k:" + std::string{k.view()})) {
                        ++found;
                        BOOST_TEST(redis::hashed_part(name) == tags.text(tags.of(part)));
                    }
            BOOST_TEST(found >= 2);
            own.must({"FLUSHALL"});
        }
}

BOOST_AUTO_TEST_SUITE_END()
