// SPDX-License-Identifier: BSL-1.0
//
// The calls of a trial, and what must be true after them.

#include <faults/lease_trial.hpp>

#include <memory>
#include <span>
#include <utility>

namespace colimit::test {
namespace {

using step = lease_command::step;

// Costs of calls: the first ones make leases worth it, and the large ones are more than is held.
constexpr auto demand = of_keys{24, 6};
constexpr auto one_each = of_keys{1, 1};
constexpr auto one_for_first = of_keys{1, 0};
constexpr auto one_for_second = of_keys{0, 1};
constexpr auto large = of_keys{40, 40};

class trial_of_lease {
  public:
    trial_of_lease(asio::io_context& context, const std::string& server,
                   const lease_command& command, const lease_trial& t, bool records = false)
        : command_(command), trial_(t),
          cut_(context, server, t.wrong,
               {.silence = t.silence, .server_module = command.server_module, .records = records}),
          calls_(cut_.limiter, t.number) {
        if (command.is_forgotten)
            cut_.proxy.translate([forgotten = command.first_message()](int connection, way w,
                                                                       std::size_t message,
                                                                       std::span<char> bytes) {
                if (connection == 1 && w == way::to_server && message == forgotten)
                    name_unknown_script(bytes);
            });
    }

    asio::awaitable<measured_lease> measure(limiter& look) {
        auto found = measured_lease{};
        co_await cut_.limiter.ready();
        co_await calls_.make(demand);
        auto before = co_await calls_.charged(look);
        co_await calls_.make(one_each);
        if (command_.cut == step::renew) {
            before = co_await calls_.charged(look);
            for (;; ++found.calls_of_a_lease) {
                co_await calls_.make(one_for_first);
                if (calls_.last(0).was_decided_by(decision_source::store))
                    break;
            }
        }
        found.charged = co_await calls_.charged(look);
        for (std::size_t key = 0; key < before.size(); ++key)
            found.charged[key] -= before[key];
        found.seen = cut_.proxy.on(1);
        co_return found;
    }

    asio::awaitable<void> run(limiter& look, const measured_lease& usual, lease_findings& into) {
        co_await cut_.limiter.ready();
        co_await call(demand);
        if (command_.cut == step::take) {
            co_await call_and_strike(one_each, look);
        } else {
            co_await call(one_each);
            for (auto i = 0; i < usual.calls_of_a_lease; ++i)
                co_await call(one_for_first);
            co_await call_and_strike(one_for_first, look);
        }
        co_await ask_server(look);
        co_await take_again(one_for_first);
        co_await take_again(one_for_second);
        co_await spend_all(look);
        compare_with_bytes();
        if (!is_disturbed_)
            judge(usual, into);
        if (!wrong_.empty())
            into.wrong.push_back(description() + wrong_);
        else if (is_disturbed_)
            into.disturbed.push_back(trial_);
    }

  private:
    [[nodiscard]] std::string description() const {
        const auto& f = trial_.wrong;
        return std::string{command_.name} + ", step " +
               std::to_string(static_cast<int>(command_.cut)) + ", kind " +
               std::to_string(static_cast<int>(f.kind)) +
               (f.way == way::to_server ? " to server" : " to client") + ", message " +
               std::to_string(f.message) + " byte " + std::to_string(f.byte);
    }

    void check(bool holds, const char* what) {
        if (!holds)
            wrong_.append(": ").append(what);
    }
    /// Where a timeout has to end a silence, it may be too short for something else.
    void check_unless_late(bool holds, const char* what) {
        if (trial_.wrong.kind == fault_kind::stall)
            is_disturbed_ = is_disturbed_ || !holds;
        else
            check(holds, what);
    }

    /// Makes calls that the fault does not concern: the store decides all that are sent, also if a
    /// lease could do so instead.
    asio::awaitable<void> call(of_keys costs) {
        const auto before = cut_.limiter.statistics().batch_calls;
        co_await calls_.make(costs);
        auto sent = cut_.limiter.statistics().batch_calls - before;
        for (std::size_t key = 0; key < costs.size(); ++key) {
            if (costs[key] == 0)
                continue;
            const auto& c = calls_.last(key);
            sent -= c.was_decided_by(decision_source::store) ? 1U : 0U;
            check_unless_late(!c.ec, "a call that was not cut has failed");
        }
        check_unless_late(sent == 0, "a call that was not cut has no reply");
    }

    /// Makes the calls whose command is cut. Later ones are on another connection.
    asio::awaitable<void> call_and_strike(of_keys costs, limiter& look) {
        co_await calls_.make(costs);
        (void)co_await calls_.charged(look); // whatever has arrived at the server is executed then
        check_unless_late(cut_.proxy.on(1).struck, "the fault did not strike");
        was_heard_ = calls_.last(0).was_decided_by(decision_source::store);
        for (std::size_t key = 0; key < costs.size(); ++key)
            if (costs[key] != 0 && !is_disturbed_)
                judge_cut_call(calls_.last(key));
        if (trial_.wrong.kind == fault_kind::stall) // else the limiter knows that it has ended
            cut_.end_connection();
        co_await until([&] { return cut_.proxy.connections() > 1; });
    }

    /// What the proxy has passed on says what has become of the command. It counts a message after
    /// the receiver may have replied to it, so it is asked when the connection has long ended.
    void compare_with_bytes() {
        const auto& on = cut_.proxy.on(1);
        is_lost_ = !was_heard_ && on.passed[0] > command_.last_message();
        may_be_dropped_ = is_lost_ && !is_executed_if_arrived();
        // A reset may take along a reply that has arrived.
        if (trial_.wrong.kind != fault_kind::reset)
            check_unless_late(was_heard_ || on.passed[1] <= command_.last_message(),
                              "a reply was not heard");
    }

