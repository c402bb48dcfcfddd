// SPDX-License-Identifier: BSL-1.0
//
// A connection of a client as one would write it in an afternoon, and its scripts.

#pragma once

#include "caller.hpp"

#include <support/raw_client.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace colimit::oracle {

struct hand_reply {
    std::int64_t granted; ///< tokens, or 1 for a slot
    std::int64_t number;  ///< the total, -1 if denied; or the fencing token
    std::int64_t time;    ///< the server's
    std::int64_t sent;
    std::int64_t arrival;
};

/// Tokens to take.
struct hand_order {
    std::int64_t tokens;    ///< negative: given back
    std::int64_t least = 0; ///< nothing is granted rather than less
    std::int64_t capacity;  ///< of the limit
    std::string time = {};  ///< instead of the server's
    std::int64_t delay = 0; ///< microseconds, before the client takes notice of the reply
    bool is_lost = false;   ///< the first reply is lost with the connection
};

class hand {
  public:
    explicit hand(const task& t) : task_(t) {}

    [[nodiscard]] hand_reply take(std::size_t limit, std::size_t key, const hand_order& o);
    /// Counts, and then records.
    [[nodiscard]] hand_reply take_in_two_steps(std::size_t limit, std::size_t key,
                                               const hand_order& o);
    /// @param verb `acquire`, `look` and `add`, which together are the same, `renew` or `release`
    hand_reply ask(std::size_t limit, std::size_t key, std::string_view verb,
                   const std::string& holder, std::int64_t delay);

    [[nodiscard]] std::string key_of(std::size_t limit, std::size_t key) const;
    /// Returns whether this is the rule that is left out.
    [[nodiscard]] bool without(flaw f) const { return task_.by_hand == f; }
    [[nodiscard]] test::raw_client& connection();
    void disconnect() { client_.reset(); }

  private:
    [[nodiscard]] hand_reply exchange(std::string_view command, std::int64_t delay);

    const task& task_;
    std::optional<test::raw_client> client_;
};

} // namespace colimit::oracle
