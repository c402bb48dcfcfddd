// SPDX-License-Identifier: BSL-1.0
//
// The cut matrix: every byte of the recorded conversations, in both directions, x the connection
// ends, is reset, falls silent, trickles, or one bit is another. The script itself, 55 KB that
// SCRIPT LOAD sends, is cut at both ends of it and every 1,499 bytes.

#include <boost/test/unit_test.hpp>

#include <faults/trial.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <random>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(cut_matrix)

namespace {

using namespace colimit;
using test::fault;
using test::fault_kind;
using test::trial;
using test::way;

/// A message longer than this is a script.
constexpr std::size_t long_message = 4096;

/// A nonce or an id of a client may have more digits than the recorded one.
constexpr std::size_t slack = 3;

/// Returns whether a trial of the matrix is at this byte of a message.
[[nodiscard]] bool is_cut_at(std::size_t byte, std::size_t size) {
    constexpr std::size_t edge = 64;
    return size <= long_message || byte < edge || byte + edge / 4 > size || byte % 1'499 == 0;
}

/// Every byte of the messages from `first` on, and the place behind each.
[[nodiscard]] std::vector<trial> every_byte(const test::redis_server& server,
                                            const test::conversation& c, fault_kind kind,
                                            std::size_t first) {
    // Cuts that are noticed need no deadline, nor do most flips: it ends calls without any reply.
    const auto deadline = std::chrono::milliseconds{kind == fault_kind::flip ? 250 : 60};
    auto random = std::mt19937{static_cast<unsigned>(kind)};
    auto row = std::vector<trial>{};
    const auto recorded = test::record(server, c);
    const auto& [commands, replies] = recorded;
    BOOST_REQUIRE(commands.size() == replies.size());
    for (const auto w : {way::to_server, way::to_client})
        for (auto m = first; m < commands.size(); ++m) {
            const auto size = recorded[static_cast<std::size_t>(w)][m].size();
            for (std::size_t byte = 0; byte <= size + slack; ++byte)
                if (is_cut_at(byte, size))
                    row.push_back({.number = 0,
                                   .wrong = {.kind = kind,
                                             .way = w,
                                             .message = m,
                                             .byte = byte,
                                             .bit = static_cast<unsigned>(random() % 8)},
                                   .deadline = deadline});
        }
    return row;
}

/// No call, however it ended, has left a window's count that stays forever.
void check_ttls(const test::redis_server& server) {
    auto look = server.connect();
    const auto endless = std::ranges::count_if(look.keys(), [&](const std::string& name) {
        return name.find(":w:") != std::string::npos && look.pttl(name) == -1;
    });
    BOOST_TEST(endless == 0);
}

void cut(const test::conversation& c, std::size_t first) {
    for (const auto kind : {fault_kind::fin, fault_kind::reset, fault_kind::stall,
                            fault_kind::trickle, fault_kind::flip}) {
        auto server = test::redis_server{};
        auto row = every_byte(server, c, kind, first);
        const auto trials = row.size();
        auto found = test::findings{};
        auto number = 0;
        // Trials that a busy machine disturbed are repeated with longer timeouts.
        for (auto round = 0; round < 6 && !row.empty(); ++round) {
            for (auto& t : row)
                t.number = number++;
            test::run_trials(server, c, row, found);
            row = std::exchange(found.missed, {});
            for (auto& t : row)
                t.deadline *= 2;
        }
        BOOST_TEST_MESSAGE(c.name << ", kind " << static_cast<int>(kind) << ": " << trials
                                  << " trials, calls " << found.calls << ", answered "
                                  << found.answered << ", unknown " << found.unknown
                                  << ", other codes " << found.refused << ", other numbers "
                                  << found.other_numbers);
        for (std::size_t i = 0; i < std::min<std::size_t>(found.wrong.size(), 10); ++i)
            BOOST_ERROR(found.wrong[i]);
        BOOST_TEST(found.wrong.size() == 0U);
        BOOST_TEST(found.unfinished == 0);
        if (kind != fault_kind::flip) // which may change an option of SET
            check_ttls(server);
        // The matrix is worth something only if the faults come to pass, and matter.
        BOOST_TEST(row.size() == 0U);
        BOOST_TEST(found.answered > 0);
        BOOST_TEST(found.unknown > 0);
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(
    a_greeting_and_batches_of_keys_and_of_a_log_cut_anywhere_end_as_the_table_says) {
    cut(test::allow_conversation(), 0);
}

BOOST_AUTO_TEST_CASE(ids_that_are_asked_of_a_filter_cut_anywhere_end_as_the_table_says) {
    cut(test::seen_conversation(), test::script_handshake);
}

BOOST_AUTO_TEST_CASE(transactions_cut_anywhere_end_as_the_table_says) {
    cut(test::transaction_conversation(), 0);
}

BOOST_AUTO_TEST_SUITE_END()
