// SPDX-License-Identifier: BSL-1.0
//
// Limiters without calls, on one server, which ends and comes back.

#include "storm.hpp"

#include "data_server.hpp"
#include "network.hpp"

#include <colimit/limiter.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

namespace colimit::simulation {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t client_count = 1'000;
constexpr std::int64_t tenth = 100 * millisecond;

/// Notes when clients try to connect.
class gate final : public host {
  public:
    gate(machine& m, host& behind) : machine_(m), behind_(behind) {}

    void on_bytes(connection& from, std::string_view bytes) override {
        behind_.on_bytes(from, bytes);
    }
    void on_end(connection& of) override { behind_.on_end(of); }
    void on_connect() override { times.push_back(machine_.now()); }

    std::vector<std::int64_t> times;

  private:
    machine& machine_;
    host& behind_;
};

/// Returns the most times in any tenth of a second between these two.
[[nodiscard]] std::size_t most_in_a_tenth(const std::vector<std::int64_t>& times, std::int64_t from,
                                          std::int64_t to) {
    auto most = std::size_t{0};
    for (auto first = std::ranges::lower_bound(times, from); first != times.end() && *first < to;
         ++first) {
        const auto last =
            std::ranges::lower_bound(first, times.end(), std::min(*first + tenth, to));
        most = std::max(most, static_cast<std::size_t>(last - first));
    }
    return most;
}

} // namespace

storm_result run_storm(std::uint64_t seed, simulation::flaw flaw, std::int64_t away,
                       std::int64_t delay_max) {
    auto m = machine{seed, flaw};
    auto net = network{m};
    m.attached = &net;
    const auto names = catalogue{{policy{"p", gcra(10, 1s)}}, 1, "s"};
    auto records = ledger{m, names.limits(), 1};
    auto behind = data_server{net, place{0x0a000001, 6379}, names, records};
    auto front = gate{m, behind};
    net.add(place{0x0a000002, 6379}, front);

    auto context = boost::asio::io_context{1};
    auto clients = std::vector<std::unique_ptr<limiter>>{};
    auto settings = config{};
    settings.server = "redis://10.0.0.2";
    settings.advanced.reconnect_delay_max =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::microseconds{delay_max});
    settings.advanced.local_max_states = 1;
    settings.advanced.deny_cache = 0;
    for (std::size_t i = 0; i < client_count; ++i)
        clients.push_back(std::make_unique<limiter>(context.get_executor(), settings));

    const auto ends = m.now() + 3 * second;
    const auto returns = ends + away;
    const auto is_connected = [&] {
        return static_cast<std::size_t>(std::ranges::count_if(
            clients, [](const auto& c) { return c->health().state == health_state::ready; }));
    };
    m.at(ends, [&] {
        front.is_up = false;
        for (const auto& c : net.connections_of(front))
            c->reset();
    });
    auto result = storm_result{.clients = client_count};
    m.at(returns, [&] { front.is_up = true; });
    auto timer = boost::asio::steady_timer{context, 3s + std::chrono::microseconds{away} + 10s};
    timer.async_wait([&](error_code) {
        result.returned = is_connected();
        for (auto& c : clients)
            c->close();
    });
    context.run();
    result.attempts = most_in_a_tenth(front.times, ends, returns);
    result.reconnects = most_in_a_tenth(front.times, returns, never);
    result.last = front.times.back() - returns;
    return result;
}

} // namespace colimit::simulation
