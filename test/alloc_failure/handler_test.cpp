// SPDX-License-Identifier: BSL-1.0
//
// An initiating function that runs out of memory destroys its handler, and the handler's own memory
// is not used afterwards.

#include <alloc_failure/failing_new.hpp>
#include <colimit/limiter.hpp>
#include <support/handler_shapes.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>

#include <chrono>
#include <cstdint>
#include <new>
#include <tuple>

BOOST_AUTO_TEST_SUITE(handlers_without_memory)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::ending;
using test::plenty;
using test::shortage;

const auto five = policy{"five", gcra(5, 1h)};

// Not with an erased type: its executor is copied by functions of Asio that must not throw, so that
// Asio itself ends the program (Boost 1.81).
using shapes = std::tuple<test::plain_shape, test::shared_arena_shape, test::unique_arena_shape,
                          test::everything_shape, test::bound_shape>;

/// Returns whether the allocation of this number was made, and failed.
template<class Shape>
bool call_without(std::int64_t number) {
    auto e = ending{};
    auto was_missing = false;
    {
        auto context = asio::io_context{};
        auto l = limiter{context.get_executor(), "memory:"};
        auto other = asio::io_context{};
        e.executor = asio::make_strand(other);
        auto is_refused = false;
        {
            const auto few = shortage{number, 1};
            try {
                l.allow("k", five, Shape::template make<limiter::signature>(e));
            } catch (const std::bad_alloc&) {
                is_refused = true;
            }
            const auto test = plenty{};
            was_missing = shortage::has_struck();
        }
        BOOST_TEST(e.handlers == (is_refused ? 0 : 1));
        context.run();
        other.run();
        BOOST_TEST(e.calls == (is_refused ? 0 : 1));
        e.executor = {};
    }
    BOOST_TEST(e.handlers == 0);
    BOOST_TEST(e.arenas == 0);
    BOOST_TEST(e.early_arenas == 0);
    return was_missing;
}

} // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(a_refused_call_leaves_nothing_of_its_handler, Shape, shapes) {
    auto number = std::int64_t{1};
    while (call_without<Shape>(number))
        ++number;
    BOOST_TEST(number > 1);
}

BOOST_AUTO_TEST_SUITE_END()
