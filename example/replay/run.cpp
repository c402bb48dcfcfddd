// SPDX-License-Identifier: BSL-1.0
//
// A few hundred coroutines share the work, so that many calls are in flight and sent together. Each
// takes the next request and calls the limiter in the same event-loop iteration; so the calls are
// in the order of time. The limiter decides the calls of one policy in the order in which they were
// made, and therefore the result is the same as from one coroutine that waits for each decision.

#include "replay/run.hpp"

#include "replay/format.hpp"

#include <colimit.hpp>

#include <algorithm>
#include <array>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <random>
#include <stdexcept>
#include <unistd.h>
#include <utility>

namespace replay {

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

constexpr auto patience = 5s; // for the first connection
constexpr std::size_t most_calls = 512;

/// Returns a prefix that neither another replay nor an application uses.
std::string own_prefix() {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "colimit-replay-%ld-%08x", static_cast<long>(getpid()),
                  std::random_device{}());
    return text.data();
}

colimit::config configuration(const history& log, const colimit::policy& policy,
                              const std::string& server) {
    colimit::config c;
    c.server = server;
    c.prefix = own_prefix();
    c.timeout = 10s; // a replay is patient
    c.on_failure = colimit::failure_mode::error;
    c.min_key_ttl = 1h;       // one second of the log may take longer here
    c.batches_in_flight = 64; // all calls in a batch have one clock, so batches are small
    c.local_max_states = std::max<std::size_t>(log.clients.size() * policy.size(), 1);
    return c;
}

class player {
  public:
    player(const history& log, const colimit::policy& policy, const std::string& server,
           progress& shown)
        : log_(log), policy_(policy), server_(server), shown_(shown),
          limiter_(context_.get_executor(), configuration(log, policy, server)),
          verdicts_(log.requests.size(), allowed) {}

    std::vector<verdict> play() {
        in_parallel(1, [this] { return connect(); });
        if (!failure_) {
            for (const int number : {SIGINT, SIGTERM, SIGHUP})
                signals_.add(number);
            signals_.async_wait([this](colimit::error_code ec, int number) {
                if (!ec)
                    signal_ = number;
                signals_.clear();
            });
            play_requests();
            forget_clients();
        }
        if (signal_ != 0)
            throw interrupted{signal_};
        if (failure_)
            std::rethrow_exception(failure_);
        return std::move(verdicts_);
    }

  private:
    /// Runs `count` coroutines until all of them have ended. Stores the first failure.
    template<class MakeCoroutine>
    void in_parallel(std::size_t count, MakeCoroutine make) {
        auto running = count;
        for (std::size_t i = 0; i < count; ++i)
            asio::co_spawn(context_, make(), [this, &running](const std::exception_ptr& failure) {
                if (failure && !failure_)
                    failure_ = failure;
                if (--running == 0)
                    context_.stop();
            });
        context_.restart();
        context_.run();
    }

    asio::awaitable<void> connect() {
        asio::steady_timer timer{context_, patience};
        timer.async_wait([this](colimit::error_code ec) {
            if (!ec)
                limiter_.close();
        });
        try {
            co_await limiter_.ready();
        } catch (const boost::system::system_error& e) {
            if (e.code() != colimit::errc::closed)
                throw;
            throw std::runtime_error{"no answer from " + without_password(server_) + " within " +
                                     duration(patience)};
        }
    }

    void play_requests() {
        shown_.begin("replaying", log_.requests.size());
        const auto count = std::min(most_calls, log_.requests.size());
        in_parallel(count, [this] { return play_some(); });
        shown_.end();
    }

    asio::awaitable<void> play_some() {
        while (next_request_ < log_.requests.size() && signal_ == 0 && !failure_) {
            const auto at = next_request_++;
            const auto& request = log_.requests[at];
            const auto& client = log_.clients[request.client];
            const auto d = co_await limiter_.allow(client, policy_, {.now = request.time});
            if (!d)
                verdicts_[at] = static_cast<verdict>(d.limiting_rule);
            if (at % 1024 == 0)
                shown_.advance(at);
        }
    }

    /// Clients are numbered in the order of the log, which is not quite that of time; so all keys
    /// that may have been used are reset, which is harmless for the others.
    void forget_clients() {
        const auto earlier = std::exchange(failure_, nullptr);
        const auto count = std::min(most_calls, log_.clients.size());
        in_parallel(count, [this] { return forget_some(); });
        if (failure_)
            std::cerr << "replay: some keys of this run are left on the server; they end by "
                         "themselves within an hour\n";
        if (earlier)
            failure_ = earlier;
    }

    asio::awaitable<void> forget_some() {
        const colimit::reset_options at_the_end{.now = log_.requests.back().time};
        while (next_client_ < log_.clients.size() && !failure_) {
            const auto& client = log_.clients[next_client_++];
            co_await limiter_.reset(client, policy_, at_the_end);
        }
    }

    const history& log_;
    const colimit::policy& policy_;
    const std::string& server_;
    progress& shown_;
    asio::io_context context_{1};
    asio::signal_set signals_{context_};
    colimit::limiter limiter_;
    std::vector<verdict> verdicts_;
    std::size_t next_request_ = 0;
    std::size_t next_client_ = 0;
    int signal_ = 0;
    std::exception_ptr failure_;
};

} // namespace

std::vector<verdict> run(const history& log, const colimit::policy& policy,
                         const std::string& server, progress& shown) {
    return player{log, policy, server, shown}.play();
}

} // namespace replay
