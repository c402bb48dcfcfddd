// SPDX-License-Identifier: BSL-1.0
//
// A client with slots as one would write it in an afternoon, right, or without one of the rules.
// Its sets are those of the library: holders by the end of their leases, and '' with minus the last
// token.

#include "slot_caller.hpp"

#include "deployment.hpp"

#include <redis/protocol/resp.hpp>
#include <support/raw_client.hpp>
#include <support/rng.hpp>

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

namespace colimit::oracle {
namespace {

using namespace std::chrono_literals;

/// KEYS set; ARGV verb, holder, lease, places, and whether ended leases count or are revived, and
/// whether an empty set is forgotten. Returns granted, seconds, microseconds, token.
constexpr std::string_view slot_script = R"(
local set, verb, holder, lease, places = KEYS[1], ARGV[1], ARGV[2], ARGV[3] + 0, ARGV[4] + 0
local counts_ended, forgets = ARGV[5] == '1', ARGV[6] == '1'
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local function text(number) return string.format('%.0f', number) end
local function last_end(id) return tonumber(redis.call('ZSCORE', set, id) or 0) end
local function extend()
    redis.call('ZADD', set, text(now + lease), holder)
    if not counts_ended then redis.call('PEXPIRE', set, text(lease / 1000 + 1)) end
end
local granted, token = 1, 0
if verb == 'acquire' or verb == 'look' then
    local holders = redis.call('ZCOUNT', set, counts_ended and '(0' or '(' .. text(now), '+inf')
    granted = holders < places and 1 or 0
end
if verb == 'add' or verb == 'acquire' and granted == 1 then
    token = forgets and 1 - last_end('') or math.max(1 - last_end(''), now)
    redis.call('ZADD', set, text(-token), '')
    extend()
elseif verb == 'renew' then
    granted = (counts_ended or last_end(holder) > now) and 1 or 0
    if granted == 1 then extend() end
elseif verb == 'release' then
    redis.call('ZREM', set, holder)
    if forgets and redis.call('ZCARD', set) == 1 then redis.call('DEL', set) end
end
return {granted, time[1], time[2], token}
)";

struct slot_reply {
    bool granted;
    std::int64_t sent;
    std::int64_t time; ///< the server's
    std::int64_t arrival;
    std::uint64_t token;
};

struct hand_slot {
    std::string id;
    std::size_t limit;
    std::size_t key;
    slot_record* record = nullptr;
    std::int64_t leaves = 0; ///< when it is given back
    std::int64_t renewed = 0;
    std::int64_t ends = 0;
    bool is_released = false;
};

class slot_hand {
  public:
    explicit slot_hand(const slot_task& t) : task_(t), random_(t.seed) {}

    void run() {
        auto& board = *task_.board;
        const auto number = static_cast<std::size_t>(task_.process);
        while (!board.stop) {
            try {
                step(board.rest);
            } catch (const std::runtime_error&) { // the connection was ended
                client_.reset();
            }
            board.held[number] = count_held();
            board.rests[number] = board.rest && board.held[number] == 0;
            std::this_thread::sleep_for(500us);
        }
    }

    [[nodiscard]] bool acquire(std::size_t limit, std::size_t key) {
        auto s =
            hand_slot{.id = "holder " + std::to_string(random_.bits()), .limit = limit, .key = key};
        // A reply that comes late; not under all limits, as the process waits for it. Only then
        // does it matter from when on a lease counts.
        const auto often = without(slot_flaw::from_arrival) ? 50U : 5U;
        const auto is_late = limit == 0 && random_.percent(often);
        const auto delay = is_late ? slot_limits[limit].lease * 8 / 10 : 0;
        const auto is_torn = without(slot_flaw::check_then_add);
        auto got = ask(s, is_torn ? "look" : "acquire", delay);
        if (got.granted && is_torn)
            got = ask(s, "add");
        ++task_.board->checks;
        if (!got.granted) {
            ++task_.board->denied;
            return false;
        }
        s.record = &task_.records->append({limit, key, got.time, got.token});
        set_lease(s, got);
        s.leaves = got.arrival + random_.between(0, slot_limits[limit].lease * 2);
        held_.push_back(std::move(s));
        return true;
    }