    /// A server that cannot write a reply reads no further: so it may drop a long command, of which
    /// it reads a part at a time, and one behind which the connection is reset.
    [[nodiscard]] bool is_executed_if_arrived() const {
        const auto& f = trial_.wrong;
        const auto was_replied = f.way == way::to_client && f.message == command_.last_message();
        return was_replied || (f.kind != fault_kind::reset && !command_.is_forgotten);
    }

    /// All calls of one command have heard its reply, or none.
    void judge_cut_call(const leased_call& c) {
        if (was_heard_)
            return check(c.was_decided_by(decision_source::store), "half a reply was heard");
        if (command_.cut == step::renew) // what is left of the first lease decides it
            return check(c.was_decided_by(decision_source::lease), "a lease was not spent");
        check(c.ec.failed(), "half a reply was heard");
        check_unless_late(c.ec == errc::outcome_unknown, "a lost reply has another code");
    }

    /// Calls that no lease can decide are decided by what the server knows.
    asio::awaitable<void> ask_server(limiter& look) {
        const auto before = co_await calls_.charged(look);
        co_await call(large);
        const auto after = co_await calls_.charged(look);
        for (std::size_t key = 0; key < large.size() && !is_disturbed_; ++key) {
            const auto& c = calls_.last(key);
            const auto used = c.ec ? 0 : used_tokens(c.result);
            check(c.was_decided_by(decision_source::store) && used >= before[key] + large[key] &&
                      used <= after[key],
                  "a later call is not decided by the server's state");
        }
    }

    /// Whatever has become of the former leases, a key gets another one when they are spent.
    asio::awaitable<void> take_again(of_keys one) {
        constexpr auto most = 40;
        const auto leases = [this] { return cut_.limiter.statistics().leases; };
        const auto before = leases();
        for (auto i = 0; i < most && leases() == before; ++i)
            co_await call(one);
        check(is_disturbed_ || leases() > before, "no lease is taken any more");
    }

    /// Spends all that is held for the first key, while there is no server; what is held for the
    /// second one lapses.
    asio::awaitable<void> spend_all(limiter& look) {
        const auto before = co_await calls_.charged(look);
        co_await cut_.cut_off();
        do
            co_await calls_.make(one_for_first);
        while (!calls_.last(0).ec && calls_.by_lease()[0] <= before[0]);
        const auto ec = calls_.last(0).ec;
        check(ec == condition::transient || ec == condition::maybe_charged,
              "more is spent than was charged, or another code ends that");
        const auto& l = cut_.limiter;
        check(l.statistics().lease_tokens_lapsed == 0,
              "tokens have lapsed, although no lease has ended");
        cut_.limiter.close();

        charged_ = co_await calls_.charged(look);
        const auto store = calls_.by_store();
        const auto lease = calls_.by_lease();
        for (std::size_t key = 0; key < charged_.size(); ++key)
            check(store[key] + lease[key] <= charged_[key], "more is granted than was charged");
        const auto s = l.statistics();
        const auto spent = static_cast<std::uint64_t>(lease[0] + lease[1]);
        check(s.lease_tokens_spent == spent &&
                  s.lease_tokens_taken == spent + s.lease_tokens_lapsed,
              "the statistics do not add up");
        check(calls_.are_sound(), "a call has completed twice, or with another result");
    }

    /// What was charged, was granted, or lost with a reply, or was held at the end.
    void judge(const measured_lease& usual, lease_findings& into) {
        const auto store = calls_.by_store();
        const auto lease = calls_.by_lease();
        auto held = charged_;
        for (std::size_t key = 0; key < held.size(); ++key)
            held[key] -= store[key] + lease[key];
        if (may_be_dropped_)
            is_lost_ = held[0] != 0;
        for (std::size_t key = 0; key < held.size() && is_lost_; ++key)
            held[key] -= usual.charged[key];
        ++(was_heard_ ? into.heard : into.unheard);
        into.lost += is_lost_ ? 1 : 0;
        check(held[0] == 0, "what was charged was neither granted nor lost");
        const auto lapsed = cut_.limiter.statistics().lease_tokens_lapsed;
        check(std::cmp_equal(lapsed, held[1]), "more or less has lapsed than was held");
        into.lapsed += lapsed != 0 ? 1 : 0;
    }

    const lease_command& command_;
    lease_trial trial_;
    cut_limiter cut_;
    lease_calls calls_;
    bool was_heard_ = false; ///< the reply to the command that was cut
    bool is_lost_ = false;   ///< the server has executed it, and the limiter has not heard of it
    bool may_be_dropped_ = false; ///< and not executed, although it has arrived
    bool is_disturbed_ = false;
    of_keys charged_{}; ///< at the end
    std::string wrong_; ///< what is
};

} // namespace

asio::awaitable<measured_lease> measure_lease(asio::io_context& context, const std::string& server,
                                              const lease_command& command, limiter& look,
                                              int number) {
    const auto one = std::make_unique<trial_of_lease>(context, server, command,
                                                      lease_trial{.number = number}, true);
    co_return co_await one->measure(look);
}

asio::awaitable<void> run_lease_trial(asio::io_context& context, const std::string& server,
                                      const lease_command& command, limiter& look,
                                      const measured_lease& usual, const lease_trial& t,
                                      lease_findings& into) {
    const auto one = std::make_unique<trial_of_lease>(context, server, command, t);
    co_await one->run(look, usual, into);
}

} // namespace colimit::test
