// SPDX-License-Identifier: BSL-1.0
//
// Handlers of every shape with every verb, in process and on a server, to every end: the call
// completes, the limiter is destroyed, or the context is. The handler is called once or not at all,
// nothing of it stays, and its allocator is used as long as what it refers to is there.

#include <scenario/fake_redis.hpp>
#include <scenario/world.hpp>
#include <support/handler_shapes.hpp>
#include <support/live_limiter.hpp>
#include <support/trial.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/strand.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(handler_shapes)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::ending;
using test::kind_of_call;

using shapes = std::tuple<test::plain_shape, test::shared_arena_shape, test::unique_arena_shape,
                          test::everything_shape, test::bound_shape, test::erased_shape,
                          test::erased_everything_shape, test::aligned_shape<64>,
                          test::aligned_shape<256>, test::bound_aligned_shape>;

enum class finale : std::uint8_t {
    completed,
    limiter_destroyed,
    context_destroyed_first_of_all, ///< with the limiter in it
    context_destroyed,              ///< after the limiter
    cancelled,
};
constexpr auto finales = {finale::completed, finale::limiter_destroyed,
                          finale::context_destroyed_first_of_all, finale::context_destroyed,
                          finale::cancelled};

const auto five = policy{"five", gcra(5, 1h)};
const auto window = policy{"window", fixed_window(5, 24h * 36'500)};
const auto places = policy{"places", concurrent(5).lease(24h)};
const auto filter = bloom_filter{"filter", {.capacity = 100, .error_rate = 0.01}};

const auto members = policy{"members", distinct(10, 8760h)};
constexpr auto two_members = std::array<std::string_view, 2>{"a", "b"};

struct parts {
    std::vector<check_item> checks;
    std::vector<seen_item> ids;
};

template<class Shape>
void start(limiter& l, kind_of_call kind, parts& of, ending& e) {
    using decides = limiter::signature;
    switch (kind) {
    case kind_of_call::allow:
        return l.allow("k", five, Shape::template make<decides>(e));
    case kind_of_call::peek:
        return l.peek("k", five, Shape::template make<decides>(e));
    case kind_of_call::charge:
        return l.charge("k", five, Shape::template make<decides>(e));
    case kind_of_call::refund:
        return l.refund("k", five, Shape::template make<decides>(e));
    case kind_of_call::reset:
        return l.reset("k", five, Shape::template make<decides>(e));
    case kind_of_call::block:
        return l.block("blocked", five, 1h, Shape::template make<decides>(e));
    case kind_of_call::wait:
        return l.wait("w", five, {.max_wait = 366 * 24h}, Shape::template make<decides>(e));
    case kind_of_call::wait_in_line:
        return l.wait("w", window, {.max_wait = 366 * 24h}, Shape::template make<decides>(e));
    case kind_of_call::acquire:
        return l.acquire("a", places, Shape::template make<void(error_code, slot)>(e));
    case kind_of_call::once:
        return l.once("id", 1h, Shape::template make<decides>(e));
    case kind_of_call::seen:
        return l.seen("id", filter, Shape::template make<void(error_code, bool)>(e));
    case kind_of_call::probably_seen:
        return l.probably_seen("id", filter, Shape::template make<void(error_code, bool)>(e));
    case kind_of_call::seen_many:
        return l.seen_many(of.ids, filter, Shape::template make<void(error_code)>(e));
    case kind_of_call::probably_seen_many:
        return l.probably_seen_many(of.ids, filter, Shape::template make<void(error_code)>(e));
    case kind_of_call::filter_status:
        return l.filter_status(filter, Shape::template make<void(error_code, filter_status)>(e));
    case kind_of_call::count_distinct:
        return l.count_distinct("k", members,
                                Shape::template make<void(error_code, std::int64_t)>(e));
    case kind_of_call::charge_members:
        return l.charge_members("k", members, two_members, Shape::template make<decides>(e));
    case kind_of_call::allow_many:
        return l.allow_many(of.checks, Shape::template make<void(error_code)>(e));
    case kind_of_call::allow_all:
        return l.allow_all(of.checks, Shape::template make<decides>(e));
    case kind_of_call::ready:
        return l.ready(Shape::template make<void(error_code)>(e));
    }
}

template<class Shape>
void play(const std::string& server, kind_of_call kind, finale end, bool thread_safe) {
    auto e = ending{};
    auto several = parts{};
    several.checks = {{.key = "a", .policy = five}, {.key = "b", .policy = five}};
    several.ids = {{.id = "a"}, {.id = "b"}};
    {
        auto context = asio::io_context{};
        e.executor = asio::make_strand(context);
        auto settings = config{};
        settings.server = server;
        settings.thread_safe = thread_safe;
        auto l = std::make_unique<limiter>(context.get_executor(), settings);
        start<Shape>(*l, kind, several, e);
        BOOST_TEST(e.calls == 0);
        switch (end) {
        case finale::cancelled:
            e.signal.emit(asio::cancellation_type::terminal);
            [[fallthrough]];
        case finale::completed:
            test::run_until(context, [&] { return e.calls != 0; });
            break;
        case finale::limiter_destroyed:
            l.reset();
            test::run_until(context, [&] { return e.calls != 0; });
            break;
        case finale::context_destroyed_first_of_all:
            asio::post(context, [kept = std::move(l)] {});
            break;
        case finale::context_destroyed:
            break;
        }
        l.reset();
        e.executor = {};
    }
    const auto is_dropped =
        end == finale::context_destroyed || end == finale::context_destroyed_first_of_all;
    BOOST_TEST(e.calls == (is_dropped ? 0 : 1));
    BOOST_TEST(e.handlers == 0);
    BOOST_TEST(e.arenas == 0);
    BOOST_TEST(e.early_arenas == 0);
    BOOST_TEST(e.misaligned == 0);
    if (end == finale::completed)
        BOOST_TEST((e.code == error_code{}));
}

} // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(every_verb_and_end_leaves_nothing_of_a_handler, Shape, shapes) {
    auto world = scenario::world{};
    const auto redis = scenario::fake_redis{world.net};
    for (const auto& server : {std::string{"memory:"}, redis.url()})
        for (const auto kind : test::every_kind)
            for (const auto end : finales)
                for (const auto thread_safe : {false, true})
                    BOOST_TEST_CONTEXT(server << ", " << kind << ", end " << static_cast<int>(end)
                                              << ", thread_safe " << thread_safe)
    play<Shape>(server, kind, end, thread_safe);
}

// Not in a function of the limiter, where exceptions of handlers would end the program.
BOOST_AUTO_TEST_CASE_TEMPLATE(what_a_handler_throws_leaves_run, Shape, shapes) {
    for (const auto thread_safe : {false, true}) {
        auto context = asio::io_context{};
        auto settings = config{};
        settings.thread_safe = thread_safe;
        auto l = limiter{context.get_executor(), settings};
        auto e = ending{};
        e.executor = context.get_executor();
        e.on_call = [] { throw std::runtime_error{"from a handler"}; };
        l.allow("k", five, Shape::template make<limiter::signature>(e));
        BOOST_CHECK_THROW(context.run(), std::runtime_error);
        BOOST_TEST(e.calls == 1);
        BOOST_TEST(e.handlers == 0);
        e.executor = {};
    }
}

BOOST_AUTO_TEST_SUITE_END()
