// SPDX-License-Identifier: BSL-1.0
//
// The calls of a run: limiters, what is called when, what came of it, and whether that may be.

#pragma once

#include "catalogue.hpp"
#include "ledger.hpp"
#include "machine.hpp"

#include <colimit/limiter.hpp>

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace colimit::simulation {

/// A check as it was made, and what is known of its end.
struct made_check {
    std::size_t policy;
    std::size_t key;
    core::verb verb;
    std::int64_t cost;
    std::int64_t at_least;
    std::string id{}; ///< empty: it has none
    error_code ec{};
    decision result{};
};

/// A call of a verb, with one or several checks.
struct made_call {
    std::size_t limiter;
    detail::call_kind kind;
    std::vector<made_check> checks;
    std::vector<check_item> items{}; ///< of several checks
    std::int64_t started = 0;
    std::int64_t ended = 0;
    int endings = 0;
    bool is_final = false; ///< after all faults: a server must decide it
    boost::asio::cancellation_signal cancellation{};
    boost::asio::cancellation_type cancelled = boost::asio::cancellation_type::none;
};

struct workload_settings {
    std::string address;
    std::int64_t faults_end;
    std::int64_t final_begin; ///< from here on a server decides every call
    std::int64_t end;
};

class workload {
  public:
    /// @param calls to be recorded; they outlive the context, as the limiters refer to them
    workload(machine& m, boost::asio::io_context& context, const catalogue& names, ledger& records,
             std::deque<made_call>& calls, workload_settings settings);

    /// Makes the calls, and closes the limiters at the end.
    void start() { next(); }
    /// After the context has run out of work.
    /// @throws violation
    void check() const;

  private:
    [[nodiscard]] config random_config();
    void next();
    void act();
    void make_burst(bool is_final);
    void make_call(bool is_final);
    [[nodiscard]] made_check random_check();
    [[nodiscard]] const made_call* call_to_repeat();
    void start_one(made_call& c);
    void start_several(made_call& c);
    void on_end(made_call& c, error_code ec);
    void cancel_some();
    void stand_still();

    /// The costs of calls that may have had an effect.
    using costs = std::set<std::int64_t>;
    [[nodiscard]] costs costs_in_doubt() const;
    void check_end(const made_call& c, const costs& in_doubt) const;
    void check_decision(const made_call& c, const made_check& k) const;
    void check_failure(const made_call& c, const made_check& k, const costs& in_doubt) const;
    void check_totals() const;
    void check_fallbacks() const;
    [[nodiscard]] std::int64_t latest_end(const made_call& c) const;

    machine& machine_;
    const catalogue& names_;
    ledger& records_;
    workload_settings settings_;
    test::rng random_;
    std::vector<std::unique_ptr<limiter>> limiters_;
    std::vector<std::int64_t> timeouts_; ///< of each limiter, in microseconds
    std::deque<made_call>& calls_;
    boost::asio::steady_timer timer_;
    std::vector<std::pair<std::int64_t, std::int64_t>> stands_; ///< when the process stood still
    std::int64_t next_cost_ = ledger::first_cost;
    std::int64_t pause_; ///< between bursts, at most
    std::size_t burst_;
    bool has_identity_;           ///< each check has its own cost
    std::size_t percent_with_id_; ///< of the calls
};

} // namespace colimit::simulation
