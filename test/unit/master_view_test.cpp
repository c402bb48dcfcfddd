// SPDX-License-Identifier: BSL-1.0
//
// Which of several Sentinels is believed.

#include <redis/sentinel/master_view.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

BOOST_AUTO_TEST_SUITE(master_views)

namespace {

using colimit::redis::host_port;
using colimit::redis::master_statement;
using colimit::redis::master_view;

[[nodiscard]] host_port server(int number) {
    return {"127.0.0.1", static_cast<std::uint16_t>(7'000 + number)};
}

[[nodiscard]] master_statement names(int number, int epoch) {
    return {.master = server(number), .epoch = static_cast<std::uint64_t>(epoch)};
}

} // namespace

BOOST_AUTO_TEST_CASE(the_first_sentinel_is_believed_until_one_knows_a_later_failover) {
    constexpr std::int64_t now = 0;
    auto view = master_view{3};
    BOOST_TEST(!view.master());
    view.note_statement(0, names(1, 4), now);
    BOOST_TEST((view.master() == server(1)));
    view.note_statement(1, names(1, 4), now);
    view.note_statement(2, names(2, 5), now);
    BOOST_TEST((view.master() == server(2)));
    view.note_statement(0, names(1, 4), now); // which is late
    BOOST_TEST((view.master() == server(2)));
}

BOOST_AUTO_TEST_CASE(a_sentinel_that_was_cut_off_is_not_believed_when_the_others_are_lost) {
    constexpr std::int64_t now = 0;
    auto view = master_view{3};
    view.note_statement(0, names(2, 5), now);
    view.note_statement(1, names(2, 5), now);
    view.lose(0);
    view.lose(1);
    view.note_statement(2, names(1, 4), now);
    BOOST_TEST((view.master() == server(2)));
}

BOOST_AUTO_TEST_CASE(epochs_that_begin_again_are_believed_if_most_sentinels_insist_on_them) {
    for (const auto third_is_connected : {false, true}) {
        auto view = master_view{3};
        auto now = std::int64_t{1'000'000};
        for (std::size_t i = 0; i < 3; ++i)
            view.note_statement(i, names(1, 9), now);
        if (!third_is_connected)
            view.lose(2); // it still has the old one
        view.note_statement(0, names(3, 0), now);
        now += 10 * master_view::insistence;
        view.note_statement(0, names(3, 0), now);
        view.note_statement(1, names(3, 0), now);
        now += master_view::insistence - 1;
        for (auto n = 0; n < 100; ++n) // it may be asked often
            view.note_statement(1, names(3, 0), now);
        BOOST_TEST((view.master() == server(1)));
        view.note_statement(0, names(3, 0), now);
        view.note_statement(1, names(3, 0), ++now);
        BOOST_TEST((view.master() == server(3)));
        view.note_statement(2, names(1, 9), now); // one that was forgotten
        BOOST_TEST((view.master() == server(3)));
        view.note_statement(0, names(4, 1), now); // and count on from there
        BOOST_TEST((view.master() == server(4)));
        view.note_statement(2, names(1, 9), now);
        BOOST_TEST((view.master() == server(4)));
        view.note_statement(0, names(1, 9), now); // most of them have it again
        BOOST_TEST((view.master() == server(1)));
    }
}

BOOST_AUTO_TEST_CASE(half_of_the_sentinels_are_not_most) {
    auto view = master_view{2};
    auto now = std::int64_t{0};
    for (const auto i : {0U, 1U})
        view.note_statement(i, names(1, 9), now);
    view.note_statement(0, names(2, 0), now);
    now += master_view::insistence;
    view.note_statement(0, names(2, 0), now);
    BOOST_TEST((view.master() == server(1)));
}

BOOST_AUTO_TEST_CASE(after_a_failover_those_who_insisted_have_as_much_time_again) {
    auto view = master_view{3};
    view.note_statement(2, names(1, 9), 0);
    const auto both_name_the_first_at = [&](std::int64_t now) {
        view.note_statement(0, names(2, 3), now);
        view.note_statement(1, names(2, 3), now);
    };
    both_name_the_first_at(0);
    view.note_statement(2, names(3, 10), master_view::insistence - 1);
    both_name_the_first_at(master_view::insistence);
    BOOST_TEST((view.master() == server(3)));
    both_name_the_first_at(2 * master_view::insistence);
    BOOST_TEST((view.master() == server(2)));
}

/// It says something else in between, so it may be late.
BOOST_AUTO_TEST_CASE(a_sentinel_that_changes_its_mind_does_not_insist) {
    auto view = master_view{1};
    auto now = std::int64_t{0};
    view.note_statement(0, names(1, 9), now);
    for (auto i = 0; i < 10; ++i) {
        now += master_view::insistence - 1;
        view.note_statement(0, names(2 + i % 2, 3), now);
        BOOST_TEST((view.master() == server(1)));
    }
}

BOOST_AUTO_TEST_CASE(of_one_epoch_most_sentinels_decide) {
    constexpr std::int64_t now = 0;
    auto view = master_view{3};
    view.note_statement(1, names(1, 0), now);
    for (const auto other : {0U, 2U}) { // one against one: the first stays
        view.note_statement(other, names(2, 0), now);
        BOOST_TEST((view.master() == server(1)));
        view.lose(other);
    }
    view.note_statement(0, names(2, 0), now);
    view.note_statement(2, names(2, 0), now);
    BOOST_TEST((view.master() == server(2)));
}

BOOST_AUTO_TEST_CASE(a_sentinel_that_knows_no_master_changes_nothing) {
    constexpr std::int64_t now = 0;
    auto view = master_view{2};
    view.note_statement(0, {}, now);
    BOOST_TEST(view.knows_no_master(0));
    BOOST_TEST(!view.knows_no_master(1));
    BOOST_TEST(!view.master());
    view.note_statement(1, names(1, 1), now);
    view.note_statement(1, {}, now);
    BOOST_TEST((view.master() == server(1)));
    view.lose(0);
    BOOST_TEST(!view.knows_no_master(0));
    auto without_epochs = master_view{3};
    without_epochs.note_statement(0, names(1, 0), now);
    without_epochs.note_statement(1, {}, now);
    without_epochs.note_statement(2, {}, now);
    BOOST_TEST((without_epochs.master() == server(1)));
}

/// Sentinels hear of failovers late, in any order, and come and go. No earlier master is believed
/// once the latest has been named, if none of them is late for longer than Sentinels are.
BOOST_AUTO_TEST_CASE(no_earlier_master_comes_back) {
    auto random = std::mt19937{20'251};
    const auto below = [&](int n) { return std::uniform_int_distribution{0, n - 1}(random); };
    for (auto round = 0; round < 1'000; ++round) {
        const auto count = static_cast<std::size_t>(3 + 2 * below(2));
        auto view = master_view{count};
        auto known = std::vector<int>(count);
        auto late = std::vector<std::int64_t>(count); // since when
        auto epoch = 0;
        auto latest = -1;
        auto now = std::int64_t{0};
        for (auto step = 0; step < 100; ++step) {
            const auto i = static_cast<std::size_t>(below(static_cast<int>(count)));
            const auto kind = below(10);
            now += below(1'000'000);
            if (kind == 0) {
                known[i] = ++epoch; // a failover, of which this one hears first
                for (std::size_t j = 0; j < count; ++j)
                    late[j] = known[j] == epoch - 1 ? now : late[j];
            } else if (kind == 1) {
                view.lose(i);
            } else if (kind == 2 ||
                       (known[i] < epoch && now - late[i] >= master_view::insistence)) {
                known[i] = epoch;
            } else {
                latest = std::max(latest, known[i]);
                view.note_statement(i, names(known[i], known[i]), now);
                BOOST_TEST((view.master() == server(latest)));
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
