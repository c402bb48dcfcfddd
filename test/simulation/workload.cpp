// SPDX-License-Identifier: BSL-1.0
//
// Makes the calls.

#include "workload.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>

namespace colimit::simulation {

namespace asio = boost::asio;
using std::chrono::milliseconds;

namespace {

[[nodiscard]] std::optional<std::string_view> id_of(const made_check& k) {
    return k.id.empty() ? std::nullopt : std::optional<std::string_view>{k.id};
}

} // namespace

workload::workload(machine& m, asio::io_context& context, const catalogue& names, ledger& records,
                   std::deque<made_call>& calls, workload_settings settings)
    : machine_(m), names_(names), records_(records), settings_(std::move(settings)),
      random_(m.random().bits()), calls_(calls), timer_(context),
      pause_(random_.between(2 * millisecond, 200 * millisecond)),
      burst_(static_cast<std::size_t>(random_.magnitude(8))), has_identity_(random_.percent(70)),
      percent_with_id_(has_identity_ ? random_.pick<std::size_t>({0, 0, 30, 100}) : 0) {
    for (auto left = 1 + random_.below(3); left > 0; --left) {
        const auto c = random_config();
        timeouts_.push_back(c.timeout.count() * millisecond);
        limiters_.push_back(std::make_unique<limiter>(context.get_executor(), c));
    }
}

config workload::random_config() {
    auto c = config{};
    c.server = settings_.address;
    c.prefix = "s";
    c.timeout = milliseconds{random_.pick({50, 100, 100, 300})};
    c.advanced.connect_timeout = milliseconds{random_.pick({200, 1'000})};
    c.advanced.ping_interval = milliseconds{random_.pick({50, 500, 500})};
    c.advanced.batch_size = static_cast<std::size_t>(random_.pick({1, 3, 96, 96}));
    c.advanced.batches_in_flight = static_cast<std::size_t>(random_.pick({1, 2, 6, 6}));
    c.advanced.deny_cache = static_cast<std::size_t>(random_.pick({0, 1'024}));
    c.advanced.max_in_flight = static_cast<std::size_t>(random_.pick({20, 65'536, 65'536}));
    c.advanced.local_max_states = 1'024;
    c.advanced.resp_version = random_.percent(80) ? 3 : 2;
    if (c.server.find("sentinel") != std::string::npos)
        c.advanced.resp_version = 3;
    c.on_failure = random_.pick({failure_mode::error, failure_mode::error, failure_mode::local,
                                 failure_mode::deny, failure_mode::allow});
    return c;
}

void workload::next() {
    timer_.expires_after(std::chrono::microseconds{random_.between(0, pause_)});
    timer_.async_wait([this](error_code) { act(); });
}

void workload::act() {
    const auto now = machine_.now();
    if (now >= settings_.end) {
        for (auto& l : limiters_)
            l->close();
        return;
    }
    if (now < settings_.faults_end) {
        make_burst(false);
        cancel_some();
        stand_still();
        return next();
    }
    if (now < settings_.final_begin) {
        if (random_.percent(20))
            make_burst(false);
        timer_.expires_after(milliseconds{100});
    } else {
        make_call(true);
        timer_.expires_after(milliseconds{100});
    }
    timer_.async_wait([this](error_code) { act(); });
}

void workload::make_burst(bool is_final) {
    for (auto left = 1 + random_.below(burst_); left > 0; --left)
        make_call(is_final);
}

made_check workload::random_check() {
    using enum core::verb;
    auto c = made_check{.policy = random_.below(names_.policies().size()),
                        .key = random_.below(names_.keys().size()),
                        .verb = allow,
                        .cost = 1,
                        .at_least = 1};
    if (has_identity_)
        c.cost = next_cost_++;
    c.at_least = c.cost;
    if (random_.percent(percent_with_id_))
        c.id = "call " + std::to_string(c.cost);
    return c;
}

/// Returns one of the last calls, if it has an id; null otherwise.
const made_call* workload::call_to_repeat() {
    const auto& c =
        calls_[calls_.size() - 1 - random_.below(std::min<std::size_t>(calls_.size(), 20))];
    return c.kind == detail::call_kind::one && !c.checks.front().id.empty() ? &c : nullptr;
}

void workload::make_call(bool is_final) {
    using enum core::verb;
    const auto* const before = !calls_.empty() && random_.percent(20) ? call_to_repeat() : nullptr;
    auto& c = calls_.emplace_back();
    c.limiter = random_.below(limiters_.size());
    c.is_final = is_final;
    c.started = machine_.now();
    c.kind = detail::call_kind::one;
    if (before != nullptr) {
        c.checks.push_back(before->checks.front());
        c.checks.front().ec = {};
        c.checks.front().result = {};
        return start_one(c);
    }
    c.checks.push_back(random_check());
    auto& first = c.checks.front();
    if (has_identity_ && random_.percent(20)) {
        first.verb = random_.pick({peek, charge, refund, reset});
        if (first.verb == reset)
            first.cost = 0;
        if (first.verb == reset || first.verb == peek)
            first.id.clear();
    } else if (has_identity_ && random_.percent(20)) {
        first.at_least = 1;
    } else if (random_.percent(15)) {
        c.kind = random_.percent(50) ? detail::call_kind::all : detail::call_kind::each;
        for (auto left = random_.below(4); left > 0; --left)
            c.checks.push_back(random_check());
    }
    c.kind == detail::call_kind::one ? start_one(c) : start_several(c);
}

void workload::start_one(made_call& c) {
    const auto& k = c.checks.front();
    auto token = asio::bind_cancellation_slot(c.cancellation.slot(),
                                              [this, &c](error_code ec, const decision& d) {
                                                  c.checks.front().result = d;
                                                  on_end(c, ec);
                                              });
    const auto& key = names_.keys()[k.key];
    const auto& p = names_.policies()[k.policy];
    auto& l = *limiters_[c.limiter];
    const auto id = id_of(k);
    switch (k.verb) {
    case core::verb::allow:
        return l.allow(key, p, {.cost = k.cost, .at_least = k.at_least, .request = id}, token);
    case core::verb::peek:
        return l.peek(key, p, {.cost = k.cost}, token);
    case core::verb::charge:
        return l.charge(key, p, {.cost = k.cost, .request = id}, token);
    case core::verb::refund:
        return l.refund(key, p, {.cost = k.cost, .request = id}, token);
    default:
        return l.reset(key, p, token);
    }
}

/// Checks of `allow_all` have different states, and on a cluster one hash slot.
void workload::start_several(made_call& c) {
    if (c.kind == detail::call_kind::all)
        for (auto& k : c.checks) {
            k.key = c.checks.front().key;
            k.policy = static_cast<std::size_t>(&k - c.checks.data());
            k.id.clear();
        }
    if (c.checks.size() > names_.policies().size())
        c.checks.resize(names_.policies().size());
    for (const auto& k : c.checks)
        c.items.push_back({.key = names_.keys()[k.key],
                           .policy = names_.policies()[k.policy],
                           .options = {.cost = k.cost, .request = id_of(k)}});
    auto& l = *limiters_[c.limiter];
    const auto take = [this, &c](error_code ec) {
        for (std::size_t i = 0; i < c.checks.size(); ++i) {
            c.checks[i].ec = c.kind == detail::call_kind::all ? ec : c.items[i].ec;
            c.checks[i].result = c.items[i].result;
        }
        on_end(c, ec);
    };
    if (c.kind == detail::call_kind::all)
        l.allow_all(c.items, asio::bind_cancellation_slot(
                                 c.cancellation.slot(),
                                 [take](error_code ec, const decision&) { take(ec); }));
    else
        l.allow_many(c.items, asio::bind_cancellation_slot(c.cancellation.slot(), take));
}

void workload::on_end(made_call& c, error_code ec) {
    if (++c.endings > 1)
        throw violation{"a call completed twice"};
    c.ended = machine_.now();
    if (c.kind == detail::call_kind::one)
        c.checks.front().ec = ec;
    for (auto& k : c.checks) {
        if (machine_.flaw() == flaw::answers_another && machine_.random().percent(1))
            k.result.granted = k.cost - k.result.granted;
        machine_.trace(k.ec ? k.ec.message() : "decided", static_cast<std::uint64_t>(k.cost),
                       static_cast<std::uint64_t>(k.result.granted));
    }
}

void workload::cancel_some() {
    if (!random_.percent(10))
        return;
    auto& c = calls_[calls_.size() - 1 - random_.below(std::min<std::size_t>(calls_.size(), 20))];
    if (c.endings != 0 || c.cancelled != asio::cancellation_type::none)
        return;
    c.cancelled = random_.pick({asio::cancellation_type::terminal, asio::cancellation_type::partial,
                                asio::cancellation_type::total});
    c.cancellation.emit(c.cancelled);
}

/// As while a handler computes for a long time.
void workload::stand_still() {
    if (!random_.percent(3))
        return;
    const auto began = machine_.now();
    machine_.stand_still(random_.magnitude(500 * millisecond));
    stands_.emplace_back(began, machine_.now());
}

} // namespace colimit::simulation
