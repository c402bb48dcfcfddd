// SPDX-License-Identifier: BSL-1.0
//
// The positions of the matrix, and its results.

#include <faults/cut_matrix.hpp>
#include <faults/cuts.hpp>
#include <faults/verdict.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

namespace colimit::test {
namespace {

// A trial on a cluster takes several connections, and the handshake with a node is that with a
// server, which is cut at every byte.
constexpr auto cluster_handshake = long_message{.size = 32, .head = 12, .tail = 3, .step = 61};
constexpr auto cluster_call = long_message{.size = 64, .head = 16, .tail = 4, .step = 17};

} // namespace

/// The bytes of the messages from the first one on, and the places behind each.
std::vector<trial> cut_matrix::every_byte(const conversation& c, const cut_range& range,
                                          fault_kind kind) const {
    // Cuts that are noticed need no deadline, nor do most flips: it ends calls without any reply.
    const auto deadline = std::chrono::milliseconds{kind == fault_kind::flip ? 250 : 60};
    auto random = std::mt19937{static_cast<unsigned>(kind)};
    auto row = std::vector<trial>{};
    const auto recorded = record(servers_, c, range.connection);
    const auto& [commands, replies] = recorded;
    BOOST_REQUIRE(commands.size() == replies.size());
    const auto long_one = [&](std::size_t message, std::size_t size) {
        const auto is_early = message < c.connections[range.connection].handshake;
        auto l = !servers_.is_cluster() ? with_script : is_early ? cluster_handshake : cluster_call;
        if (size > with_script.size)
            l.step = with_script.step;
        return l;
    };
    for (const auto w : {way::to_server, way::to_client})
        for (auto m = range.first; m < commands.size(); ++m) {
            const auto size = recorded[static_cast<std::size_t>(w)][m].size();
            for (const auto byte : cuts_of(size, long_one(m, size)))
                row.push_back({.number = 0,
                               .connection = range.connection,
                               .wrong = {.kind = kind,
                                         .way = w,
                                         .message = m,
                                         .byte = byte,
                                         .bit = static_cast<unsigned>(random() % 8)},
                               .deadline = deadline});
        }
    thin_out(row);
    return row;
}

/// No call, however it ended, has left a window's count that stays forever.
void cut_matrix::check_ttls() const {
    for (const auto& node : servers_.nodes) {
        auto look = raw_client{node};
        const auto windows = look.must({"KEYS", "*:w:*"}).elements;
        const auto endless = std::ranges::count_if(
            windows, [&](const reply& name) { return look.pttl(name.text) == -1; });
        BOOST_TEST(endless == 0);
    }
}

void cut_matrix::cut(const conversation& c, const cut_range& range, fault_kind kind) {
    const auto all = every_byte(c, range, kind);
    auto row = all;
    auto found = findings{};
    // Trials that a busy machine disturbed are repeated with longer timeouts, and all of them where
    // each call was too late.
    for (auto round = 0; round < 6 && !row.empty(); ++round) {
        for (auto& t : row) {
            t.number = number_++;
            t.deadline = all.front().deadline * (1 << round);
        }
        run_trials(servers_, c, row, found);
        row = std::exchange(found.missed, {});
        if (found.answered == 0)
            row = all;
    }
    BOOST_TEST_MESSAGE(c.name << ", connection " << range.connection << ", kind "
                              << static_cast<int>(kind) << ": " << all.size() << " trials, calls "
                              << found.calls << ", answered " << found.answered << ", unknown "
                              << found.unknown << ", other codes " << found.refused
                              << ", other numbers " << found.other_numbers);
    for (const auto& t : row)
        BOOST_TEST_MESSAGE("missed: " << describe(c, t));
    expect_none(found.wrong);
    BOOST_TEST(found.unfinished == 0);
    if (kind != fault_kind::flip) // which may change an option of SET
        check_ttls();
    // The matrix is worth something only if the faults come to pass, and matter.
    BOOST_TEST(row.size() == 0U);
    BOOST_TEST(found.answered > 0);
    const auto is_made_again = c.has_ids && (kind == fault_kind::fin || kind == fault_kind::reset);
    if (!c.connections[range.connection].is_for_map && !is_made_again) // else no call is on it
        BOOST_TEST(found.unknown > 0);
}

} // namespace colimit::test
