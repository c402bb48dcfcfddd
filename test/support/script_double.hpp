// SPDX-License-Identifier: BSL-1.0
//
// A substitute for the script without a server: reads the commands that a batch encodes, makes
// their calls with the C++ arithmetic, and replies with the bytes that the script would return.

#pragma once

#include <colimit/policy.hpp>
#include <core/evaluate.hpp>
#include <core/state_encoding.hpp>
#include <policy/policy_data.hpp>
#include <redis/protocol/resp.hpp>
#include <support/command_decoder.hpp>
#include <support/stored_value.hpp>

#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colimit::test {

using command = std::vector<std::string>;

// Replies to the commands of a handshake.
inline constexpr std::string_view hello_reply = "%1\r\n$6\r\nserver\r\n$5\r\nredis\r\n";
inline constexpr std::string_view permissions_reply = "*3\r\n$0\r\n\r\n$0\r\n\r\n$0\r\n\r\n";
inline constexpr std::string_view load_reply =
    "$40\r\n0123456789012345678901234567890123456789\r\n";

/// Takes the complete commands off the front of `bytes`.
[[nodiscard]] inline std::vector<command> take_commands(std::string& bytes) {
    auto found = std::vector<command>{};
    auto reader = command_decoder();
    while (!bytes.empty() && reader.feed(bytes) == redis::resp::progress::complete) {
        auto& words = found.emplace_back();
        for (const auto& n : reader.nodes().subspan(1))
            words.emplace_back(reader.text(n, bytes));
        bytes.erase(0, reader.consumed());
        reader.next();
    }
    return found;
}

/// The commands of a whole stream.
[[nodiscard]] inline std::vector<command> commands_of(std::string bytes) {
    auto found = take_commands(bytes);
    if (!bytes.empty())
        throw std::runtime_error{"the stream ends within a command"};
    return found;
}

/// The parts of an EVALSHA or EVAL of the script, or of COLIMIT.CHECK.
struct script_call {
    explicit script_call(const command& words) {
        const auto names_script = words.at(0) != "COLIMIT.CHECK";
        const auto count = std::stoul(words.at(names_script ? 2 : 1));
        const auto first = std::size_t{names_script ? 3U : 2U};
        const auto begin = words.begin() + static_cast<std::ptrdiff_t>(first);
        keys.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
        plan = words.at(first + count);
        nonce = words.at(first + 1 + count);
        clock = words.at(first + 2 + count);
        min_key_ttl = words.at(first + 3 + count);
        const auto& packed = words.at(first + 4 + count);
        const auto times_of = [&](std::size_t k) -> std::size_t {
            return packed.empty()           ? 1
                   : packed.size() == count ? number<std::uint8_t>(packed, k)
                                            : number<std::uint16_t>(packed, 2 * k);
        };
        if (packed.empty() || packed.size() == count || packed.size() == 2 * count)
            for (std::size_t k = 0; k < count; ++k)
                calls.insert(calls.end(), times_of(k), {k, detail::call_request{}});
        else
            for (std::size_t at = 0; at < packed.size(); at += 21)
                calls.insert(calls.end(), number<std::uint16_t>(packed, at + 3),
                             unpack(packed, at));
    }

    std::vector<std::string> keys;
    std::string plan, nonce, clock, min_key_ttl;
    std::vector<std::pair<std::size_t, detail::call_request>> calls; ///< key and question

  private:
    template<class T>
    [[nodiscard]] static T number(const std::string& bytes, std::size_t at) {
        T value{};
        std::memcpy(&value, bytes.data() + at, sizeof value);
        return value;
    }

    [[nodiscard]] static std::pair<std::size_t, detail::call_request>
    unpack(const std::string& bytes, std::size_t at) {
        const auto whole = [&](std::size_t place) {
            return static_cast<std::int64_t>(number<double>(bytes, at + place));
        };
        return {number<std::uint16_t>(bytes, at),
                detail::call_request{
                    .verb = static_cast<detail::verb>(number<std::uint8_t>(bytes, at + 2)),
                    .cost = whole(5),
                    .at_least = whole(13)}};
    }
};

/// A reply of the script from its parts; a value that is none stands for a key that is not there.
struct script_reply {
    std::vector<std::optional<std::string>> values{};
    std::string nonce = "1";
    std::string time = "1000 0";
    std::int64_t granted = 0;
    std::string statuses = "-";
    std::vector<std::size_t> shards{}; ///< if states are packed: how many of them each shard has

    [[nodiscard]] std::string bytes() const {
        auto out = std::string{};
        redis::resp::append_array(out, (shards.empty() ? values.size() : shards.size()) + 1);
        auto shard = shards.begin();
        auto rest = std::size_t{0};
        for (const auto& v : values) {
            if (shard != shards.end() && rest-- == 0) {
                redis::resp::append_array(out, *shard + 1);
                out += "$-1\r\n";
                rest = *shard++ - 1;
            }
            if (v)
                redis::resp::append_bulk(out, *v);
            else
                out += "$-1\r\n";
        }
        redis::resp::append_bulk(out, nonce + ' ' + time + ' ' + std::to_string(granted) + ' ' +
                                          statuses);
        return out;
    }
};

/// The keys of one policy and what they hold.
class script_double {
  public:
    explicit script_double(colimit::policy p) : policy_(std::move(p)) {}

    std::int64_t now = 1'000'000'000; ///< microseconds, unless the call brings a clock

    [[nodiscard]] script_reply answer(const script_call& asked) {
        const auto& plan = detail::access::data(policy_)->compiled;
        if (asked.plan != detail::access::data(policy_)->wire)
            throw std::runtime_error{"another policy's plan"};
        const auto at = asked.clock.empty() ? now : std::stoll(asked.clock);
        auto reply = script_reply{
            .values = {},
            .nonce = asked.nonce,
            .time = asked.clock.empty()
                        ? std::to_string(at / 1'000'000) + ' ' + std::to_string(at % 1'000'000)
                        : "0 " + asked.clock,
        };
        for (const auto& key : asked.keys)
            reply.values.push_back(values_[key]);
        for (auto [k, question] : asked.calls) {
            auto& value = values_[asked.keys.at(k)];
            auto state = core::decode_value(plan, value);
            auto result = decision{};
            question.now = at;
            const auto effect = core::evaluate(plan, state, question, result);
            const auto asks =
                question.verb == detail::verb::allow || question.verb == detail::verb::peek;
            reply.granted += asks && result.allowed() ? 1 : 0;
            if (effect == core::effect::store)
                value = test::encode_value(plan, state, 0);
            else if (effect == core::effect::erase)
                value.reset();
        }
        ++calls_;
        return reply;
    }

    [[nodiscard]] std::string answer(const command& words) {
        return answer(script_call{words}).bytes();
    }

    /// Script calls answered.
    [[nodiscard]] int calls() const noexcept { return calls_; }

  private:
    colimit::policy policy_;
    std::map<std::string, std::optional<std::string>> values_;
    int calls_ = 0;
};

} // namespace colimit::test
