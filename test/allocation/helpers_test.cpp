// SPDX-License-Identifier: BSL-1.0
//
// What else allocates nothing, as the headers say: copies and conversions of policies, keys, and
// the routes and keys of requests.

#include <allocation/counted_allocations.hpp>
#include <colimit/bloom_filter.hpp>
#include <colimit/http_key.hpp>
#include <colimit/key.hpp>
#include <colimit/policy.hpp>
#include <colimit/policy_document.hpp>
#include <colimit/routes.hpp>
#include <colimit/rules.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/ip/address.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(helpers_without_allocations)

namespace {

using namespace std::chrono_literals;
using namespace colimit;

/// Returns what the second call allocates: the first one may fill a cache.
template<class Function>
[[nodiscard]] std::int64_t allocations_of(Function f) {
    f();
    const auto before = test::allocations();
    f();
    return test::allocations() - before;
}

/// The fields of a request, as a framework has them.
struct message {
    std::string_view key;
};

[[nodiscard]] http::request request_with(const message& m, std::string_view target) {
    return {.method = "GET",
            .target = target,
            .peer = boost::asio::ip::make_address("192.0.2.1"),
            .fields = http::header_fields{
                m, [](const auto& of, std::string_view name, http::field_visitor visit) {
                    if (name == "x-api-key" || name == "X-Api-Key")
                        visit(of.key);
                }}};
}

} // namespace

BOOST_AUTO_TEST_CASE(policies_and_filters_are_copied_by_reference) {
    const auto p = policy{"p", gcra(1, 1s), sliding_log(5, 1h)};
    const auto f = bloom_filter{"f", {.capacity = 1'000}};
    const auto document = parse_policy_document(R"({"policies": {"a": "1/s"}})");
    BOOST_TEST(allocations_of([&] {
                   const auto copy = p;      // NOLINT(performance-unnecessary-copy-initialization)
                   const auto of_filter = f; // NOLINT(performance-unnecessary-copy-initialization)
                   const auto whole =
                       document; // NOLINT(performance-unnecessary-copy-initialization)
                   BOOST_REQUIRE(copy.size() == 2 && of_filter.name() == "f" &&
                                 whole.policies().size() == 1);
               }) == 0);
    BOOST_TEST(allocations_of([&] { (void)p.shadow(); }) > 0); // what is made anew is counted
}

BOOST_AUTO_TEST_CASE(repeated_conversions_of_the_last_two_rules_find_their_policies) {
    for (std::int64_t n = 1; n <= 1'000; ++n) // two of them wherever their places in a table are
        BOOST_REQUIRE(allocations_of([n] {
                          const policy single = gcra(n, 1s);
                          const policy several = rules{gcra(n, 1s), fixed_window(n + 1, 1h)};
                          BOOST_REQUIRE(single.size() + several.size() == 3);
                      }) == 0);
    BOOST_TEST(allocations_of([] {
                   for (std::int64_t n = 1; n <= 100; ++n)
                       (void)policy{gcra(n, 1s)}.size();
               }) > 0); // more than are kept
}

BOOST_AUTO_TEST_CASE(keys_are_made_without_memory) {
    const auto id = std::string(1'000, 'x'); // of which a digest is taken
    const auto address = boost::asio::ip::make_address("2001:db8::1");
    BOOST_TEST(allocations_of([&] {
                   const auto made =
                       key::user(id).address(address).route("/a").part(id).tagged("t");
                   const auto text =
                       key::address("2001:0DB8::1").part("eu").part(id).part(id).part(id);
                   const auto all = key::global().part("p");
                   BOOST_REQUIRE(!std::string_view{made}.empty() &&
                                 !std::string_view{text}.empty() && !std::string_view{all}.empty());
               }) == 0);
}

BOOST_AUTO_TEST_CASE(routes_are_found_and_keys_of_requests_made_without_memory) {
    auto routes = std::vector<http::route>{};
    for (const auto* path : {"/health", "/users/{id}", "/api/*", "/*"})
        routes.emplace_back(path);
    const auto table = http::route_table{std::move(routes)};
    for (const auto* target : {"/health", "/users/a-name-of-more-than-fifteen-bytes?q=1", "/api",
                               "/api/a/b/c/d?x=%20", "/"})
        BOOST_TEST(allocations_of([&] { BOOST_REQUIRE(table.find("GET", target)); }) == 0, target);

    const auto fields = message{"a key of more than fifteen bytes"};
    const auto t = http::key_template{"ip+route+method+user|header:X-Api-Key+query:account+tag:t"};
    const auto context = http::key_context{.client = boost::asio::ip::make_address("192.0.2.1"),
                                           .route = "/users/{id}"};
    const auto make = [&](std::string_view target) {
        return allocations_of([&] {
            BOOST_REQUIRE(
                !std::string_view{t.key_of(request_with(fields, target), context)}.empty());
        });
    };
    BOOST_TEST(make("/users/1?account=an-account-of-more-than-fifteen-bytes&b=%20") == 0);
    BOOST_TEST(make("/users/1?account=with%20characters%20that%20are%20escaped") > 0);
}

BOOST_AUTO_TEST_SUITE_END()
