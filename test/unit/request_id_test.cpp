// SPDX-License-Identifier: BSL-1.0
//
// Calls whose id is not valid, or that take none, end with the reason.

#include <colimit/limiter.hpp>
#include <colimit/local_limiter.hpp>
#include <core/call_fault.hpp>
#include <policy/policy_data.hpp>
#include <redis/multi/transaction.hpp>
#include <support/coroutine_run.hpp>
#include <support/refusal.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/as_tuple.hpp>

#include <array>
#include <chrono>
#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(request_ids)

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;

namespace {

const auto bucket = policy{"bucket", gcra(5, 1s)};
const auto members = policy{"members", distinct(5, 1h)};
const auto longest = std::string(256, 'i');
const auto too_long = std::string(257, 'i');

/// Checks that a call ends with this message, in process with a limiter and a local one.
template<class Call>
void check(Call call, const std::string& message) {
    auto context = asio::io_context{1};
    auto l = limiter{context.get_executor(), "memory:"};
    test::run(context, [&]() -> asio::awaitable<void> {
        const auto [ec, d] = co_await call(l, asio::as_tuple(asio::use_awaitable));
        BOOST_TEST((ec == errc::invalid_argument), ec.message());
        BOOST_TEST(ec.message() == message);
    });
}

} // namespace

BOOST_AUTO_TEST_CASE(an_id_has_1_to_256_bytes) {
    const auto refused = [](std::size_t size) {
        return "request: wrong length (got " + std::to_string(size) + ", expected 1 to 256 bytes)";
    };
    auto local = local_limiter{};
    for (const auto& id : {std::string{}, too_long}) {
        check([&](limiter& l, auto token) { return l.allow("k", bucket, {.request = id}, token); },
              "request: wrong length (expected 1 to 256 bytes)");
        check([&](limiter& l, auto token) { return l.charge("k", bucket, {.request = id}, token); },
              "request: wrong length (expected 1 to 256 bytes)");
        check([&](limiter& l, auto token) { return l.refund("k", bucket, {.request = id}, token); },
              "request: wrong length (expected 1 to 256 bytes)");
        BOOST_TEST(test::refusal(errc::invalid_argument, [&] {
                       return local.allow("k", bucket, {.request = id});
                   }) == refused(id.size()));
    }
    BOOST_TEST(local.allow("k", bucket, {.request = longest}).allowed());
    BOOST_TEST(local.allow("k", bucket, {.request = std::string_view{"\0", 1}}).allowed());
}

BOOST_AUTO_TEST_CASE(some_verbs_take_no_id) {
    auto local = local_limiter{};
    const auto peek_refused = "request: this verb takes no id (expected allow, charge or refund)";
    check([](limiter& l, auto token) { return l.peek("k", bucket, {.request = "id"}, token); },
          peek_refused);
    BOOST_TEST(test::refusal(errc::invalid_argument, [&] {
                   return local.peek("k", bucket, {.request = "id"});
               }) == peek_refused);

    const auto names = std::array{std::string_view{"a"}};
    const auto members_refused = "request: charge_members takes no id (expected a charge with its "
                                 "own id for each member)";
    check(
        [&](limiter& l, auto token) {
            return l.charge_members("k", members, names, {.request = "id"}, token);
        },
        members_refused);
    check([&](limiter& l,
              auto token) { return l.charge_members("k", members, {}, {.request = "id"}, token); },
          members_refused);
    BOOST_TEST(test::refusal(errc::invalid_argument, [&] {
                   return local.charge_members("k", members, names, {.request = "id"});
               }) == members_refused);

    auto checks = std::array{check_item{"a", bucket, {}, {}, {}},
                             check_item{"b", bucket, {.request = "id"}, {}, {}}};
    check([&](limiter& l, auto token) { return l.allow_all(checks, token); },
          "request: a check of allow_all takes no id (expected allow_many, or checks without an "
          "id)");
    BOOST_TEST((!checks[0].ec && checks[1].ec == errc::invalid_argument));
}

BOOST_AUTO_TEST_CASE(each_check_of_allow_many_is_refused_on_its_own) {
    auto context = asio::io_context{1};
    auto l = limiter{context.get_executor(), "memory:"};
    auto checks = std::array{check_item{"a", bucket, {.request = "id"}, {}, {}},
                             check_item{"b", bucket, {.request = ""}, {}, {}}};
    test::run(context, [&]() -> asio::awaitable<void> {
        co_await l.allow_many(checks, asio::use_awaitable);
    });
    BOOST_TEST((!checks[0].ec && checks[1].ec == errc::invalid_argument));
    BOOST_TEST(checks[1].ec.message() == "request: wrong length (expected 1 to 256 bytes)");
}

BOOST_AUTO_TEST_CASE(transactions_take_no_id) {
    const auto log = policy{"p", sliding_log(5, 1s)};
    const auto request = detail::make_request(detail::verb::allow, check_options{.request = "id"});
    const auto ec = redis::error_of_transaction(*detail::access::data(log), request);
    BOOST_TEST((ec == errc::invalid_argument));
    BOOST_TEST(ec.message() == "execution_mode::multi: a call with an id needs a script (expected "
                               "a call without an id)");
}

BOOST_AUTO_TEST_CASE(the_keys_of_commands_have_no_records) {
    const auto commands = policy{"CL.THROTTLE", cell(5, 1, 1s).named("cell")};
    auto local = local_limiter{};
    BOOST_TEST(test::refusal(errc::invalid_argument,
                             [&] { return local.allow("k", commands, {.request = "id"}); }) ==
               "request: calls under the policy CL.THROTTLE are not remembered (expected "
               "another policy)");
}

BOOST_AUTO_TEST_SUITE_END()
