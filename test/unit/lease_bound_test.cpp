// SPDX-License-Identifier: BSL-1.0
//
// The claim of leases: with any number of processes, lost replies and clocks that are a little
// slow, no interval admits more than the rule without leases. Random histories of the arithmetic
// and of the table of leases, as a store and its clients, with the time of a test. Each rule that
// the claim needs is left out once, and that is noticed.

#include <core/allow_times.hpp>
#include <limiter/lease_table.hpp>
#include <support/fake_operation.hpp>
#include <support/rng.hpp>
#include <support/rounds.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(lease_bounds)

namespace {

using namespace colimit;
using namespace std::chrono_literals;
using std::chrono::microseconds;
using test::fake_operation;
__extension__ using wide = __int128;

enum class defect {
    none,
    no_reserve,   ///< the store decides with the whole capacity
    other_client, ///< one of the clients does
    from_reply,   ///< a lease is counted from its reply
    given_back,   ///< what has lapsed is refunded
    slow_clock,   ///< the clients' clocks are slower than they may be
    lost_reply,   ///< a lease is held although its reply was lost, and taken again
    end_of_window ///< a lease does not end with its window
};

std::ostream& operator<<(std::ostream& to, defect d) {
    return to << static_cast<int>(d);
}

std::int64_t client_time = 0;
[[nodiscard]] std::int64_t read_clock() noexcept {
    return client_time;
}

/// A store with one key, and the processes that use it.
class history {
  public:
    history(std::uint64_t seed, defect d, bool in_windows) : random_(seed), defect_(d) {
        count_ = random_.pick({8, 20, 60, 200});
        each_ = random_.pick({500, 3'000, 10'000}); // microseconds per token
        is_window_ = in_windows;
        const auto fill = count_ * each_;
        const auto length =
            in_windows ? fill / random_.pick({1, 2, 5}) : fill / random_.pick({10, 10, 12, 30});
        length_ = std::max<std::int64_t>(length, 1'000);
        const auto r = in_windows ? fixed_window(count_, microseconds{fill})
                                  : token_bucket(count_, 1, microseconds{each_});
        whole_ = std::make_unique<policy>("p", r);
        leased_ = std::make_unique<policy>(
            in_windows || fill >= 10'000 ? whole_->with_leases(microseconds{length_}) : *whole_);
        slowness_ = defect_ == defect::slow_clock ? 2 : random_.pick({0, 0, 1000, 1100});
        for (auto n = random_.between(1, 3); n > 0; --n)
            clients_.push_back({std::make_unique<detail::lease_table>(8, read_clock), 0, 0, 0, {}});
    }

    void run(int steps) {
        for (auto i = 0; i < steps; ++i) {
            if (random_.percent(10))
                provoke();
            advance(
                random_.pick<std::int64_t>({0, 1, each_ / 7 + 1, each_, length_ / 20, length_ / 5,
                                            random_.between(1, length_), length_ / 50}));
            auto& c = any_client();
            for (auto n = random_.pick({1, 1, 1, 2, 6, 20}); n > 0; --n)
                (void)call(c, random_.percent(90) ? 1 : random_.between(1, 4), !random_.percent(10),
                           false);
        }
    }

    /// Returns by how many tokens an interval exceeds the bound.
    [[nodiscard]] double excess() const {
        auto worst = wide{0};
        if (is_window_) {
            auto windows = std::map<std::int64_t, std::int64_t>{};
            for (const auto& [at, tokens] : admitted_)
                worst = std::max<wide>(worst, (windows[at / (count_ * each_)] += tokens) - count_);
            return static_cast<double>(worst);
        }
        for (std::size_t a = 0; a < admitted_.size(); ++a) {
            auto sum = wide{0};
            for (auto b = a; b < admitted_.size(); ++b) {
                sum += admitted_[b].second;
                worst = std::max(worst, (sum - count_) * each_ -
                                            (admitted_[b].first - admitted_[a].first));
            }
        }
        return static_cast<double>(worst) / static_cast<double>(each_);
    }
    [[nodiscard]] std::uint64_t spent() const {
        auto all = statistics{};
        for (const auto& c : clients_)
            c.leases->add_statistics(all);
        return all.lease_tokens_spent;
    }

  private:
    struct client {
        std::unique_ptr<detail::lease_table> leases;
        std::int64_t heard_at; ///< the last reply, as replies keep their order
        std::int64_t ends;     ///< of the last lease
        std::uint64_t lapsed;
        std::deque<fake_operation> calls;
    };

    /// A client's clock, which may be slower than the store's.
    [[nodiscard]] std::int64_t clock_at(std::int64_t at) const {
        return 1'000'000 + at - (slowness_ == 0 ? 0 : at / slowness_);
    }
    void set_clock() { client_time = clock_at(now_); }

    [[nodiscard]] const detail::policy_data& rules_of_store(bool is_leased) const {
        const auto uses_whole =
            defect_ == defect::no_reserve || (defect_ == defect::other_client && !is_leased);
        return *detail::access::data(uses_whole ? *whole_ : *leased_);
    }
    [[nodiscard]] client& any_client() { return clients_[random_.below(clients_.size())]; }

    void advance(std::int64_t by) {
        const auto next = now_ + by;
        while (!events_.empty() && events_.begin()->first <= next) {
            const auto due = events_.extract(events_.begin());
            now_ = std::max(now_, due.key());
            due.mapped()();
        }
        now_ = next;
    }
    /// Advances until the client's clock shows a time, and not further.
    void advance_until(std::int64_t shown) {
        while (clock_at(now_) < shown)
            advance(std::max<std::int64_t>(1, shown - clock_at(now_) - 1));
    }

    /// What would exceed the bound if the rules were others: tokens that are held while the bucket
    /// repays them, and then spent together with all that the store has.
    void provoke() {
        auto& a = any_client();
        auto& b = any_client();
        advance(2 * count_ * each_ + length_); // the bucket is full, and no lease is left
        for (auto n = random_.percent(50) ? 3 : random_.between(1, 3 * length_ / each_ / 2 + 2);
             n > 0; --n)
            (void)call(a, 1, true, 1); // all before the first reply, so that no lease is taken
        advance(random_.between(length_ * 8 / 10, length_ - length_ / 20));
        const auto travels = random_.pick<std::int64_t>({0, length_ / 2, length_ * 9 / 10});
        while (call(a, 1, true, travels)) // until one asks the store
            continue;
        advance(length_ * 9 / 10); // a reply that is late comes
        if (a.ends == 0)
            return;
        const auto spends = random_.percent(70);
        advance_until(a.ends - (spends ? 1 : 0));
        if (!spends && random_.percent(50))
            (void)call(b, count_ / 2, false, 0);
        for (auto n = spends ? count_ : 1; n > 0; --n)
            (void)call(a, 1, true, 0);
        for (auto n = count_ + 1; n > 0; --n)
            (void)call(b, 1, false, 0);
    }

    void admit(std::int64_t tokens) { admitted_.emplace_back(now_, tokens); }

    /// Returns whether a lease decides the call.
    /// @param may_lease false: it is one of a process that takes no leases, with max_leases = 0
    /// @param reply_after how long its reply travels, if it is executed without a delay
    bool call(client& c, std::int64_t cost, bool may_lease,
              std::optional<std::int64_t> reply_after = {}) {
        set_clock();
        const auto& p = *detail::access::data(*leased_);
        auto& op = c.calls.emplace_back(detail::call_request{.cost = cost, .at_least = cost});
        op.kind = detail::call_kind::one;
        if (may_lease) {
            op.key_digest = p.digest("k");
            if (c.leases->try_decide(op, p)) {
                BOOST_TEST((op.result.source == decision_source::lease));
                BOOST_TEST(op.result.granted == cost);
                admit(cost);
                c.calls.pop_back();
                give_back(c);
                return true;
            }
            if (op.lease.is_known) {
                op.fallback.policy = detail::access::data(*leased_);
                c.leases->ask(op, p);
                if (op.lease.is_asking && random_.percent(60)) // whatever the demand
                    op.lease.further_calls =
                        static_cast<std::uint32_t>(random_.between(1, count_ / 2));
            }
        }
        op.sent_at = client_time;
        if (reply_after == 0 && c.heard_at <= now_) {
            execute(op, may_lease);
            hear(c, op);
            return false;
        }
        const auto executes =
            now_ +
            (reply_after ? 0 : random_.pick<std::int64_t>({0, 1, 50, each_ / 3, length_ / 3}));
        const auto travels = random_.pick<std::int64_t>({0, 1, 70, each_ / 3, length_ / 2});
        c.heard_at = std::max(c.heard_at, executes + reply_after.value_or(travels));
        events_.emplace(executes, [this, &op, may_lease] { execute(op, may_lease); });
        events_.emplace(c.heard_at, [this, &c, &op] { hear(c, op); });
        return false;
    }

    void execute(fake_operation& op, bool may_lease) {
        auto request = op.request;
        request.now = now_;
        const auto& rules = rules_of_store(may_lease).compiled;
        (void)core::evaluate(rules, state_, request, op.result);
        if (op.result.allowed())
            admit(op.request.cost);
        if (op.lease.further_calls != 0)
            op.lease.granted = core::allow_times(rules, state_, request, op.lease.further_calls);
    }

    void hear(client& c, fake_operation& op) {
        set_clock();
        if (random_.percent(10)) { // its reply was lost
            if (defect_ == defect::lost_reply)
                refund(op.lease.granted * op.request.cost);
            else
                op.ec = errc::outcome_unknown;
        }
        if (defect_ == defect::from_reply)
            op.sent_at = client_time;
        if (defect_ == defect::end_of_window) // it seems to be longer
            op.result.server_time -= microseconds{count_ * each_ / 2};
        if (op.lease.granted != 0 && !op.ec)
            c.ends = op.sent_at + length_ - length_ / 1000 - 1;
        c.leases->note(op, client_time);
        if (c.leases->try_settle(op, false))
            admit(op.request.cost);
        give_back(c);
    }

    void give_back(client& c) {
        if (defect_ != defect::given_back)
            return;
        auto all = statistics{};
        c.leases->add_statistics(all);
        refund(static_cast<std::int64_t>(all.lease_tokens_lapsed -
                                         std::exchange(c.lapsed, all.lease_tokens_lapsed)));
    }

    void refund(std::int64_t tokens) {
        auto result = decision{};
        (void)core::evaluate(
            rules_of_store(true).compiled, state_,
            {.verb = detail::verb::refund, .cost = tokens, .at_least = tokens, .now = now_},
            result);
    }

    test::rng random_;
    defect defect_;
    bool is_window_;
    std::int64_t count_;
    std::int64_t each_;
    std::int64_t length_;
    std::int64_t slowness_; ///< a clock loses one microsecond in so many; 0: none
    std::unique_ptr<policy> whole_;
    std::unique_ptr<policy> leased_;
    core::key_state state_;
    std::int64_t now_ = 0;
    std::deque<client> clients_;
    std::multimap<std::int64_t, std::function<void()>> events_;
    std::vector<std::pair<std::int64_t, std::int64_t>> admitted_;
};

struct summary {
    int tried = 0;
    int over = 0;
    double worst = 0;
    std::uint64_t spent = 0;
};

/// Tries histories; those with a defect until it is noticed.
[[nodiscard]] summary try_all(int histories, defect d, bool in_windows) {
    auto s = summary{};
    for (; s.tried < histories && (d == defect::none || s.over == 0); ++s.tried) {
        auto h = history{static_cast<std::uint64_t>(s.tried), d, in_windows};
        h.run(200);
        const auto excess = h.excess();
        s.over += excess > 0 ? 1 : 0;
        s.worst = std::max(s.worst, excess);
        s.spent += h.spent();
    }
    BOOST_TEST_MESSAGE("defect " << d << (in_windows ? ", windows: " : ": ") << s.over << " of "
                                 << s.tried << " histories over the bound, by up to " << s.worst
                                 << " tokens; " << s.spent << " spent");
    return s;
}

} // namespace

BOOST_AUTO_TEST_CASE(no_interval_admits_more_than_a_bucket_without_leases) {
    const auto s = try_all(test::rounds(150), defect::none, false);
    BOOST_TEST(s.over == 0);
    BOOST_TEST(s.spent > test::rounds(10'000U));
}

BOOST_AUTO_TEST_CASE(no_window_admits_more_than_its_limit) {
    const auto s = try_all(test::rounds(150), defect::none, true);
    BOOST_TEST(s.over == 0);
    BOOST_TEST(s.spent > test::rounds(10'000U));
}

BOOST_AUTO_TEST_CASE(each_rule_that_is_left_out_is_noticed) {
    for (const auto d : {defect::no_reserve, defect::other_client, defect::from_reply,
                         defect::given_back, defect::slow_clock, defect::lost_reply})
        BOOST_TEST(try_all(100, d, false).over > 0, d);
    BOOST_TEST(try_all(100, defect::end_of_window, true).over > 0);
}

BOOST_AUTO_TEST_SUITE_END()
