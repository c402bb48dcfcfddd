// SPDX-License-Identifier: BSL-1.0
//
// The connection of a limiter ends, is reset or falls silent at each byte of the commands that take
// leases, and of their replies: with the script, where the server has forgotten it, and with the
// server module.

#include <faults/lease_trial.hpp>
#include <support/server_module.hpp>
#include <support/unit_test.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(cut_leases)

namespace {

using namespace colimit;
namespace asio = boost::asio;
using test::fault_kind;
using test::lease_command;
using step = lease_command::step;

class matrix {
  public:
    explicit matrix(const std::vector<std::string>& arguments = {})
        : server_({.arguments = arguments}), address_(server_.unix_address()),
          look_(address_, test::ask_patiently) {}

    void cut(const lease_command& command) {
        for (const auto kind : {fault_kind::fin, fault_kind::reset, fault_kind::stall})
            cut(command, kind);
    }

  private:
    void cut(const lease_command& command, fault_kind kind) {
        auto usual = test::measured_lease{};
        look_.run([&]() -> asio::awaitable<void> {
            usual = co_await test::measure_lease(look_.context, address_, command, look_.limiter,
                                                 number_++);
        });
        auto row = std::vector<test::lease_trial>{};
        for (auto m = command.first_message(); m <= command.last_message(); ++m)
            for (const auto& f : test::every_cut(kind, usual.seen, m))
                row.push_back({.number = 0, .wrong = f});
        const auto trials = row.size();
        auto found = test::lease_findings{};
        // Trials that a busy machine disturbed are repeated with longer timeouts.
        for (auto round = 0; round < 6 && !row.empty(); ++round) {
            for (auto& t : row)
                t.number = number_++;
            test::run_trials_at_once(look_.context, row.size(), [&](std::size_t i) {
                return test::run_lease_trial(look_.context, address_, command, look_.limiter, usual,
                                             row[i], found);
            });
            row = std::exchange(found.disturbed, {});
            for (auto& t : row)
                t.silence *= 2;
        }
        BOOST_TEST_MESSAGE(command.name << ", step " << static_cast<int>(command.cut) << ", kind "
                                        << static_cast<int>(kind) << ": " << trials
                                        << " trials, heard " << found.heard << ", not heard "
                                        << found.unheard << ", of which the server executed "
                                        << found.lost);
        test::expect_none(found.wrong);
        // The matrix is worth something only if the faults come to pass, and matter. A reset may
        // take along a reply that has arrived.
        BOOST_TEST(row.size() == 0U);
        if (kind != fault_kind::reset)
            BOOST_TEST(found.heard > 0);
        BOOST_TEST(found.lost > 0);
        BOOST_TEST(found.unheard > found.lost);
        BOOST_TEST(found.lapsed > 0);
    }

    test::redis_server server_;
    std::string address_;
    test::live look_;
    int number_ = 0; ///< of the next trial
};

} // namespace

BOOST_AUTO_TEST_CASE(leases_by_a_script_cut_anywhere_grant_what_the_server_has_charged) {
    auto m = matrix{};
    m.cut({.name = "script", .cut = step::take});
    m.cut({.name = "script", .cut = step::renew});
}

BOOST_AUTO_TEST_CASE(leases_by_a_script_that_is_loaded_again_grant_what_the_server_has_charged) {
    auto m = matrix{};
    m.cut({.name = "forgotten script", .cut = step::take, .is_forgotten = true});
}

BOOST_AUTO_TEST_CASE(leases_by_the_module_cut_anywhere_grant_what_the_server_has_charged) {
    auto m = matrix{test::with_server_module()};
    m.cut({.name = "module", .cut = step::take, .server_module = module_use::required});
    m.cut({.name = "module", .cut = step::renew, .server_module = module_use::required});
}

BOOST_AUTO_TEST_SUITE_END()
