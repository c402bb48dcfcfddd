// SPDX-License-Identifier: BSL-1.0
//
// Trials, and what callers may be told in them.

#include <faults/trial.hpp>

#include <support/on_failure.hpp>

#include <colimit/bloom_filter.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

namespace colimit::test {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

/// How many trials run at once: their deadlines pass together.
constexpr auto at_once = 64;

/// Timers are late on a machine that others use too.
constexpr auto lateness = 1500ms;

/// So slow that nothing comes back while a test runs.
const auto bucket = policy{"bucket", gcra(1'000'000, 24h * 36'500)};
const auto record_of_all = policy{"log", sliding_log(100'000, 24h * 365)};
const auto window = policy{"window", fixed_window(100'000, 24h * 365).from_first()};
const auto ids = bloom_filter{"ids", {.capacity = 1'000'000, .error_rate = 0.000001, .ttl = 24h}};

/// A key of a trial. One flipped bit never makes it another trial's or another call's key.
[[nodiscard]] std::string key_of(std::string_view name, int number) {
    char digits[8];
    (void)std::snprintf(digits, sizeof digits, "%05d", number);
    auto out = std::string{name} + "-";
    for (auto i = 0; i < 5; ++i)
        out.append(2, digits[i]);
    return out;
}

[[nodiscard]] std::int64_t expected_remaining(const asked_call& c) {
    return c.rules == &bucket ? 1'000'000 - c.already - 1 : 100'000 - c.already - 1;
}

[[nodiscard]] config settings(const std::string& server, const conversation& c) {
    auto made = config{};
    made.server = server;
    made.mode = c.mode;
    made.timeout = 10s;
    made.ping_interval = 0ms; // only what the test asks for is sent
    made.connect_timeout = 10s;
    errors_come_through(made);
    return made;
}

struct outcome_of_call {
    int completions = 0;
    error_code ec;
    std::int64_t remaining = 0; ///< of a filter: 0 where the id was new, else 1
    bool allowed = false;
    steady::duration took{};
};

class one_trial {
  public:
    one_trial(asio::io_context& context, const redis_server& server, const conversation& c,
              const trial& t, findings& into)
        : conversation_(c), trial_(t), findings_(into),
          proxy_(context, server.unix_address(),
                 [wrong = t.wrong](int connection) { return connection == 1 ? wrong : fault{}; }),
          settings_(trial_settings()), limiter_(context.get_executor(), settings_),
          outcomes_(c.calls.size()) {}

    /// @param look a limiter that asks the server itself
    asio::awaitable<void> run(limiter& look) {
        co_await charge_before(look);
        if (!strikes_greeting())
            co_await limiter_.ready();
        // All in one turn, so that the limiter counts all their deadlines from its beginning.
        const auto begin = steady::now();
        for (std::size_t i = 0; i < outcomes_.size(); ++i)
            ask(i, begin);
        const auto end = begin + settings_.timeout + lateness;
        while (!all_done() && steady::now() < end)
            co_await pause_for(1ms);
        auto executed = std::vector<std::int64_t>(outcomes_.size());
        for (std::size_t i = 0; i < outcomes_.size(); ++i)
            executed[i] = co_await executions(look, i);
        // The proxy counts a message a turn after its last byte has left; a server is quicker.
        co_await asio::post(asio::use_awaitable);
        judge(executed);
        if (connection_was_lost())
            co_await try_again();
    }

  private:
    [[nodiscard]] bool strikes_greeting() const {
        return trial_.wrong.message < conversation_.greeting;
    }
    [[nodiscard]] bool ends_connection() const {
        const auto k = trial_.wrong.kind;
        return k == fault_kind::fin || k == fault_kind::reset || k == fault_kind::half_close;
    }

    /// If nothing arrives, a timeout must end the wait: that of the connection attempt in a
    /// handshake, and the calls have time for another; later that of the calls.
    [[nodiscard]] config trial_settings() const {
        auto made = settings(proxy_.address(), conversation_);
        made.connect_timeout = strikes_greeting() ? std::max(100ms, trial_.deadline) : 10s;
        made.timeout = strikes_greeting() || ends_connection() ? 10s : trial_.deadline;
        made.reconnect_delay_min = 1ms;
        made.reconnect_delay_max = 4ms;
        return made;
    }

    asio::awaitable<void> charge_before(limiter& look) {
        for (const auto& c : conversation_.calls)
            if (c.already != 0) {
                const auto key = key_of(c.name, trial_.number);
                const auto options = charge_options{.cost = c.already};
                (void)co_await look.charge(key, *c.rules, options);
            }
    }

    void ask(std::size_t i, steady::time_point begin) {
        const auto& c = conversation_.calls[i];
        const auto key = key_of(c.name, trial_.number);
        const auto note = [this, i, begin](error_code ec) -> outcome_of_call& {
            auto& o = outcomes_[i];
            ++o.completions;
            o.ec = ec;
            o.took = steady::now() - begin;
            return o;
        };
        if (conversation_.seen)
            limiter_.seen(key, ids, [note](error_code ec, bool old) {
                auto& o = note(ec);
                o.allowed = true;
                o.remaining = old ? 1 : 0;
            });
        else
            limiter_.allow(key, *c.rules, [note](error_code ec, const decision& d) {
                auto& o = note(ec);
                o.allowed = d.allowed();
                o.remaining = d.remaining;
            });
    }

    [[nodiscard]] bool all_done() const {
        return std::ranges::all_of(outcomes_, [](const auto& o) { return o.completions > 0; });
    }

    /// Returns how often the server ran the call.
    asio::awaitable<std::int64_t> executions(limiter& look, std::size_t i) {
        const auto& c = conversation_.calls[i];
        const auto key = key_of(c.name, trial_.number);
        if (conversation_.seen) {
            const auto old = co_await look.seen(key, ids);
            co_return old ? 1 : 0;
        }
        const auto d = co_await look.peek(key, *c.rules);
        co_return d.limit - c.already - d.remaining;
    }

    void complain(std::size_t i, std::string_view what) {
        const auto& o = outcomes_[i];
        const auto& f = trial_.wrong;
        findings_.wrong.push_back(
            std::string{conversation_.name} + ", kind " + std::to_string(static_cast<int>(f.kind)) +
            (f.way == way::to_server ? " to server" : " to client") + ", message " +
            std::to_string(f.message) + " byte " + std::to_string(f.byte) + " bit " +
            std::to_string(f.bit) + ", call " + std::to_string(i) + " (" + o.ec.message() +
            ", remaining " + std::to_string(o.remaining) + "): " + std::string{what});
    }

    void count(const outcome_of_call& o) {
        ++findings_.calls;
        if (o.completions == 0)
            ++findings_.unfinished;
        else if (!o.ec)
            ++findings_.answered;
        else if (o.ec == errc::outcome_unknown)
            ++findings_.unknown;
        else
            ++findings_.refused;
    }

    [[nodiscard]] bool was_due(const outcome_of_call& o) const {
        return o.took + 1ms >= settings_.timeout;
    }

    [[nodiscard]] bool had_reply_too_late(std::size_t i) const {
        const auto& o = outcomes_[i];
        return o.ec == errc::outcome_unknown && was_due(o) &&
               proxy_.on(1).passed[1] > conversation_.calls[i].message;
    }

    /// Returns whether attempts to connect after the one that the fault struck took too long, too:
    /// then calls are not sent, and say so.
    [[nodiscard]] bool was_given_up() const {
        return strikes_greeting() && limiter_.statistics().breaker_openings != 0;
    }

    /// Returns whether the machine was too busy for the fault to come to pass as it should.
    [[nodiscard]] bool is_missed() const {
        if (proxy_.connections() == 0 || !proxy_.on(1).struck)
            return true;
        if (was_given_up())
            return true;
        if (trial_.wrong.kind == fault_kind::flip) // after which a reply may be none to its caller
            return false;
        for (std::size_t i = 0; i < outcomes_.size(); ++i)
            if (had_reply_too_late(i))
                return true;
        return false;
    }

    void judge(const std::vector<std::int64_t>& executed) {
        if (is_missed())
            findings_.missed.push_back(trial_);
        for (std::size_t i = 0; i < outcomes_.size(); ++i) {
            const auto& o = outcomes_[i];
            count(o);
            if (o.completions != 1)
                complain(i, "completed " + std::to_string(o.completions) + " times");
            if (o.took > settings_.timeout + lateness)
                complain(i, "was late");
            if (trial_.wrong.kind == fault_kind::flip)
                judge_flip(i, executed[i]);
            else
                judge_cut(i, executed[i]);
        }
    }

    /// The table of errors, for connections that are cut or fall silent.
    void judge_cut(std::size_t i, std::int64_t executed) {
        const auto& o = outcomes_[i];
        const auto& c = conversation_.calls[i];
        const auto& first = proxy_.on(1);
        const auto greeted = first.passed[1] >= conversation_.greeting;
        const auto delivered = first.passed[0] > c.message;
        const auto replied = first.passed[1] > c.message;
        if (!o.ec) {
            if (executed != 1)
                complain(i, "was answered and run " + std::to_string(executed) + " times");
            if (!o.allowed || (!conversation_.seen && o.remaining != expected_remaining(c)) ||
                (conversation_.seen && o.remaining != 0))
                complain(i, "has another call's answer");
            return;
        }
        if (o.ec == errc::unavailable && was_given_up() && executed == 0)
            return;
        if (o.ec != errc::outcome_unknown)
            return complain(i, "may be answered or unknown");
        if (!greeted)
            return complain(i, "had not left, and could be asked again");
        if (executed > 1 || (executed == 1 && !delivered))
            complain(i, "is unknown and was run " + std::to_string(executed) + " times");
        // A reset may take along what has arrived and was not read yet; who fell silent may have
        // been slow.
        if (replied && trial_.wrong.kind != fault_kind::reset && !was_due(o))
            complain(i, "had its reply");
    }

    /// A flipped bit may change any request and any number of a reply, unnoticed. Each call must
    /// complete once and on time, and not with another call's result, and if the request and the
    /// time are intact, the reported charge must be correct.
    void judge_flip(std::size_t i, std::int64_t executed) {
        const auto& o = outcomes_[i];
        const auto& c = conversation_.calls[i];
        if (trial_.wrong.way == way::to_client &&
            std::ranges::count(conversation_.clocks, trial_.wrong.message) == 0) {
            if (executed < 0 || executed > 1)
                complain(i, "was run " + std::to_string(executed) + " times");
            if (!o.ec && executed != 1)
                complain(i, "was answered and not run");
            if (o.ec && o.ec == condition::transient && executed > 0)
                complain(i, "was run, and its code says that it was not");
        }
        if (o.ec || conversation_.seen)
            return;
        if (o.remaining == expected_remaining(c))
            return;
        ++findings_.other_numbers;
        for (const auto& other : conversation_.calls)
            if (&other != &c && o.remaining == expected_remaining(other))
                complain(i, "has another call's answer");
    }

    [[nodiscard]] bool connection_was_lost() const {
        return ends_connection() && proxy_.on(1).struck;
    }

    /// The limiter finds the server again by itself.
    asio::awaitable<void> try_again() {
        const auto end = steady::now() + patience;
        for (;;) {
            auto ec = error_code{};
            auto token = asio::redirect_error(asio::use_awaitable, ec);
            (void)co_await limiter_.allow("again", record_of_all, token);
            if (!ec)
                co_return;
            if (steady::now() > end)
                co_return complain(0, "and the limiter does not come back");
            co_await pause_for(1ms);
        }
    }

    const conversation& conversation_;
    trial trial_;
    findings& findings_;
    fault_proxy proxy_;
    config settings_;
    limiter limiter_;
    std::vector<outcome_of_call> outcomes_;
};

} // namespace

conversation allow_conversation() {
    return {.name = "allow",
            .calls = {{"aaa", &bucket, 11, script_handshake},
                      {"bbcc", &bucket, 100, script_handshake},
                      {"ddddee", &bucket, 3'000, script_handshake},
                      {"log", &record_of_all, 3, script_handshake + 1}},
            .greeting = script_handshake};
}

conversation seen_conversation() {
    return {
        .name = "seen",
        .calls = {{"aaa", nullptr, 0, script_handshake}, {"bbcc", nullptr, 0, script_handshake}},
        .greeting = script_handshake,
        .seen = true};
}

conversation transaction_conversation() {
    // HELLO, ECHO, CLIENT ID, INFO, TIME, and 19 of the probe; then ECHO and TIME, nine commands
    // for each call on a log, and five for the one on a window.
    return {.name = "transaction",
            .mode = execution_mode::multi,
            .calls = {{"aaa", &record_of_all, 11, 34},
                      {"bbcc", &record_of_all, 7, 43},
                      {"ddddee", &window, 40, 48}},
            .greeting = 24,
            .clocks = {4, 25}};
}

namespace {

/// All calls of a conversation at once, through a limiter at this address.
void converse(asio::io_context& context, const std::string& address, const conversation& c,
              int number) {
    const auto made = settings(address, c);
    auto asks = limiter{context.get_executor(), made};
    run(context, [&]() -> asio::awaitable<void> {
        co_await asks.ready();
        auto left = c.calls.size();
        for (const auto& call : c.calls) {
            const auto key = key_of(call.name, number);
            if (c.seen)
                asks.seen(key, ids, [&](error_code, bool) { --left; });
            else
                asks.allow(key, *call.rules, [&](error_code, const decision&) { --left; });
        }
        co_await until([&] { return left == 0; });
    });
}

} // namespace

std::array<std::vector<std::string>, 2> record(const redis_server& server, const conversation& c) {
    auto context = asio::io_context{1};
    converse(context, server.unix_address(), c, 99'998); // the server knows the scripts afterwards
    auto proxy = fault_proxy{context, server.unix_address(), [](int) { return fault{}; }, true};
    converse(context, proxy.address(), c, 99'999);
    return proxy.on(1).messages;
}

void run_trials(const redis_server& server, const conversation& c, const std::vector<trial>& row,
                findings& found) {
    auto context = asio::io_context{1};
    const auto made = settings(server.unix_address(), c);
    auto look = limiter{context.get_executor(), made};
    auto next = std::size_t{0};
    auto working = 0;
    for (auto i = 0; i < at_once; ++i) {
        ++working;
        asio::co_spawn(
            context,
            [&]() -> asio::awaitable<void> {
                while (next < row.size()) {
                    auto one = std::make_unique<one_trial>(context, server, c, row[next++], found);
                    co_await one->run(look);
                }
                --working;
            },
            rethrow);
    }
    while (working != 0)
        context.run_one();
}

} // namespace colimit::test
