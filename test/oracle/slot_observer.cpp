// SPDX-License-Identifier: BSL-1.0
//
// One script reads the time and all sets, so nothing changes in between.

#include "slot_observer.hpp"

#include "slot_checker.hpp"

#include <support/raw_client.hpp>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace colimit::oracle {
namespace {

/// ARGV prefix, name, places, lease. Returns how many sets of this limit are crowded.
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

slot_observer::slot_observer(std::string server, std::string prefix)
    : server_(std::move(server)), prefix_(std::move(prefix)), thread_([this] { look(); }) {}

void slot_observer::end() {
    is_over_ = true;
    if (thread_.joinable())
        thread_.join();
}

void slot_observer::look() {
    auto client = std::optional<test::raw_client>{};
    while (!is_over_) {
        try {
            if (!client)
                client.emplace(server_);
            for (const auto& l : slot_limits) {
                const auto places = std::to_string(l.places);
                const auto lease = std::to_string(l.lease);
                crowded_ +=
                    client->must({"EVAL", count_crowded, "0", prefix_, l.name, places, lease})
                        .integer;
            }
            ++looks_;
        } catch (const std::runtime_error&) { // the server or the connection was ended
            client.reset();
        }
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
}

} // namespace colimit::oracle
