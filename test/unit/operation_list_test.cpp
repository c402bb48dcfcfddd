// SPDX-License-Identifier: BSL-1.0
//
// The list of calls: first in, first out, and any of them can be removed.

#include <async/operation_list.hpp>
#include <support/fake_operation.hpp>
#include <support/unit_test.hpp>

#include <array>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(operation_lists)

namespace {

using colimit::detail::operation;
using colimit::detail::operation_list;
using colimit::test::fake_operation;

[[nodiscard]] std::vector<operation*> drain(operation_list& row) {
    auto out = std::vector<operation*>{};
    while (auto* op = row.pop_front())
        out.push_back(op);
    return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(first_in_is_first_out) {
    auto ops = std::array<fake_operation, 3>{};
    auto row = operation_list{};
    BOOST_TEST(row.empty());
    BOOST_TEST(row.pop_front() == nullptr);
    for (auto& op : ops)
        row.push_back(op);
    BOOST_TEST(row.front() == &ops[0]);
    BOOST_TEST((drain(row) == std::vector<operation*>{&ops[0], &ops[1], &ops[2]}));
    BOOST_TEST(row.empty());
}

BOOST_AUTO_TEST_CASE(any_of_them_can_leave_and_come_back) {
    for (std::size_t leaves = 0; leaves < 3; ++leaves) {
        auto ops = std::array<fake_operation, 3>{};
        auto row = operation_list{};
        for (auto& op : ops)
            row.push_back(op);
        row.remove(ops[leaves]);
        auto left = std::vector<operation*>{};
        for (std::size_t i = 0; i < 3; ++i)
            if (i != leaves)
                left.push_back(&ops[i]);
        row.push_back(ops[leaves]);
        left.push_back(&ops[leaves]);
        BOOST_TEST((drain(row) == left));
    }
}

BOOST_AUTO_TEST_CASE(moving_a_row_takes_all_of_it) {
    auto ops = std::array<fake_operation, 2>{};
    auto row = operation_list{};
    for (auto& op : ops)
        row.push_back(op);
    auto other = std::move(row);
    BOOST_TEST(row.empty()); // NOLINT(bugprone-use-after-move): that is the point
    BOOST_TEST(drain(other).size() == 2U);
    row.push_back(ops[0]);
    BOOST_TEST(row.front() == &ops[0]);
}

BOOST_AUTO_TEST_SUITE_END()
