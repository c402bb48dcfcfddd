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
    once,
    seen,
    allow_many,
    allow_all,
    ready,
};

std::ostream& operator<<(std::ostream& out, kind_of_call kind);

inline constexpr auto every_kind = std::array{
    kind_of_call::allow, kind_of_call::peek,       kind_of_call::charge,    kind_of_call::refund,
    kind_of_call::reset, kind_of_call::block,      kind_of_call::wait,      kind_of_call::once,
    kind_of_call::seen,  kind_of_call::allow_many, kind_of_call::allow_all, kind_of_call::ready};

/// The commands for a server without scripts.
inline constexpr auto transaction_kinds =
    std::array{kind_of_call::allow,  kind_of_call::peek,       kind_of_call::charge,
               kind_of_call::refund, kind_of_call::allow_many, kind_of_call::ready};

inline constexpr auto every_cancellation =
    std::array{boost::asio::cancellation_type::terminal, boost::asio::cancellation_type::partial,
               boost::asio::cancellation_type::total};

/// The effects of a call.
enum class trace : std::uint8_t { none, made, strange };

std::ostream& operator<<(std::ostream& out, trace t);

class trial {
  public:
    /// @param rules of capacity 10, for all verbs but `wait`, `once` and `seen`
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
        return cancelled_as_ == boost::asio::cancellation_type::total &&
               kind_ != kind_of_call::peek && kind_ != kind_of_call::ready;
    }
    /// Asks the store what became of it. Once and seen can be asked once only.
    boost::asio::awaitable<trace> look();

    [[nodiscard]] kind_of_call kind() const noexcept { return kind_; }
    /// Questions in its batches: those of one key count apiece.
    [[nodiscard]] std::size_t size() const noexcept;
    /// Returns how often it completed, and with what.
    [[nodiscard]] int ended() const noexcept { return *ended_; }
    [[nodiscard]] error_code code() const noexcept { return code_; }
    /// Handlers that are there: 1 until the call ends or is dropped.
    [[nodiscard]] long handlers() const noexcept { return ended_.use_count() - 1; }
    [[nodiscard]] const std::vector<check_item>& checks() const noexcept { return checks_; }

  private:
    [[nodiscard]] auto handler() {
        return boost::asio::bind_cancellation_slot(
            signal_.slot(), [this, ended = ended_](error_code ec, const auto&... /*results*/) {
                ++*ended;
                code_ = ec;
            });
    }
    boost::asio::awaitable<std::int64_t> left(std::string key);

    limiter& limiter_;
    kind_of_call kind_;
    std::string key_;
    std::string other_key_;
    policy rules_;
    std::vector<check_item> checks_;
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
