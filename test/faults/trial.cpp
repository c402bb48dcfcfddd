// SPDX-License-Identifier: BSL-1.0
//
// The limiter of a trial, its proxies, and its calls.

#include <faults/cuts.hpp>
#include <faults/trial.hpp>
#include <faults/verdict.hpp>

#include <support/loop_clock.hpp>
#include <support/on_failure.hpp>

#include <boost/asio/redirect_error.hpp>

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace colimit::test {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

[[nodiscard]] config settings(const std::string& server, const conversation& c) {
    auto made = config{};
    made.server = server;
    made.advanced.mode = c.mode;
    made.timeout = patience;
    made.advanced.ping_interval = 0ms; // only what the test asks for is sent
    made.advanced.connect_timeout = 10s;
    errors_come_through(made);
    return made;
}

/// Replaces each occurrence of a text by another one of the same length.
void replace_all(std::span<char> bytes, std::string_view from, std::string_view to) {
    const auto text = std::string_view{bytes.data(), bytes.size()};
    for (auto at = text.find(from); at != text.npos; at = text.find(from, at + from.size()))
        std::ranges::copy(to, bytes.begin() + static_cast<std::ptrdiff_t>(at));
}

/// A proxy for each server.
class proxies {
  public:
    proxies(asio::io_context& context, const trial_servers& servers, const conversation& c,
            const trial& t, bool records)
        : servers_(servers), conversation_(c) {
        for (std::size_t node = 0; node < servers.nodes.size(); ++node) {
            const auto& struck = c.connections[t.connection];
            const auto number = struck.node == node ? struck.number : 0;
            all_.emplace_back(
                context, servers.nodes[node],
                [wrong = t.wrong, number](int n) { return n == number ? wrong : fault{}; },
                records);
            if (servers.is_cluster())
                all_.back().translate(
                    [this, node](int number_of, way w, std::size_t message, std::span<char> bytes) {
                        translate({node, number_of}, w, message, bytes);
                    });
        }
    }

    [[nodiscard]] std::string address() const {
        return servers_.is_cluster()
                   ? "redis+cluster://127.0.0.1:" + std::to_string(all_.front().port())
                   : all_.front().address();
    }
    [[nodiscard]] bool is_one_of(std::uint16_t port) const {
        return std::ranges::find(all_, port, &fault_proxy::port) != all_.end();
    }
    /// Returns the messages on a connection; nullptr if that has not been made.
    [[nodiscard]] const traffic* on(std::size_t connection) const {
        const auto& c = conversation_.connections[connection];
        const auto& p = all_[c.node];
        return p.connections() < c.number ? nullptr : &p.on(c.number);
    }

  private:
    struct source {
        std::size_t node;
        int number;

        [[nodiscard]] bool is(const conversation_connection& c) const {
            return node == c.node && number == c.number;
        }
    };

    void translate(source from, way w, std::size_t message, std::span<char> bytes) {
        if (w == way::to_client)
            return name_proxies(from.is(conversation_.connections.front()), bytes);
        const auto& forgotten = conversation_.forgotten;
        if (forgotten && message == forgotten->message &&
            from.is(conversation_.connections[forgotten->connection]))
            name_unknown_script(bytes);
    }

    /// A node announces the address of its proxy.
    void name_proxies(bool is_first_map, std::span<char> bytes) {
        const auto names_host = std::string_view{bytes.data(), bytes.size()}.find("127.0.0.1") !=
                                std::string_view::npos;
        const auto is_stale = is_first_map && conversation_.has_stale_map;
        for (std::size_t i = 0; names_host && i < all_.size(); ++i)
            replace_all(bytes, ":" + std::to_string(servers_.announced[i]),
                        ":" + std::to_string(all_[is_stale ? 1 - i : i].port()));
    }

    const trial_servers& servers_;
    const conversation& conversation_;
    std::deque<fault_proxy> all_;
};

class one_trial {
  public:
    one_trial(asio::io_context& context, const loop_clock& clock, const trial_servers& servers,
              const conversation& c, const trial& t, bool records = false)
        : clock_(clock), conversation_(c), trial_(t), proxies_(context, servers, c, t, records),
          settings_(trial_settings()), limiter_(context.get_executor(), settings_),
          outcomes_(std::make_shared<std::vector<outcome_of_call>>(c.calls.size())) {}

    /// @param look a limiter that asks the servers themselves
    asio::awaitable<void> run(limiter& look, findings& into) {
        co_await charge_before(look);
        if (!strikes_handshake(conversation_, trial_))
            co_await limiter_.ready();
        // All in one turn, so that the limiter counts all their deadlines from its beginning.
        const auto begin = steady::now();
        for (std::size_t i = 0; i < outcomes_->size(); ++i)
            ask(i, begin);
        const auto end = clock_.now() + settings_.timeout + lateness;
        while (!all_done() && clock_.now() < end)
            co_await pause_for(3ms); // all trials look, so more often would take much time
        for (std::size_t i = 0; i < outcomes_->size(); ++i) {
            const auto executed = co_await executions(look, i);
            (*outcomes_)[i].executed = executed;
        }
        // The proxy counts a message a turn after its last byte has left; a server is quicker.
        co_await asio::post(asio::use_awaitable);
        const auto ended = state();
        judge(ended, into);
        if (ends_connection(trial_) && ended.struck != nullptr && ended.struck->struck)
            co_await try_again(ended, into);
    }

    [[nodiscard]] const traffic* on(std::size_t connection) const {
        return proxies_.on(connection);
    }

  private:
    /// If nothing arrives, a timeout must end the wait: that of the connection attempt in a
    /// handshake, and the calls have time for another; later that of the calls.
    [[nodiscard]] config trial_settings() const {
        auto made = settings(proxies_.address(), conversation_);
        const auto is_early = strikes_handshake(conversation_, trial_);
        made.advanced.connect_timeout = is_early ? std::max(100ms, trial_.deadline) : 10s;
        made.timeout = is_early || ends_connection(trial_) ? 10s : trial_.deadline;
        made.advanced.reconnect_delay_min = 1ms;
        made.advanced.reconnect_delay_max = 4ms;
        if (made.server.starts_with("redis+cluster:"))
            made.advanced.may_connect = [this](std::string_view /*host*/, std::uint16_t port) {
                return proxies_.is_one_of(port); // whatever a flipped bit makes of an address
            };
        return made;
    }

    asio::awaitable<void> charge_before(limiter& look) {
        for (const auto& c : conversation_.calls)
            if (c.already != 0) {
                const auto key = key_of(c, c.name, trial_.number);
                const auto options = charge_options{.cost = c.already};
                (void)co_await look.charge(key, *c.rules, options);
            }
    }

    void ask(std::size_t i, steady::time_point begin) {
        const auto& c = conversation_.calls[i];
        const auto key = key_of(c, c.name, trial_.number);
        // A call that is too late for the trial ends after it.
        const auto note = [all = outcomes_, i, begin, &clock = clock_,
                           begin_by_clock = clock_.now()](error_code ec) -> outcome_of_call& {
            auto& o = (*all)[i];
            ++o.completions;
            o.ec = ec;
            o.took = steady::now() - begin;
            o.waited = clock.now() - begin_by_clock;
            return o;
        };
        if (conversation_.seen)
            limiter_.seen(key, id_filter(), [note](error_code ec, bool old) {
                auto& o = note(ec);
                o.allowed = true;
                o.remaining = old ? 1 : 0;
            });
        else
            limiter_.allow(key, *c.rules, options_of_calls(),
                           [note](error_code ec, const decision& d) {
                               auto& o = note(ec);
                               o.allowed = d.allowed();
                               o.remaining = d.remaining;
                           });
    }

    /// Each key is called once, so that all ids may be the same.
    [[nodiscard]] check_options options_of_calls() const {
        auto made = check_options{};
        if (conversation_.has_ids)
            made.request = "id";
        return made;
    }

    [[nodiscard]] bool all_done() const {
        return std::ranges::all_of(*outcomes_, [](const auto& o) { return o.completions > 0; });
    }

    /// Returns how often the servers ran the call.
    asio::awaitable<std::int64_t> executions(limiter& look, std::size_t i) {
        const auto& c = conversation_.calls[i];
        const auto key = key_of(c, c.name, trial_.number);
        if (conversation_.seen) {
            const auto old = co_await look.seen(key, id_filter());
            co_return old ? 1 : 0;
        }
        const auto d = co_await look.peek(key, *c.rules);
        co_return d.limit - c.already - d.remaining;
    }

    [[nodiscard]] trial_end state() const {
        return {.said = conversation_,
                .trial = trial_,
                .timeout = settings_.timeout,
                .struck = proxies_.on(trial_.connection),
                .was_breaker_open = limiter_.statistics().breaker_openings != 0,
                .outcomes = *outcomes_};
    }

    /// The limiter finds the servers of all calls again by itself.
    asio::awaitable<void> try_again(const trial_end& ended, findings& into) {
        const auto until = steady::now() + patience;
        for (std::size_t i = 0; i < conversation_.calls.size(); ++i) {
            const auto& c = conversation_.calls[i];
            const auto key = key_of(c, "again", 0);
            for (auto ec = error_code{errc::unavailable}; ec && steady::now() < until;) {
                auto token = asio::redirect_error(asio::use_awaitable, ec);
                (void)co_await limiter_.allow(key, c.rules ? *c.rules : log_policy(), token);
                if (ec)
                    co_await pause_for(1ms);
            }
            if (steady::now() >= until)
                co_return note_absence(ended, i, into);
        }
    }

    /// On a busy machine an attempt to connect may take longer than its timeout, which is short if
    /// the handshake was struck; then the trial is repeated with a longer one.
    void note_absence(const trial_end& ended, std::size_t call, findings& into) const {
        if (!strikes_handshake(conversation_, trial_))
            complain(ended, call, "and the limiter does not come back", into);
        else if (std::ranges::count(into.missed, trial_.number, &trial::number) == 0)
            into.missed.push_back(trial_);
    }

    const loop_clock& clock_;
    const conversation& conversation_;
    trial trial_;
    proxies proxies_;
    config settings_;
    limiter limiter_;
    std::shared_ptr<std::vector<outcome_of_call>> outcomes_;
};

} // namespace

