// SPDX-License-Identifier: BSL-1.0
//
// The holders of slots on a real server where the differential does not go: over `maxmemory`, in
// keys of other types, and in sorted sets of other programs.

#include <redis/script/script_batch.hpp>
#include <support/fake_operation.hpp>
#include <support/function_library.hpp>
#include <support/raw_client.hpp>
#include <support/redis_server.hpp>
#include <support/unit_test.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(holders)

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;
using core::verb;

constexpr std::string_view a = "holder is  a";
constexpr std::string_view b = "holder is  b";

/// The holders of one key on a server, with the script or the function.
class server_key {
  public:
    explicit server_key(const policy& p, bool by_function = false)
        : policy_(detail::access::data(p)), by_function_(by_function) {
        if (by_function_)
            load_function_library(look);
        look.must({"SCRIPT", "LOAD", redis::check_script.body});
    }

    struct wanted {
        core::verb verb;
        std::string_view holder;
    };

    std::unique_ptr<fake_operation> make(verb v, std::string_view holder = a) {
        auto ops = make_all({{v, holder}});
        return std::move(ops.front());
    }

    /// Makes calls in one batch.
    std::vector<std::unique_ptr<fake_operation>> make_all(const std::vector<wanted>& calls,
                                                          std::int64_t now = detail::store_clock) {
        auto ops = std::vector<std::unique_ptr<fake_operation>>{};
        auto batch = redis::script_batch{8};
        batch.start(policy_, now, 1);
        for (const auto& c : calls) {
            const auto cost = std::int64_t{c.verb == verb::acquire ? 1 : 0};
            ops.push_back(
                std::make_unique<fake_operation>(detail::call_request{.verb = c.verb,
                                                                      .cost = cost,
                                                                      .at_least = cost,
                                                                      .member = c.holder,
                                                                      .has_member = true}));
            batch.add(*ops.back(), "colimit", "key");
        }
        auto bytes = std::string{};
        batch.encode(bytes, "0", form_);
        look.send(bytes);
        look.receive([&](const redis::resp::decoder& d, std::string_view reply) {
            if (d.first().kind == redis::resp::kind::error &&
                d.text(d.first(), reply).starts_with("OOM ") && by_function_)
                return void(form_ = redis::second_form(form_));
            if (!batch.read_reply(d, reply))
                throw std::runtime_error{"the reply is not one to this batch"};
            form_ = first_form();
        });
        if (form_ != first_form())
            return make_all(calls, now);
        batch.release([](detail::operation& one) { one.is_held = false; });
        return ops;
    }

    /// Returns the name of the set, which exists.
    [[nodiscard]] std::string set() {
        for (const auto& key : look.keys())
            if (key.find(":sk:") != std::string::npos)
                return key;
        throw std::runtime_error{"there are no holders"};
    }

    redis_server server;
    raw_client look = server.connect();

  private:
    [[nodiscard]] redis::script_command first_form() const {
        return by_function_ ? redis::script_command::fcall : redis::script_command::evalsha;
    }

    detail::policy_pointer policy_;
    bool by_function_;
    redis::script_command form_ = first_form();
};

const auto places = policy{"p", concurrent(2).lease(1h)};

} // namespace

