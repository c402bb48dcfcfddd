// SPDX-License-Identifier: BSL-1.0
//
// Every store behind one interface, so that each case of this suite is written once and runs on
// all:
//
//     BOOST_DATA_TEST_CASE(a_refusal_charges_nothing, every_store()) {
//         auto s = open_store(sample);
//         BOOST_TEST(s->allow("ann", five, {.now = at(0)}).remaining == 4);
//     }
//
// Redis is one private server for the whole program, flushed when a store is opened. The cluster
// has three more.

#pragma once

#include <colimit/bloom_filter.hpp>
#include <colimit/check_item.hpp>
#include <colimit/decision.hpp>
#include <colimit/error.hpp>
#include <colimit/options.hpp>
#include <colimit/policy.hpp>
#include <colimit/seen_item.hpp>
#include <support/redis_server.hpp>

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colimit::test {

enum class store_kind : std::uint8_t {
    local,
    memory,
    redis_resp3,
    redis_resp2,
    redis_tcp,
    redis_function,
    packed,
    cluster
};

std::ostream& operator<<(std::ostream& out, store_kind k);

/// All, or those that `COLIMIT_TEST_STORES` in the environment names, such as
/// `memory,redis_resp3,cluster`; so do the other lists.
///
/// `redis_function` calls functions, as a user with only the permissions in src/tool/README.md.
/// `packed` is Redis by RESP3, asked by policies whose states are packed wherever their rules can
/// be.
[[nodiscard]] std::vector<store_kind> every_store();
/// Those in which a key may be blocked, or have debt above the limit.
[[nodiscard]] std::vector<store_kind> every_unpacked();
/// Those on the server that `look` shows.
[[nodiscard]] std::vector<store_kind> every_redis();
/// Behind the asynchronous verbs: `local_limiter` has none that takes several checks.
[[nodiscard]] std::vector<store_kind> every_limiter();

/// A number or an error.
struct counted {
    error_code ec;
    std::int64_t number = 0;
};

/// The state of a filter, or an error.
struct inspected {
    error_code ec;
    filter_status status;
};

/// A decision or an error.
struct answer {
    error_code ec;
    decision result;
};

enum class asked_verb : std::uint8_t { allow, peek, charge, refund, reset };

class open_limiter {
  public:
    open_limiter() = default;
    open_limiter(const open_limiter&) = delete;
    open_limiter& operator=(const open_limiter&) = delete;
    virtual ~open_limiter() = default;

    /// `charge`, `refund` and `reset` read of the options what they have.
    virtual answer ask(asked_verb verb, std::string_view key, const policy& p,
                       const check_options& options) = 0;
    virtual answer ask_block(std::string_view key, const policy& p,
                             std::chrono::microseconds length, const reset_options& options) = 0;
    virtual answer ask_once(std::string_view id, std::chrono::microseconds ttl,
                            const reset_options& options) = 0;
    virtual answer allow_all(std::span<check_item> checks) = 0;
    virtual error_code allow_many(std::span<check_item> checks) = 0;
    virtual counted count_distinct(std::string_view key, const policy& p,
                                   const count_options& options) = 0;
    virtual answer charge_members(std::string_view key, const policy& p,
                                  std::span<const std::string_view> members,
                                  const charge_options& options) = 0;
    virtual inspected inspect(const bloom_filter& f, const reset_options& options) = 0;
    /// `seen_many` if it records, else `probably_seen_many`.
    virtual error_code look_up(std::span<seen_item> ids, const bloom_filter& f, bool records,
                               const reset_options& options) = 0;

    // The verbs; an error is a failure of the test.
    decision allow(std::string_view key, const policy& p, const check_options& options = {}) {
        return must(asked_verb::allow, key, p, options);
    }
    decision peek(std::string_view key, const policy& p, const check_options& options = {}) {
        return must(asked_verb::peek, key, p, options);
    }
    decision charge(std::string_view key, const policy& p, const check_options& options = {}) {
        return must(asked_verb::charge, key, p, options);
    }
    decision refund(std::string_view key, const policy& p, const check_options& options = {}) {
        return must(asked_verb::refund, key, p, options);
    }
    decision reset(std::string_view key, const policy& p, const check_options& options = {}) {
        return must(asked_verb::reset, key, p, options);
    }
    decision block(std::string_view key, const policy& p, std::chrono::microseconds length,
                   const reset_options& options = {}) {
        return must(ask_block(key, p, length, options));
    }
    decision once(std::string_view id, std::chrono::microseconds ttl,
                  const reset_options& options = {}) {
        return must(ask_once(id, ttl, options));
    }

  private:
    static decision must(const answer& got);
    decision must(asked_verb verb, std::string_view key, const policy& p,
                  const check_options& options) {
        return must(ask(verb, key, p, options));
    }
};

/// For clocks that are supplied, keys in Redis must live longer than they would.
inline constexpr std::chrono::hours for_supplied_clocks{1};

/// @param least_ttl of keys in Redis; 0 for cases about the server's own clock
[[nodiscard]] std::unique_ptr<open_limiter>
open_store(store_kind kind, std::chrono::milliseconds least_ttl = for_supplied_clocks);

/// A second limiter on what the last one has left there.
[[nodiscard]] std::unique_ptr<open_limiter> join_store(store_kind redis);

/// The server of the Redis stores.
[[nodiscard]] redis_server& server();

/// A connection to it.
[[nodiscard]] raw_client& look();
/// Returns how many keys the servers of a store have; 0 if it has none.
[[nodiscard]] std::int64_t stored_keys(store_kind k);

/// Returns how the Redis stores of this suite call a key, its log, and the sketch of one of its
/// rules.
[[nodiscard]] std::string name_of(const policy& p, std::string_view key);
[[nodiscard]] std::string log_name_of(const policy& p, std::string_view key);
/// Returns how many events the log of the key has; fails if it is not a log.
[[nodiscard]] std::size_t events_of(raw_client& look, const policy& p, std::string_view key);
[[nodiscard]] std::string sketch_name_of(const policy& p, std::string_view key,
                                         std::string_view rule_name = "distinct");

/// Returns the state that a denial must not change: the value and the end of every key on the
/// server.
using server_picture = std::map<std::string, std::pair<std::optional<std::string>, std::int64_t>>;
[[nodiscard]] server_picture take_picture();

/// A supplied clock: microseconds since some morning in 2023.
[[nodiscard]] constexpr time_point at(std::int64_t us) noexcept {
    return time_point{std::chrono::microseconds{1'700'000'000'000'000 + us}};
}

inline constexpr std::int64_t second = 1'000'000;

} // namespace colimit::test
