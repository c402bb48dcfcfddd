// SPDX-License-Identifier: BSL-1.0
//
// A few hundred coroutines share the work, so that many calls are in flight and sent together. Each
// takes the next request and calls the limiter in the same event-loop iteration; so the calls are
// in the order of time. The limiter decides the calls of one policy in the order in which they were
// made, and therefore the result is the same as from one coroutine that waits for each decision.

#include <tool/frame/command.hpp>
#include <tool/frame/many_callers.hpp>
#include <tool/frame/server_options.hpp>
#include <tool/replay/run.hpp>

#include <boost/asio/awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <iostream>
#include <utility>

namespace tool::replay {

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

constexpr std::size_t most_calls = 512;

/// Returns more states than the replay can use, of which memory is taken as they are used.
std::size_t states(const history& log, const limits& tried) {
    constexpr std::size_t most = 1'000'000'000;
    return std::min(most, 1024 + 2 * log.requests.size() * (tried.rules().size() + 1));
}

colimit::config configuration(const history& log, const limits& tried, const std::string& server) {
    colimit::config c;
    c.server = server;
    c.prefix = own_prefix("colimit-replay");
    c.timeout = 10s; // a replay is patient
    c.on_failure = colimit::failure_mode::error;
    c.advanced.min_key_ttl = 1h;       // one second of the log may take longer here
    c.advanced.batches_in_flight = 64; // all calls in a batch have one clock, so batches are small
    c.advanced.local_max_states = states(log, tried);
    return c;
}

/// Returns all keys of the log, each at least once.
std::vector<check> keys_of(const history& log, const limits& tried) {
    std::vector<check> keys;
    if (!tried.has_keys())
        for (const auto& client : log.clients)
            keys.push_back({0, client});
    for (const auto& call : log.calls)
        keys.insert(keys.end(), call.begin(), call.end());
    return keys;
}

class player {
  public:
    player(const history& log, const limits& tried, const std::string& server, progress& shown)
        : log_(log), tried_(tried), shown_(shown), callers_(configuration(log, tried, server)),
          is_in_memory_(is_in_memory(server)), verdicts_(log.requests.size(), allowed) {}

    std::vector<verdict> play() {
        callers_.connect(5s);
        const auto failure = play_requests();
        const auto is_clean = is_in_memory_ || forget_keys();
        if (callers_.signal() != 0)
            throw interrupted{callers_.signal(), is_clean
                                                     ? "interrupted; nothing is left on the server"
                                                     : "interrupted"};
        if (failure)
            callers_.rethrow(failure);
        return std::move(verdicts_);
    }

  private:
    std::exception_ptr play_requests() {
        shown_.begin("replaying", log_.requests.size());
        const auto failure = callers_.run(std::min(most_calls, log_.requests.size()),
                                          [this] { return play_some(); });
        shown_.end();
        return failure;
    }

    asio::awaitable<void> play_some() {
        while (next_request_ < log_.requests.size() && callers_.signal() == 0 &&
               !callers_.has_failed()) {
            const auto at = next_request_++;
            const auto& request = log_.requests[at];
            if (tried_.has_keys()) {
                co_await play_call(log_.calls[request.call], at);
            } else {
                const auto d = co_await callers_.limiter().allow(
                    log_.clients[request.client], tried_.policies()[0], {.now = request.time});
                if (!d)
                    verdicts_[at] = static_cast<verdict>(tried_.denying_rule(0, d));
            }
            if (at % 1024 == 0)
                shown_.advance(at);
        }
    }

    asio::awaitable<void> play_call(const call& checks, std::size_t at) {
        if (checks.empty())
            co_return;
        const colimit::check_options options{.now = log_.requests[at].time};
        std::vector<colimit::check_item> items;
        for (const auto& each : checks)
            items.push_back({each.key, tried_.policies()[each.policy], options});
        colimit::decision d;
        if (items.size() == 1)
            d = co_await callers_.limiter().allow(items[0].key, items[0].policy, options);
        else
            d = co_await callers_.limiter().allow_all(items);
        if (!d)
            verdicts_[at] =
                static_cast<verdict>(tried_.denying_rule(checks[d.limiting_check].policy, d));
    }

    /// Resets all keys that may have been used, which is harmless for the others. Returns whether
    /// none is left.
    bool forget_keys() {
        keys_ = keys_of(log_, tried_);
        if (!callers_.run(std::min(most_calls, keys_.size()), [this] { return forget_some(); }))
            return true;
        std::cerr << "colimit replay: what this run may have written was not removed; such keys "
                     "end by themselves, within an hour or when the rules have recovered\n";
        return false;
    }

    asio::awaitable<void> forget_some() {
        const colimit::reset_options at_the_end{.now = log_.requests.back().time};
        while (next_key_ < keys_.size() && !callers_.has_failed()) {
            const auto& [policy, key] = keys_[next_key_++];
            co_await callers_.limiter().reset(key, tried_.policies()[policy], at_the_end);
        }
    }

    const history& log_;
    const limits& tried_;
    progress& shown_;
    many_callers callers_;
    bool is_in_memory_; ///< so nothing is left after the program
    std::vector<verdict> verdicts_;
    std::size_t next_request_ = 0;
    std::vector<check> keys_;
    std::size_t next_key_ = 0;
};

} // namespace

std::vector<verdict> run(const history& log, const limits& tried, const std::string& server,
                         progress& shown) {
    return player{log, tried, server, shown}.play();
}

} // namespace tool::replay