BOOST_DATA_TEST_CASE(on_a_full_server_slots_are_kept_and_given_back_but_not_taken,
                     boost::unit_test::data::make({false, true}), by_function) {
    auto k = server_key{places, by_function};
    BOOST_TEST(k.make(verb::acquire)->is_allowed());
    // As if the clock had been set back: the end of the lease is moved.
    const auto later = std::to_string(k.look.time() + 7'200'000'000);
    k.look.must({"ZADD", k.set(), later, a});
    k.look.must({"CONFIG", "SET", "maxmemory", "1"});
    BOOST_TEST((k.make(verb::acquire, b)->ec == errc::server_error));
    BOOST_TEST(k.look.must({"ZCARD", k.set()}).integer == 2);
    BOOST_TEST(k.make(verb::renew)->is_allowed());
    BOOST_TEST(k.make(verb::renew)->is_allowed());
    const auto end = std::stoll(k.look.must({"ZSCORE", k.set(), a}).text);
    BOOST_TEST(end <= k.look.time() + 3'600'000'000);
    BOOST_TEST(k.make(verb::release)->is_allowed());
    BOOST_TEST(!k.make(verb::renew)->is_allowed());
    BOOST_TEST(k.make(verb::reset)->is_allowed());
}

BOOST_DATA_TEST_CASE(without_memory_an_acquire_fails_alone,
                     boost::unit_test::data::make({false, true}), by_function) {
    for (const auto shadow : {false, true}) {
        const auto rule = concurrent(2).lease(1h);
        auto k = server_key{policy{"p", shadow ? rule.shadow() : rule}, by_function};
        BOOST_TEST(k.make(verb::acquire)->is_allowed());
        k.look.must({"CONFIG", "SET", "maxmemory", "1"});
        const auto ops = k.make_all({{verb::renew, a},
                                     {verb::acquire, b},
                                     {verb::renew, a},
                                     {verb::release, a},
                                     {verb::acquire, b},
                                     {verb::peek, b}});
        for (const auto i : {0U, 2U, 3U, 5U})
            BOOST_TEST(ops.at(i)->is_allowed(), i);
        for (const auto i : {1U, 4U}) {
            BOOST_TEST((ops.at(i)->ec == errc::server_error), i);
            BOOST_TEST(ops.at(i)->fencing_token == 0U);
        }
        BOOST_TEST(ops.back()->result.rules[0].balance == 2);
        BOOST_TEST(k.look.must({"ZRANGE", k.set(), "0", "-1"}).elements.size() == 1U); // the token
    }
}

BOOST_AUTO_TEST_CASE(a_full_server_denies_what_the_limit_denies) {
    auto k = server_key{policy{"p", concurrent(1).lease(1h)}};
    BOOST_TEST(k.make(verb::acquire)->is_allowed());
    k.look.must({"CONFIG", "SET", "maxmemory", "1"});
    const auto denied = k.make(verb::acquire, b);
    BOOST_TEST(denied->ended({}));
    BOOST_TEST(!denied->result.allowed());
}

/// Also calls that write although they are denied.
BOOST_DATA_TEST_CASE(without_memory_an_acquire_over_the_limit_harms_no_other_call,
                     boost::unit_test::data::make({false, true}), by_function) {
    const auto one = concurrent(1).lease(1h);
    for (const auto& p :
         {policy{"p", one, sliding_log(5, 1h).count_denied()},
          policy{"p", sliding_log(5, 1h).count_denied(), one},
          policy{"p", one.shadow(), sliding_log(5, 1h)}, policy{"p", one.shadow(), gcra(5, 24h)},
          policy{"p", one, gcra(5, 24h)}}) {
        auto k = server_key{p, by_function};
        BOOST_TEST(k.make(verb::acquire)->is_allowed());
        BOOST_TEST(k.make(verb::acquire, b)->ended({}));
        const auto before = k.look.must({"ZCARD", k.set()}).integer;
        k.look.must({"CONFIG", "SET", "maxmemory", "1"});
        constexpr std::string_view c = "holder is  c";
        const auto ops = k.make_all({{verb::acquire, c}, {verb::renew, a}, {verb::acquire, c}});
        BOOST_TEST(!ops.at(0)->is_allowed());
        BOOST_TEST(ops.at(1)->is_allowed());
        BOOST_TEST(!ops.at(2)->is_allowed());
        BOOST_TEST(k.look.must({"ZCARD", k.set()}).integer == before);
        // A clock that was set back, so that even a denial replaces the state.
        auto earlier = k.make_all({{verb::acquire, c}, {verb::renew, a}}, k.look.time() - 2'000);
        BOOST_TEST(!earlier.at(0)->is_allowed());
        BOOST_TEST(earlier.at(1)->is_allowed());
        BOOST_TEST(k.look.must({"ZCARD", k.set()}).integer == before);
    }
}

BOOST_AUTO_TEST_CASE(a_set_ends_after_the_last_lease) {
    auto k = server_key{places};
    for (const auto v : {verb::acquire, verb::renew}) {
        const auto before = k.look.time();
        BOOST_TEST(k.make(v)->is_allowed());
        const auto after = k.look.time();
        const auto end = k.look.must({"PEXPIRETIME", k.set()}).integer * 1'000;
        BOOST_TEST(end >= before + 3'600'000'000);
        BOOST_TEST(end <= after + 3'600'000'000 + 1'001'000);
        k.look.must({"PEXPIRE", k.set(), "60000"});
    }
}

BOOST_AUTO_TEST_CASE(a_key_of_another_type_is_an_error_of_this_key) {
    for (const auto v : {verb::acquire, verb::renew, verb::release, verb::peek, verb::block}) {
        auto k = server_key{places};
        BOOST_TEST(k.make(verb::acquire)->is_allowed());
        const auto set = k.set();
        k.look.must({"SET", set, "a string"});
        BOOST_TEST((k.make(v)->ec == errc::key_conflict));
        BOOST_TEST((k.look.get(set) == "a string"));
    }
}

BOOST_AUTO_TEST_CASE(a_sorted_set_of_another_program_has_holders_for_one_lease) {
    for (const auto* score : {"inf", "9007199254740993", "1e300"})
        for (const auto v : {verb::acquire, verb::renew, verb::release, verb::peek}) {
            auto k = server_key{places};
            BOOST_TEST(k.make(verb::acquire)->is_allowed());
            const auto set = k.set();
            k.look.must({"ZADD", set, score, "x", "-inf", "y", "0.5", "z", "-3", ""});
            k.look.must({"ZADD", set, score, a});
            const auto op = k.make(v);
            BOOST_TEST(op->ended({}), op->ec.message());
            BOOST_TEST((v == verb::peek ? !op->result.allowed() : op->result.allowed()));
        }
}

BOOST_AUTO_TEST_CASE(tokens_continue_after_one_from_the_future) {
    auto k = server_key{places};
    BOOST_TEST(k.make(verb::acquire)->is_allowed());
    k.look.must({"ZADD", k.set(), "-4503599627370496", ""});
    BOOST_TEST(k.make(verb::acquire)->fencing_token == 4'503'599'627'370'497U);
    k.look.must({"ZADD", k.set(), "-inf", ""});
    BOOST_TEST(k.make(verb::acquire)->fencing_token == std::uint64_t{limits::max_exact_integer});
    BOOST_TEST(k.make(verb::reset)->is_allowed());
    const auto before = static_cast<std::uint64_t>(k.look.time());
    BOOST_TEST(k.make(verb::acquire)->fencing_token >= before);
}

BOOST_AUTO_TEST_SUITE_END()
