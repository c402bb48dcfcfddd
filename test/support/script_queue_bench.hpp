// SPDX-License-Identifier: BSL-1.0
//
// A queue with a connection that the test controls: what is written, how much of it is sent, and
// the replies.

#pragma once

#include <redis/script/script_queue.hpp>
#include <support/fake_operation.hpp>
#include <support/script_double.hpp>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colimit::test {

struct script_queue_bench {
    explicit script_queue_bench(redis::queue_settings s = {.prefix = "t"}) : queue(std::move(s)) {}

    error_code submit(fake_operation& op, std::string_view key, const colimit::policy& p) {
        return queue.submit(op, key, detail::access::data(p));
    }

    /// Returns the bytes that the queue writes now, at the right position of the stream.
    std::string write() {
        auto out = std::string{};
        queue.write(out, position, 0);
        position += out.size();
        return out;
    }

    /// The script calls that the queue writes now.
    std::vector<script_call> write_calls() {
        auto calls = std::vector<script_call>{};
        for (const auto& words : commands_of(write()))
            if (words.at(0) == "EVALSHA" || words.at(0) == "EVAL")
                calls.emplace_back(words);
        return calls;
    }

    /// One reply of the server.
    std::optional<redis::recovery> reply(std::string_view bytes) {
        auto reader = redis::resp::decoder{};
        if (reader.feed(bytes) != redis::resp::progress::complete)
            throw std::runtime_error{"not one whole reply"};
        return queue.read_reply(reader, bytes);
    }

    /// The calls that came back, in order.
    std::vector<detail::operation*> take_done() {
        auto ended = std::vector<detail::operation*>{};
        while (auto* op = queue.done.pop_front())
            ended.push_back(op);
        return ended;
    }

    redis::script_queue queue;
    std::uint64_t position = 0;
};

inline constexpr std::string_view noscript = "-NOSCRIPT No matching script. Please use EVAL.\r\n";

} // namespace colimit::test
