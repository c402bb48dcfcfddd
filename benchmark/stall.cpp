// SPDX-License-Identifier: BSL-1.0
//
// How long does a client need to catch up when the server stops for 10 ms, ten times per second, at
// three quarters of its load? Stalls of the machine hit both clients by chance; these hit both
// alike, and are so long that they decide the percentiles.

#include <scenarios.hpp>
#include <support/server.hpp>

#include <chrono>
#include <csignal>
#include <stop_token>
#include <thread>

namespace colimit::benchmark {
namespace {

using namespace std::chrono_literals;

constexpr auto share = 0.75;
constexpr auto stall = 10ms;
constexpr auto between = 90ms;

/// Stops and continues the server repeatedly during its lifetime. It never leaves the server
/// stopped.
class stalls {
  public:
    explicit stalls(const server& of)
        : thread_([process = of.process()](const std::stop_token& end) {
              while (!end.stop_requested()) {
                  std::this_thread::sleep_for(between);
                  ::kill(process, SIGSTOP);
                  std::this_thread::sleep_for(stall);
                  ::kill(process, SIGCONT);
              }
          }) {}

  private:
    std::jthread thread_;
};

} // namespace

measurement bare_stall(const conditions& c) {
    const auto stopping = stalls{server{c.socket}};
    return bare_load(c, share);
}

measurement latency_stall(const conditions& c) {
    const auto stopping = stalls{server{c.socket}};
    return latency(c, share);
}

} // namespace colimit::benchmark
