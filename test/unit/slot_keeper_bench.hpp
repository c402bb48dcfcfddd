// SPDX-License-Identifier: BSL-1.0
//
// A limiter's slots before a store whose replies the test decides.

#pragma once

#include <colimit/limiter.hpp>
#include <limiter/limiter_core.hpp>
#include <support/coroutine_run.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::slot_keeper_test {

using namespace std::chrono_literals;
using detail::verb;

/// A store that holds each call until the test ends it.
class store final : public detail::backend {
  public:
    explicit store(detail::limiter_core& core) : core_(core) {}

    [[nodiscard]] detail::stage_result start(detail::operation& op, std::string_view key,
                                             const detail::policy_pointer* /*policy*/) override {
        BOOST_TEST(key == "k");
        BOOST_TEST(op.request.has_member);
        op.is_held = true;
        asked.push_back(op.request.verb);
        holders.emplace_back(op.request.member);
        times.push_back(op.request.now);
        if (op.request.verb == verb::acquire && op.attached != nullptr)
            asked_for = static_cast<const detail::acquisition&>(*op.attached).slot;
        held.push_back(&op);
        return detail::stage_result::kept;
    }
    void cancel(detail::operation& op, error_code why) override { end(op, why); }
    [[nodiscard]] bool is_sent(const detail::operation& /*op*/) const noexcept override {
        return sends;
    }
    void shutdown(error_code why) noexcept override {
        while (!held.empty())
            end(*held.front(), why);
    }
    [[nodiscard]] std::optional<problem> last_problem() const override { return std::nullopt; }
    [[nodiscard]] health_state state() const noexcept override { return health_state::ready; }

    void end(detail::operation& op, error_code why) {
        std::erase(held, &op);
        op.is_held = false;
        core_.complete(op, why);
    }
    /// Decides the oldest call.
    void decide(bool is_granted) {
        auto& op = *held.front();
        op.result.outcome = is_granted ? outcome::allowed : outcome::denied;
        op.fencing_token = 7;
        end(op, {});
    }
    void fail(error_code why) { end(*held.front(), why); }
    [[nodiscard]] std::ptrdiff_t count(verb v) const { return std::ranges::count(asked, v); }

    std::vector<detail::operation*> held;
    std::vector<verb> asked; ///< all calls
    std::vector<std::string> holders;
    std::vector<std::int64_t> times;              ///< that the calls supply
    std::shared_ptr<detail::held_slot> asked_for; ///< by the last call of `acquire`
    bool sends = true;

  private:
    detail::limiter_core& core_;
};

struct world {
    world() {
        auto made = std::make_unique<store>(*core);
        s = made.get();
        core->open(std::move(made));
    }
    ~world() { core->close(); }

    void ask(const policy& p, const acquire_options& options = {}) {
        ec.reset();
        detail::initiation<true, detail::acquired_slot>{core.get()}(
            boost::asio::bind_cancellation_slot(give_up.slot(),
                                                [this](error_code e, slot got_one) {
                                                    ec = e;
                                                    got = std::move(got_one);
                                                }),
            detail::call{.kind = detail::call_kind::one,
                         .key = "k",
                         .policy = &detail::access::data(p),
                         .request = detail::make_request(options, {})});
    }
    void until(test::predicate holds) { test::run_until(context, holds); }
    void until_asked(verb v, std::ptrdiff_t times = 1) {
        until([&] { return s->count(v) >= times; });
    }
    /// Acquires a slot.
    void take(const policy& p, const acquire_options& options = {}) {
        ask(p, options);
        s->decide(true);
        until([this] { return ec.has_value(); });
        BOOST_TEST_REQUIRE(!*ec);
    }

    /// Acquires a slot whose renewal is due now, and whose lease is long enough for any halt.
    void take_due(const policy& p);

    boost::asio::io_context context;
    std::shared_ptr<detail::limiter_core> core =
        std::make_shared<detail::limiter_core>(context.get_executor(), config{}, false);
    store* s = nullptr;
    boost::asio::cancellation_signal give_up;
    std::optional<error_code> ec;
    slot got;
};

const auto hour = policy{"hour", concurrent(1).lease(1h)};
const auto brief = policy{"brief", concurrent(1).lease(300ms)};
/// When its renewal is due, long enough for a process that is halted for three seconds.
const auto seconds = policy{"seconds", concurrent(1).lease(9s)};
const auto lost_reply = make_error_code(errc::outcome_unknown);

inline void world::take_due(const policy& p) {
    ask(p);
    s->asked_for->asked_at -= s->asked_for->lease / 3;
    s->decide(true);
    until([this] { return ec.has_value(); });
}

} // namespace colimit::slot_keeper_test