std::array<std::vector<std::string>, 2> record(const trial_servers& servers, const conversation& c,
                                               std::size_t connection) {
    auto context = asio::io_context{1};
    const auto made = settings(servers.direct, c);
    auto look = limiter{context.get_executor(), made};
    auto unused = findings{};
    auto messages = std::array<std::vector<std::string>, 2>{};
    const auto clock = loop_clock{context};
    for (const auto number : {99'998, 99'999}) { // the second time the servers know the scripts
        auto t = trial{.number = number, .connection = 0, .wrong = {}, .deadline = 10s};
        t.wrong.message = c.connections.front().handshake;
        auto one = one_trial{context, clock, servers, c, t, true};
        run(context, [&] { return one.run(look, unused); });
        messages = one.on(connection)->messages;
    }
    return messages;
}

void run_trials(const trial_servers& servers, const conversation& c, const std::vector<trial>& row,
                findings& found) {
    auto context = asio::io_context{1};
    const auto made = settings(servers.direct, c);
    auto look = limiter{context.get_executor(), made};
    const auto clock = loop_clock{context};
    run_trials_at_once(context, row.size(), [&](std::size_t i) -> asio::awaitable<void> {
        auto one = std::make_unique<one_trial>(context, clock, servers, c, row[i]);
        co_await one->run(look, found);
    });
}

} // namespace colimit::test
