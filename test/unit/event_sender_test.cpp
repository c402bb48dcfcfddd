// SPDX-License-Identifier: BSL-1.0
//
// Events are posted, and lost where that is impossible: sending one never ends the process.

#include <limiter/event_sender.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/io_context.hpp>

#include <functional>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(event_senders)

namespace {

using namespace colimit;
namespace asio = boost::asio;
using detail::event_sender;

/// An executor that calls a function before it takes anything.
struct guarded_executor {
    asio::io_context::executor_type inner;
    const std::function<void()>* before;

    template<class Function>
    void execute(Function f) const {
        (*before)();
        inner.execute(std::move(f));
    }
    [[nodiscard]] asio::execution_context& query(asio::execution::context_t /*what*/) const {
        return inner.context();
    }
    [[nodiscard]] guarded_executor require(asio::execution::blocking_t::never_t /*what*/) const {
        return *this;
    }
    bool operator==(const guarded_executor& other) const noexcept {
        return inner == other.inner && before == other.before;
    }
};

[[nodiscard]] std::optional<problem> no_cause() {
    return std::nullopt;
}

struct fixture {
    asio::io_context context;
    std::function<void()> before = [] {};
    std::vector<event_kind> seen;
    event_sender sender{guarded_executor{context.get_executor(), &before},
                        [this](const event& e) { seen.push_back(e.kind); }};
};

} // namespace

BOOST_FIXTURE_TEST_CASE(an_event_is_posted_and_not_sent_from_within, fixture) {
    sender.send(event_kind::connected, no_cause);
    BOOST_TEST(seen.empty());
    context.run();
    BOOST_TEST((seen == std::vector{event_kind::connected}));
}

BOOST_FIXTURE_TEST_CASE(an_event_is_lost_if_posting_it_throws_whatever_that_is, fixture) {
    for (const std::function<void()>& failure : std::vector<std::function<void()>>{
             [] { throw std::bad_alloc{}; }, [] { throw std::runtime_error{"stopped"}; },
             [] { throw 1; }}) { // NOLINT: as a foreign library may
        before = failure;
        sender.send(event_kind::disconnected, no_cause);
        before = [] {};
    }
    sender.send(event_kind::connected, no_cause);
    context.run();
    BOOST_TEST((seen == std::vector{event_kind::connected}));
}

BOOST_FIXTURE_TEST_CASE(an_event_is_lost_if_its_cause_cannot_be_made, fixture) {
    sender.send(event_kind::disconnected,
                []() -> std::optional<problem> { throw std::bad_alloc{}; });
    context.run();
    BOOST_TEST(seen.empty());
}

BOOST_AUTO_TEST_CASE(without_a_function_no_cause_is_looked_for) {
    auto context = asio::io_context{};
    const auto nobody = event_sender{context.get_executor(), {}};
    BOOST_TEST(!nobody);
    auto looked = false;
    nobody.send(event_kind::connected, [&] {
        looked = true;
        return std::optional<problem>{};
    });
    BOOST_TEST(!looked);
    BOOST_TEST(context.poll() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