  private:
    [[nodiscard]] bool without(slot_flaw f) const { return task_.board->flaw == f; }

    slot_reply ask(const hand_slot& s, std::string_view verb, std::int64_t delay = 0) {
        const auto& l = slot_limits[s.limit];
        const auto set = task_.prefix + ':' + std::string{l.name} + ':' + keys_[s.key];
        const auto lease = std::to_string(l.lease);
        const auto places = std::to_string(l.places);
        const auto counts_ended =
            without(slot_flaw::never_expires) || (without(slot_flaw::revives) && verb == "renew");
        auto out = std::string{};
        redis::resp::append_command(out, {"EVAL", slot_script, "1", set, verb, s.id, lease, places,
                                          counts_ended ? "1" : "0",
                                          without(slot_flaw::forgets_token) ? "1" : "0"});
        if (!client_)
            client_.emplace(task_.server);
        const auto sent = microseconds_now();
        client_->send(out);
        std::this_thread::sleep_for(std::chrono::microseconds{delay});
        const auto said = client_->receive();
        if (said.elements.size() != 4)
            throw std::logic_error{"the script failed: " + said.text};
        return {.granted = said.elements[0].integer == 1,
                .sent = sent,
                .time = std::stoll(said.elements[1].text) * 1'000'000 +
                        std::stoll(said.elements[2].text),
                .arrival = microseconds_now(),
                .token = static_cast<std::uint64_t>(said.elements[3].integer)};
    }

    void set_lease(hand_slot& s, const slot_reply& got) const {
        const auto lease = slot_limits[s.limit].lease;
        s.renewed = got.sent;
        s.ends =
            (without(slot_flaw::from_arrival) ? got.arrival : got.sent) + lease - lease / 1'000;
    }

    [[nodiscard]] int count_held() const {
        return static_cast<int>(std::ranges::count(held_, false, &hand_slot::is_released));
    }

    void step(bool is_over) {
        for (auto s = held_.begin(); s != held_.end();)
            s = keep(*s, is_over) ? s + 1 : held_.erase(s);
        if (!is_over && count_held() < 4)
            (void)acquire(random_.below(slot_limits.size()), random_.below(slot_keys));
    }

    /// Returns whether it is to be kept.
    [[nodiscard]] bool keep(hand_slot& s, bool is_over) {
        const auto now = microseconds_now();
        const auto is_lost = now >= s.ends && !without(slot_flaw::ignores_loss);
        if (is_lost && !without(slot_flaw::revives)) {
            ++task_.board->lost;
            return false;
        }
        if ((is_over || now >= s.leaves) && !s.is_released) {
            s.is_released = without(slot_flaw::keeps_renewing);
            if (!s.is_released)
                ask(s, "release");
            return s.is_released;
        }
        if (!s.is_released && !is_lost)
            s.record->believe(now);
        if (now < s.renewed + slot_limits[s.limit].lease / 3)
            return true;
        const auto got = ask(s, "renew");
        if (!got.granted && !without(slot_flaw::ignores_loss)) {
            ++task_.board->lost;
            return false;
        }
        set_lease(s, got);
        return true;
    }

    const slot_task& task_;
    test::rng random_;
    std::array<std::string, slot_keys> keys_ = slot_key_names();
    std::optional<test::raw_client> client_;
    std::vector<hand_slot> held_;
};

} // namespace

void call_with_slots_by_hand(const slot_task& t) {
    slot_hand{t}.run();
}

std::int64_t lost_places_by_hand(const slot_task& t, std::int64_t since) {
    auto hand = slot_hand{t};
    auto found = std::int64_t{0};
    for (std::size_t l = 0; l < slot_limits.size(); ++l) {
        await_end_of_leases(t.server, slot_limits[l], since);
        for (std::size_t k = 0; k < slot_keys; ++k)
            for (auto place = slot_limits[l].places; place > 0; --place)
                found += hand.acquire(l, k) ? 0 : 1;
    }
    return found;
}

} // namespace colimit::oracle
