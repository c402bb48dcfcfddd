// SPDX-License-Identifier: BSL-1.0
//
// What the checker of calls with request ids notices.

#include <oracle/request_checker.hpp>
#include <support/unit_test.hpp>

#include <cstdint>
#include <vector>

BOOST_AUTO_TEST_SUITE(oracle_requests)

namespace {

using namespace colimit::oracle;

struct calls {
    calls& grant(std::uint32_t id, std::uint64_t answer, std::int64_t time = 1'000) {
        return add(id, verdict::granted, answer, time);
    }
    calls& add(std::uint32_t id, verdict v, std::uint64_t answer = 0, std::int64_t time = 1'000) {
        auto r = record{.time = time, .verdict = v, .cost = 40};
        r.granted = v == verdict::granted ? r.cost : 0;
        all.push_back({.what = r, .answer = answer, .id = id});
        return *this;
    }
    /// @param executed what the server has counted
    [[nodiscard]] request_judgement judged(std::int64_t executed) const {
        auto counted = totals{};
        counted[0][0] = executed;
        return judge(all, counted);
    }

    std::vector<sent_request> all = {};
};

void check(const request_judgement& j, std::int64_t different, std::int64_t over_admitted,
           std::int64_t double_counted) {
    BOOST_TEST(j.different == different);
    BOOST_TEST(j.ids.over_admitted == over_admitted);
    BOOST_TEST(j.ids.double_counted == double_counted);
}

} // namespace

BOOST_AUTO_TEST_CASE(an_id_counts_once) {
    auto c = calls{};
    c.grant(1, 7).grant(1, 7).grant(2, 8).grant(1, 7);
    check(c.judged(80), 0, 0, 0);
    check(c.judged(120), 0, 0, 40);
    check(c.judged(40), 0, 40, 0);
    const auto j = c.judged(80);
    BOOST_TEST(j.sent == 4);
    BOOST_TEST(j.answered == 4);
    BOOST_TEST(j.ids.checks == 2);
    BOOST_TEST(j.ids.granted == 2);
}

BOOST_AUTO_TEST_CASE(answers_that_differ_are_found_wherever_they_are) {
    check(calls{}.grant(1, 7).grant(1, 7).grant(1, 8).judged(40), 1, 0, 0);
    check(calls{}.grant(1, 7).add(1, verdict::refused, 9).judged(40), 1, 0, 0);
    check(calls{}.add(1, verdict::unknown, 3).grant(1, 7).add(1, verdict::failed, 4).judged(40), 0,
          0, 0);
}

BOOST_AUTO_TEST_CASE(an_id_without_an_answer_may_have_been_charged) {
    const auto c = calls{}.add(1, verdict::failed).add(1, verdict::unknown);
    check(c.judged(0), 0, 0, 0);
    check(c.judged(40), 0, 0, 0);
    check(c.judged(80), 0, 0, 40);
    check(calls{}.add(1, verdict::failed).judged(40), 0, 0, 40);
}

BOOST_AUTO_TEST_CASE(ids_together_have_their_limit) {
    auto c = calls{};
    c.grant(1, 7, 1'000).grant(2, 8, 2'000).grant(3, 9, 3'000).grant(3, 9, 3'000);
    check(c.judged(120), 0, 20, 0);
}

BOOST_AUTO_TEST_SUITE_END()
