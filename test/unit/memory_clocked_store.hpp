// SPDX-License-Identifier: BSL-1.0
//
// An in-process store whose clock the test moves.

#pragma once

#include <colimit/policy.hpp>
#include <memory/store.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace colimit::test {

class clocked_store {
  public:
    explicit clocked_store(std::size_t states) : store_(states) {}

    void advance(std::chrono::microseconds by) { now_ += by.count(); }
    [[nodiscard]] std::int64_t now() const { return now_; }

    decision ask(core::verb verb, std::string_view key, const policy& p, std::int64_t cost = 1) {
        return ask({.verb = verb, .cost = cost, .at_least = cost, .now = now_}, key, p);
    }
    decision ask(const core::call_request& request, std::string_view key, const policy& p) {
        auto answer = decision{};
        store_.decide(key, *detail::access::data(p), request, answer);
        return answer;
    }

    decision allow(std::string_view key, const policy& p, std::int64_t cost = 1) {
        return ask(core::verb::allow, key, p, cost);
    }
    [[nodiscard]] std::int64_t remaining(std::string_view key, const policy& p) {
        return ask(core::verb::peek, key, p).remaining;
    }
    /// Takes everything that the key has.
    void exhaust(std::string_view key, const policy& p) {
        if (const auto left = remaining(key, p); left > 0)
            (void)allow(key, p, left);
    }
    /// One call each for many different keys.
    void flood(const std::string& name, int keys, const policy& p) {
        for (int i = 0; i < keys; ++i)
            (void)allow(name + std::to_string(i), p);
    }

    /// Whether the last call, an `acquire`, failed for lack of room.
    [[nodiscard]] bool lacks_memory() const { return store_.lacks_memory(); }
    /// Of the last call, if it took a place.
    [[nodiscard]] std::uint64_t fencing_token() const { return store_.fencing_token(); }
    [[nodiscard]] local_statistics statistics() const { return store_.statistics(); }
    [[nodiscard]] std::size_t states() const { return store_.statistics().states; }

  private:
    memory::store store_;
    std::int64_t now_ = 1'700'000'000'000'000;
};

} // namespace colimit::test
