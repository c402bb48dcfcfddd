// SPDX-License-Identifier: BSL-1.0
//
// Calls of `wait` that can be cancelled, and the stores in which they wait.

#pragma once

#include <scenario/fake_redis.hpp>
#include <scenario/world.hpp>
#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace colimit::scenario {

/// A world with a limiter, in its process or on its own server.
struct store_fixture : world {
    explicit store_fixture(bool in_process, const test::live::adjustment& adjust = {}) {
        if (!in_process)
            server.emplace(net);
        l = std::make_unique<test::live>(context, address(), adjust);
    }

    [[nodiscard]] std::string address() const { return server ? server->url() : "memory:"; }

    std::optional<fake_redis> server;
    std::unique_ptr<test::live> l;
};

/// A call of `wait` with a way to give it up.
struct waiter {
    waiter(limiter& l, std::string_view key, const policy& p, const wait_options& o = {}) {
        l.wait(key, p, o,
               boost::asio::bind_cancellation_slot(give_up.slot(),
                                                   [this](error_code e, const decision& r) {
                                                       BOOST_TEST_REQUIRE(!is_over()); // ends once
                                                       ended = std::chrono::steady_clock::now();
                                                       ec = e;
                                                       d = r;
                                                   }));
    }
    waiter(const waiter&) = delete;
    waiter& operator=(const waiter&) = delete;

    void cancel() { give_up.emit(boost::asio::cancellation_type::terminal); }
    [[nodiscard]] bool is_over() const { return ec.has_value(); }
    [[nodiscard]] bool was_granted() const { return ec && !*ec && d.allowed(); }

    boost::asio::cancellation_signal give_up;
    std::optional<error_code> ec;
    decision d;
    std::chrono::steady_clock::time_point ended;
};

} // namespace colimit::scenario
