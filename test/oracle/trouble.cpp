// SPDX-License-Identifier: BSL-1.0
//
// The chances of faults are those of a tick.

#include "trouble.hpp"

#include "clock.hpp"

#include <support/fault_proxy.hpp>

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

namespace colimit::oracle {
namespace {

using namespace std::chrono_literals;

/// ARGV prefix, name, places, lease. Reads the time and all sets of this limit at once, and returns
/// how many are crowded.
constexpr std::string_view count_crowded = R"(
local time = redis.call('TIME')
local now, text = time[1] * 1000000 + time[2], function(n) return string.format('(%.0f', n) end
local crowded = 0
for _, set in ipairs(redis.call('KEYS', ARGV[1] .. ':*' .. ARGV[2] .. ':*')) do
    if redis.call('ZCOUNT', set, text(now), '+inf') > ARGV[3] + 0 or
        redis.call('ZCOUNT', set, text(now + ARGV[4]), '+inf') > 0 then
        crowded = crowded + 1
    end
end
return crowded
)";

} // namespace

fault_injector::fault_injector(test::redis_server* own, std::string server, std::uint64_t seed,
                               std::function<void()> before_kill)
    : own_(own), server_(std::move(server)), random_(seed), before_kill_(std::move(before_kill)) {}

void fault_injector::tick() {
    ++ticks_;
    try {
        if (!client_)
            client_ = std::make_unique<test::raw_client>(server_);
        client_->must({"SCRIPT", "FLUSH"});
        if (random_() % 20 == 0)
            client_->must({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    } catch (const std::runtime_error&) { // the connection was among those that were killed
        client_.reset();
    }
    if (own_ == nullptr)
        return;
    if (random_() % 100 == 0)
        freeze();
    // Early, so that also a short run has one.
    if (ticks_ == 20 || random_() % 200 == 0)
        kill();
}

void fault_injector::freeze() {
    own_->stop();
    std::this_thread::sleep_for(std::chrono::milliseconds{random_() % 200});
    own_->cont();
}

void fault_injector::kill() {
    try {
        before_kill_();
    } catch (const std::exception&) { // NOLINT: a busy server keeps its totals to itself
    }
    client_.reset();
    own_->kill();
    const auto now = microseconds_now();
    losses_.push_back({.begin = now, .end = now});
    std::this_thread::sleep_for(std::chrono::milliseconds{random_() % 100});
    own_->start();
}

void serve_bad_network(board& b, const std::string& server, std::uint64_t seed) {
    auto random = std::mt19937_64{seed};
    auto context = boost::asio::io_context{1};
    auto proxy =
        test::fault_proxy{context, server, [&](int) { return test::random_fault(random); }};
    b.port = proxy.port();
    for (;;) { // until it is killed
        context.run_one_for(10ms);
        if (!b.drop_all)
            continue;
        proxy.refuse();
        proxy.accept();
        b.drop_all = false;
    }
}

void look_at_holders(board& b, const std::string& server, const std::string& prefix) {
    auto client = std::optional<test::raw_client>{};
    for (;;) { // until it is killed
        try {
            if (!client)
                client.emplace(server);
            for (const auto& l : slot_limits)
                b.crowded += client
                                 ->must({"EVAL", count_crowded, "0", prefix, l.name,
                                         std::to_string(l.tokens), std::to_string(l.lease)})
                                 .integer;
            ++b.looks;
        } catch (const std::runtime_error&) { // the server or the connection was ended
            client.reset();
        }
        std::this_thread::sleep_for(1ms);
    }
}

void forget_requests(test::raw_client& server, const std::string& prefix) {
    server.must({"EVAL",
                 "for _, key in ipairs(redis.call('SCAN', ARGV[2], 'MATCH', ARGV[1], 'COUNT', "
                 "1000)[2]) do redis.call('DEL', key) end",
                 "0", prefix + ":*:r:*", "0"});
}

} // namespace colimit::oracle
