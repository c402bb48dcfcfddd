// SPDX-License-Identifier: BSL-1.0
//
// Records of calls with ids: their bytes, what is refused, and which calls are the same.

#include <base/bytes.hpp>
#include <colimit/policy.hpp>
#include <core/request_record.hpp>
#include <core/verb_traits.hpp>
#include <policy/request_digest.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(request_records)

using namespace colimit;
using core::call_digests;
using core::request_record;
using detail::fault;

namespace {

[[nodiscard]] std::string bytes_of(const request_record& r) {
    auto out = std::string{};
    core::append_record(out, r);
    return out;
}

const auto facts = std::string(32, 'f');

const auto usual = request_record{.verb = detail::verb::charge,
                                  .cost = 3,
                                  .at_least = 2,
                                  .digests = {.policy = 5, .member = 6},
                                  .now = 1'700'000'000'000'000,
                                  .value = "value",
                                  .facts = facts};

} // namespace

BOOST_AUTO_TEST_CASE(a_record_round_trips) {
    const auto bytes = bytes_of(usual);
    BOOST_TEST(bytes.size() == core::record_head_bytes + 32 + 5);
    const auto read = core::decode_record(bytes, 5, 32);
    BOOST_REQUIRE(read.has_value());
    BOOST_TEST((read->verb == detail::verb::charge));
    BOOST_TEST(read->cost == 3);
    BOOST_TEST(read->at_least == 2);
    BOOST_TEST((read->digests == usual.digests));
    BOOST_TEST(read->now == usual.now);
    BOOST_TEST(read->facts == facts);
    BOOST_TEST(read->value.value() == "value");
}

BOOST_AUTO_TEST_CASE(a_record_of_zeros_round_trips) {
    const auto zeros =
        request_record{.verb = detail::verb::allow, .digests = {.policy = 5}, .now = 0};
    const auto read = core::decode_record(bytes_of(zeros), 5, 0);
    BOOST_REQUIRE(read.has_value());
    BOOST_TEST(read->cost == 0);
    BOOST_TEST(read->at_least == 0);
    BOOST_TEST(read->now == 0);
    BOOST_TEST(!read->value.has_value());
    BOOST_TEST(read->facts.empty());
}

BOOST_AUTO_TEST_CASE(a_missing_value_is_not_an_empty_one) {
    auto r = usual;
    r.value = "";
    BOOST_TEST(core::decode_record(bytes_of(r), 5, 32)->value.has_value());
    r.value.reset();
    BOOST_TEST(!core::decode_record(bytes_of(r), 5, 32)->value.has_value());
}

BOOST_AUTO_TEST_CASE(the_record_of_another_version_has_no_facts) {
    const auto read = core::decode_record(bytes_of(usual), 4, 64);
    BOOST_REQUIRE(read.has_value());
    BOOST_TEST(read->digests.policy == 5);
    BOOST_TEST(read->facts.empty());
    BOOST_TEST(!read->value.has_value());
}

BOOST_AUTO_TEST_CASE(other_bytes_are_not_a_record) {
    const auto is_record = [](std::string_view bytes) {
        return core::decode_record(bytes, 5, 32).has_value();
    };
    const auto bytes = bytes_of(usual);
    BOOST_TEST(is_record(bytes));
    BOOST_TEST(!is_record(""));
    BOOST_TEST(!is_record(bytes.substr(0, core::record_head_bytes - 1)));
    BOOST_TEST(!is_record(bytes.substr(0, core::record_head_bytes + 31)));
    BOOST_TEST(!is_record(std::string{bytes}.append(core::max_record_bytes, 'x')));
    const auto with = [&](std::size_t at, const std::string& other) {
        auto changed = bytes;
        return changed.replace(at, other.size(), other);
    };
    const auto number = [](double value) {
        auto out = std::string{};
        detail::append_number(out, value);
        return out;
    };
    BOOST_TEST(!is_record(with(0, "R")));
    BOOST_TEST(!is_record(with(1, "\1"))); // peek
    for (const auto verb : {core::verbs.size(), std::size_t{0xff}})
        BOOST_TEST(!is_record(with(1, std::string(1, static_cast<char>(verb)))));
    BOOST_TEST(!is_record(with(2, "\2")));
    BOOST_TEST(!is_record(with(2, std::string(1, '\0')))); // a value that was not found
    for (const auto at : {3U, 11U, 35U})
        for (const auto value : {-1.0, 0.5, std::numeric_limits<double>::quiet_NaN(),
                                 std::numeric_limits<double>::infinity(), 9007199254740992.0})
            BOOST_TEST(!is_record(with(at, number(value))));
    BOOST_TEST(!is_record(with(11, number(4)))); // at_least above cost
    BOOST_TEST(is_record(with(35, number(4503599627370496.0))));
    BOOST_TEST(!is_record(with(35, number(4503599627370497.0)))); // after 2112
}

BOOST_AUTO_TEST_CASE(a_call_is_the_same_if_all_its_arguments_are) {
    const auto request =
        core::call_request{.verb = detail::verb::charge, .cost = 3, .at_least = 2, .now = 1};
    const auto digests = usual.digests;
    BOOST_TEST((core::difference(usual, request, digests) == fault::none));
    auto other = request;
    other.verb = detail::verb::allow;
    BOOST_TEST((core::difference(usual, other, digests) == fault::other_verb));
    other = request;
    other.cost = 4;
    BOOST_TEST((core::difference(usual, other, digests) == fault::other_cost));
    other = request;
    other.at_least = 3;
    BOOST_TEST((core::difference(usual, other, digests) == fault::other_at_least));
    BOOST_TEST((core::difference(usual, request, call_digests{.policy = 5, .member = 7}) ==
                fault::other_member));
    BOOST_TEST((core::difference(usual, request, call_digests{.policy = 4, .member = 6}) ==
                fault::other_policy));
}

BOOST_AUTO_TEST_CASE(the_name_of_a_record_depends_on_key_and_id_and_on_where_one_ends) {
    using detail::record_digest;
    BOOST_TEST((record_digest("key", "id") == record_digest("key", "id")));
    BOOST_TEST((record_digest("key", "id") != record_digest("key", "ie")));
    BOOST_TEST((record_digest("key", "id") != record_digest("kez", "id")));
    BOOST_TEST((record_digest("key", "id") != record_digest("keyi", "d")));
    // Written down because processes of all versions must agree.
    const auto hex = detail::hex_of(record_digest("key", "id"));
    BOOST_TEST(std::string(hex.begin(), hex.end()) == "8f8107129bc6e4344f930d5f637e407a");
}

BOOST_AUTO_TEST_CASE(a_member_has_a_digest_if_the_policy_counts_it) {
    using namespace std::chrono_literals;
    const auto digests = [](const policy& p, std::string_view member) {
        return detail::digests_of(*detail::access::data(p), {.member = member, .has_member = true});
    };
    const auto counts = policy{"p", distinct(5, 1h)};
    const auto ignores = policy{"p", gcra(5, 1h)};
    BOOST_TEST(digests(counts, "a").member == 14608863320967583690U);
    BOOST_TEST(digests(ignores, "a").member == 0U);
    BOOST_TEST((digests(counts, "a") != digests(counts, "b")));
    BOOST_TEST((digests(counts, "a").policy != digests(ignores, "a").policy));
    BOOST_TEST((digests(ignores, "a") == digests(policy{"p", gcra(5, 1h)}, "b")));
    BOOST_TEST((digests(ignores, "a") != digests(policy{"p", gcra(6, 1h)}, "a")));
}

BOOST_AUTO_TEST_SUITE_END()
