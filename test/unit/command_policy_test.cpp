// SPDX-License-Identifier: BSL-1.0
//
// The policy that shares the keys of COLIMIT.ALLOW and CL.THROTTLE: which rules it may have, and
// the names of its keys.

#include <colimit/policy.hpp>
#include <core/call_fault.hpp>
#include <support/fake_operation.hpp>
#include <support/refusal.hpp>
#include <support/script_queue_bench.hpp>
#include <support/unit_test.hpp>

#include <array>
#include <chrono>
#include <string>

BOOST_AUTO_TEST_SUITE(command_policy)

namespace {

using namespace std::chrono_literals;
using namespace colimit;

const auto shared = policy{"CL.THROTTLE", cell(4, 1, 1s)};

[[nodiscard]] std::string reason_against(auto make) {
    return test::refusal(errc::invalid_policy, make);
}

} // namespace

BOOST_AUTO_TEST_CASE(its_only_rule_is_a_bucket_named_cell) {
    constexpr auto rule_reason =
        "policy 'CL.THROTTLE': shares the states of commands, so its only rule must be a bucket "
        "named 'cell', without stepwise, aligned, initially and prevent_duplicate";
    for (const auto& r :
         {cell(4, 1, 1s).stepwise(), cell(4, 1, 1s).aligned(), cell(4, 1, 1s).initially(2),
          gcra(5, 1s), fixed_window(5, 1s).named("cell"), sliding_log(5, 1s).named("cell")})
        BOOST_TEST(reason_against([&] { return policy{"CL.THROTTLE", r}; }) == rule_reason);
    BOOST_TEST(reason_against([] { return policy{"CL.THROTTLE", cell(4, 1, 1s), gcra(5, 1s)}; }) ==
               rule_reason);
    BOOST_TEST(reason_against([] { return shared.prevent_duplicate(1s); }) == rule_reason);
    (void)policy{"CL.THROTTLE", gcra(5, 1s).burst(9).named("cell")};
    (void)shared.shadow();
    (void)policy{"cl.throttle", gcra(5, 1s)}; // another name
}

BOOST_AUTO_TEST_CASE(its_keys_have_no_prefix_and_no_shards) {
    constexpr auto key_reason = "policy 'CL.THROTTLE': shares the keys of commands, so it has no "
                                "prefix and no storage::shared_hash";
    BOOST_TEST(reason_against([] { return shared.with_prefix("mine"); }) == key_reason);
    BOOST_TEST(reason_against([] { return shared.with_storage(storage::shared_hash); }) ==
               key_reason);
}

BOOST_AUTO_TEST_CASE(a_key_of_any_length_is_sent_as_it_is) {
    auto bench = test::script_queue_bench{};
    const auto longest = std::string(limits::max_key_bytes, 'x');
    test::fake_operation ops[4];
    BOOST_TEST(!bench.submit(ops[0], "user:1", shared));
    BOOST_TEST(!bench.submit(ops[1], "", shared));
    BOOST_TEST(!bench.submit(ops[2], longest, shared));
    BOOST_TEST(!bench.submit(ops[3], "user:1", shared));
    const auto calls = bench.write_calls();
    BOOST_TEST_REQUIRE(calls.size() == 1U);
    BOOST_TEST_REQUIRE(calls[0].keys.size() == 3U);
    BOOST_TEST(calls[0].keys[0] == "user:1");
    BOOST_TEST(calls[0].keys[1].empty());
    BOOST_TEST((calls[0].keys[2] == longest));
}

BOOST_AUTO_TEST_CASE(a_cluster_has_no_keys_for_it) {
    auto bench = test::script_queue_bench{{.prefix = "t", .is_cluster = true}};
    test::fake_operation op;
    const auto refused = detail::error_of(detail::fault::bare_keys);
    BOOST_TEST((bench.submit(op, "user:1", shared) == refused));
    BOOST_TEST(
        refused.message() ==
        "policy: CL.THROTTLE has keys in any hash slot of a cluster (expected another policy, "
        "or the commands COLIMIT.ALLOW and CL.THROTTLE)");
    auto checks = std::array{check_item{"a", policy{"p", gcra(5, 1s)}}, check_item{"a", shared}};
    op.checks = checks;
    BOOST_TEST((bench.queue.submit_checks(op) == refused));
}

/// Nor for calls that waited before the server said that it is a node of one.
BOOST_AUTO_TEST_CASE(calls_that_waited_for_a_connection_end_if_it_is_to_a_cluster) {
    auto bench = test::script_queue_bench{};
    test::fake_operation call;
    test::fake_operation joint;
    test::fake_operation other;
    BOOST_TEST(!bench.submit(call, "user:1", shared));
    const auto plain = policy{"p", gcra(5, 1s)};
    auto checks = std::array{check_item{"a", plain}, check_item{"a", shared}};
    joint.checks = checks;
    BOOST_TEST(!bench.queue.submit_checks(joint));
    BOOST_TEST(!bench.submit(other, "a", plain));
    bench.queue.begin_connection({.is_cluster = true, .origin = {}});
    const auto refused = detail::error_of(detail::fault::bare_keys);
    BOOST_TEST(call.ended(refused));
    BOOST_TEST(joint.ended(refused));
    BOOST_TEST(bench.write_calls().size() == 1U);
    BOOST_TEST(other.is_held);
}

BOOST_AUTO_TEST_SUITE_END()
