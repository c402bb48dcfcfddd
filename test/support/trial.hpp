// SPDX-License-Identifier: BSL-1.0
//
// A call of any verb that a test can cancel, and its effect in the store: each on a separate key
// with a known state, so that peek shows whether it was made.

#pragma once

#include <colimit/limiter.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

namespace colimit::test {

enum class kind_of_call : std::uint8_t {
    allow,
    peek,
    charge,
    refund,
    reset,
    block,
    wait,
    wait_in_line, ///< `wait` under a rule without reservations
    acquire,      ///< and its handler gives the place back
    once,
    seen,
    probably_seen,
    seen_many,
    probably_seen_many,
    filter_status,
    count_distinct,
    charge_members,
    allow_many,
    allow_all,
    ready,
};

std::ostream& operator<<(std::ostream& out, kind_of_call kind);

inline constexpr auto every_kind = [] {
    auto all = std::array<kind_of_call, static_cast<std::size_t>(kind_of_call::ready) + 1>{};
    for (std::size_t i = 0; i < all.size(); ++i)
        all[i] = static_cast<kind_of_call>(i);
    return all;
}();

/// Calls that never have an effect.
[[nodiscard]] constexpr bool asks_only(kind_of_call k) noexcept {
    return k == kind_of_call::peek || k == kind_of_call::probably_seen ||
           k == kind_of_call::probably_seen_many || k == kind_of_call::filter_status ||
           k == kind_of_call::count_distinct || k == kind_of_call::ready;
}

/// The commands for a server without scripts.
inline constexpr auto transaction_kinds =
    std::array{kind_of_call::allow,  kind_of_call::peek,       kind_of_call::charge,
               kind_of_call::refund, kind_of_call::allow_many, kind_of_call::ready};

/// Of these, the calls on a fixed window.
inline constexpr auto window_kinds =
    std::array{kind_of_call::allow, kind_of_call::peek, kind_of_call::charge,
               kind_of_call::allow_many, kind_of_call::ready};

inline constexpr auto every_cancellation =
    std::array{boost::asio::cancellation_type::terminal, boost::asio::cancellation_type::partial,
               boost::asio::cancellation_type::total};

/// Calls of two parts, each of which may fail on its own.
[[nodiscard]] constexpr bool has_parts(kind_of_call k) noexcept {
    return k == kind_of_call::allow_many || k == kind_of_call::seen_many ||
           k == kind_of_call::probably_seen_many || k == kind_of_call::charge_members;
}

/// The effects of a call: `held` is made, of `acquire` whose place was not given back.
enum class trace : std::uint8_t { none, made, held, strange };

std::ostream& operator<<(std::ostream& out, trace t);

class trial {
  public:
    /// @param rules of capacity 10, for all verbs but `wait`, `acquire`, `once` and those of
    ///     sketches
    trial(limiter& l, kind_of_call kind, std::string key, policy rules);
    trial(const trial&) = delete;
    trial& operator=(const trial&) = delete;

    /// Brings the key to where it is when the call begins.
    boost::asio::awaitable<void> prepare();
    void start();
    /// A call that leaves together with this one, and is answered before it where `start` follows.
    void start_neighbour(std::function<void()> on_answer);
    void cancel(boost::asio::cancellation_type type) {
        cancelled_as_ = type;
        signal_.emit(type);
    }
    /// Returns whether it was last cancelled as `total`, which promises that there is no effect,
    /// and may have one: if its request was sent, it is not cancelled.
    [[nodiscard]] bool is_kept_once_sent() const noexcept {
        return cancelled_as_ == boost::asio::cancellation_type::total && !asks_only(kind_);
    }
    /// Asks the store what became of it. Once can be asked once only.
    boost::asio::awaitable<trace> look();

    [[nodiscard]] kind_of_call kind() const noexcept { return kind_; }
    /// Questions in its batches: those of one key count apiece.
    [[nodiscard]] std::size_t size() const noexcept;
    /// Returns how often it completed, and with what.
    [[nodiscard]] int ended() const noexcept { return *ended_; }
    [[nodiscard]] error_code code() const noexcept { return code_; }
    /// Handlers that are there: 1 until the call ends or is dropped.
    [[nodiscard]] long handlers() const noexcept { return ended_.use_count() - 1; }
    /// Returns whether a part of it has failed, as far as that is told.
    [[nodiscard]] bool has_failed_part() const noexcept;

  private:
    [[nodiscard]] auto handler() {
        return boost::asio::bind_cancellation_slot(
            signal_.slot(), [this, ended = ended_](error_code ec, const auto&... /*results*/) {
                ++*ended;
                code_ = ec;
            });
    }
    boost::asio::awaitable<std::int64_t> left(std::string key);
    /// Looks whether the ids of a filter are known: the first, and the second if there are two.
    boost::asio::awaitable<trace> look_at_ids();
    boost::asio::awaitable<trace> look_at_place();

    limiter& limiter_;
    kind_of_call kind_;
    std::string key_;
    std::string other_key_;
    policy rules_;
    std::vector<check_item> checks_;
    std::vector<seen_item> ids_;
    boost::asio::cancellation_signal signal_;
    boost::asio::cancellation_type cancelled_as_ = boost::asio::cancellation_type::none;
    std::shared_ptr<int> ended_ = std::make_shared<int>(0);
    error_code code_;
};

/// Trials of these kinds, each with each type of cancellation in its turn.
template<class Kinds>
[[nodiscard]] std::vector<std::unique_ptr<trial>> trials_of(limiter& l, const Kinds& kinds,
                                                            const policy& rules) {
    auto all = std::vector<std::unique_ptr<trial>>{};
    for (std::size_t type = 0; type < every_cancellation.size(); ++type)
        for (const auto kind : kinds)
            all.push_back(
                std::make_unique<trial>(l, kind, "key " + std::to_string(all.size()), rules));
    return all;
}

} // namespace colimit::test
