// SPDX-License-Identifier: BSL-1.0
//
// Every allocation fails once, and once together with the next few: in whole conversations from the
// constructor to the destructor, with calls of every verb. A constructor or a verb may throw
// bad_alloc, and a call may end with not_enough_memory, or as it does when its connection is lost.
// What it says of its charge is true, nothing leaves run(), every handler runs once, and when there
// is memory again the same limiter answers, and counts right.

#include <alloc_failure/failing_new.hpp>
#include <redis/protocol/hash_slot.hpp>
#include <redis/protocol/key.hpp>
#include <support/asked_number.hpp>
#include <support/function_library.hpp>
#include <support/live_limiter.hpp>
#include <support/redis_cluster.hpp>
#include <support/sentinel_group.hpp>
#include <support/tls_server.hpp>
#include <support/trial.hpp>
#include <support/unit_test.hpp>
#include <support/usual_tags.hpp>

#include <boost/asio/ip/tcp.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(alloc_failure)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::kind_of_call;
using test::plenty;
using test::shortage;
using test::trace;
using test::trial;

const auto bucket = policy{"ten", gcra(10, 10h)};
const auto log = policy{"ten", sliding_log(10, 10h)};
const auto window = policy{"ten", fixed_window(10, 10h).from_first()};

/// Calls of one key each: a node refuses several while their slot is being moved.
constexpr auto kinds_of_one_key = std::array{
    kind_of_call::allow,      kind_of_call::peek,  kind_of_call::charge, kind_of_call::refund,
    kind_of_call::reset,      kind_of_call::block, kind_of_call::wait,   kind_of_call::once,
    kind_of_call::allow_many, kind_of_call::ready};

constexpr auto two_kinds = std::array{kind_of_call::ready, kind_of_call::allow};

struct way {
    execution_mode mode;
    const policy& rules;
    std::span<const kind_of_call> kinds;
};

const auto by_script = way{execution_mode::script, bucket, test::every_kind};
const auto by_function = way{execution_mode::function, bucket, test::every_kind};
const auto by_transaction = way{execution_mode::multi, log, test::transaction_kinds};
const auto of_window = way{execution_mode::multi, window, test::window_kinds};

const auto of_two_kinds = way{execution_mode::script, bucket, two_kinds};
const auto in_cluster = way{execution_mode::script, bucket, kinds_of_one_key};

/// Asio keeps what a name stands for, on its way to the handler: that may leave run().
const auto by_name = std::string{"redis://localhost:"};

[[nodiscard]] config settings(const std::string& server, execution_mode how) {
    auto c = config{};
    c.server = server;
    c.advanced.mode = how;
    c.timeout = 5s;
    c.on_failure = failure_mode::error;
    c.advanced.reconnect_delay_min = c.advanced.reconnect_delay_max = 1ms;
    return c;
}

[[nodiscard]] log_options to_nowhere() {
    return {.level = log_level::debug, .write = [](log_level, std::string_view) {}};
}

/// A call under test, and the same key seen through a limiter that lacks nothing.
struct pair_of_trials {
    pair_of_trials(limiter& failing, limiter& rich, kind_of_call kind, const std::string& key,
                   const policy& rules)
        : call(failing, kind, key, rules), witness(rich, kind, key, rules) {}

    void start() {
        try {
            call.start();
        } catch (const std::bad_alloc&) {
            is_refused = true;
        }
    }
    [[nodiscard]] bool is_over() const { return is_refused || call.ended() != 0; }

    trial call;
    trial witness;
    bool is_refused = false;
};

using pairs = std::vector<std::unique_ptr<pair_of_trials>>;

class conversation {
  public:
    /// @param witness on the same server; without one nothing is asked afterwards
    conversation(const config& settings, way how, test::live* witness, std::string name)
        : settings_(settings), how_(how), witness_(witness), name_(std::move(name)) {}

    /// Makes the limiter, as often as it takes.
    void make() {
        while (!limiter_) {
            try {
                limiter_.emplace(context_.get_executor(), settings_);
            } catch (const std::bad_alloc&) {
                const auto test = plenty{};
                BOOST_TEST(shortage::has_struck());
            }
        }
    }

    /// Calls of every verb, and as much of the loop as there is to do now. There may never be
    /// memory again.
    void begin() {
        try {
            limiter_.emplace(context_.get_executor(), settings_);
        } catch (const std::bad_alloc&) {
            return;
        }
        auto all = prepared();
        for (const auto& p : all)
            p->start();
        for (int turn = 0; turn < 50; ++turn) // without memory for a timer there is always one more
            (void)context_.poll_one();
        const auto test = plenty{};
        calls_.push_back(std::move(all));
    }

    /// Calls of every verb, until they have ended; long waits are cancelled.
    void call() {
        auto all = prepared();
        for (const auto& p : all)
            p->start();
        run_until([&] {
            return std::ranges::all_of(all,
                                       [&](const auto& p) { return p->is_over() || lasts(*p); });
        });
        for (const auto& p : all)
            if (!p->is_over())
                p->call.cancel(asio::cancellation_type::terminal);
        run_until(
            [&] { return std::ranges::all_of(all, [](const auto& p) { return p->is_over(); }); });
        const auto test = plenty{};
        calls_.push_back(std::move(all));
    }

    /// With memory: the same limiter, on a key of its own. Its policy is its own, too: a key that
    /// found no memory in process has charged a state that other keys of its policy share.
    void check_limiter() {
        shortage::end();
        const auto test = plenty{};
        const auto rules = policy{"afterwards", how_.rules.rules()};
        test::run(context_, [&]() -> asio::awaitable<void> {
            auto granted = 0;
            const auto key = name_ + " when it was over";
            for (auto ended = false; !ended;) {
                const auto [ec, d] = co_await limiter_->allow(key, rules, check_options{},
                                                              asio::as_tuple(asio::deferred));
                BOOST_TEST(granted <= 10);
                if (!ec && d.allowed())
                    ++granted;
                ended = !ec && !d.allowed();
                if (ec)
                    co_await test::pause_for(1ms);
            }
            BOOST_TEST(granted == 10);
        });
    }

    void destroy() {
        limiter_.reset();
        context_.restart();
        while (!context_.stopped())
            run([this] { context_.run(); });
    }

    void check_calls() {
        for (const auto& all : calls_)
            for (const auto& p : all)
                BOOST_TEST_CONTEXT(p->call.kind()) {
                    BOOST_TEST(p->call.ended() == (p->is_refused ? 0 : 1));
                    BOOST_TEST(p->call.handlers() == 0);
                    if (witness_ != nullptr)
                        check_charge(*p);
                }
    }

  private:
    /// A place in the queue, and the way to a server that never comes.
    [[nodiscard]] bool lasts(const pair_of_trials& p) const {
        const auto kind = p.call.kind();
        return (kind == kind_of_call::wait && waited_) ||
               (kind == kind_of_call::ready && witness_ == nullptr);
    }

    template<class Run>
    void run(Run some) {
        try {
            some();
        } catch (const std::bad_alloc&) {
            const auto test = plenty{};
            BOOST_TEST(settings_.server.starts_with(by_name));
        }
    }

    template<class Condition>
    void run_until(Condition holds) {
        auto time = std::chrono::nanoseconds{0}; // without that in which the process was halted
        waited_ = false;
        context_.restart();
        while (!holds() && time < 20s) {
            const auto begin = std::chrono::steady_clock::now();
            run([this] { (void)context_.run_one_for(2ms); });
            context_.restart();
            time +=
                std::min<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin, 4ms);
            waited_ = time > 4ms;
        }
        const auto test = plenty{};
        BOOST_TEST_REQUIRE(holds());
    }

    [[nodiscard]] pairs prepared() {
        const auto test = plenty{};
        auto all = pairs{};
        auto& rich = witness_ != nullptr ? witness_->limiter : *limiter_;
        for (const auto kind : how_.kinds) {
            const auto key = name_ + ' ' + std::to_string(calls_.size()) + ' ' +
                             std::to_string(static_cast<int>(kind));
            all.push_back(std::make_unique<pair_of_trials>(*limiter_, rich, kind, key, how_.rules));
        }
        if (witness_ != nullptr)
            witness_->run([&]() -> asio::awaitable<void> {
                for (const auto& p : all)
                    co_await p->witness.prepare();
            });
        return all;
    }

    void check_charge(pair_of_trials& p) {
        auto found = trace::none;
        witness_->run([&]() -> asio::awaitable<void> { found = co_await p.witness.look(); });
        const auto kind = p.call.kind();
        const auto code = p.call.code();
        const auto asks_only = test::asks_only(kind);
        if (found == trace::held) // until the lease ends: the limiter has ended before its release
            found = trace::made;
        if (test::has_parts(kind) && found == trace::strange) {
            // Each of them is on its own.
            BOOST_TEST(p.call.has_failed_part());
        } else if (p.is_refused || code == boost::system::errc::not_enough_memory ||
                   code == errc::unavailable || asks_only) {
            BOOST_TEST(found == trace::none);
        } else if (code == asio::error::operation_aborted || code == errc::outcome_unknown ||
                   code == errc::closed || p.call.has_failed_part()) {
            BOOST_TEST(found != trace::strange);
        } else {
            BOOST_TEST(code == error_code{});
            BOOST_TEST(found == trace::made);
        }
    }

    config settings_;
    way how_;
    test::live* witness_;
    std::string name_;
    std::vector<pairs> calls_;
    asio::io_context context_{1};
    std::optional<limiter> limiter_;
    bool waited_ = false;
};

constexpr auto lengths = {1, 12};
constexpr auto for_ever = {1'000'000};

/// Each allocation of `play(conversation&)` fails, or one of `step`, until it needs fewer.
template<class Play>
void fail_each(const config& settings, way how, test::live* witness, Play play,
               std::initializer_list<int> several = lengths, std::int64_t step = 1) {
    for (const auto length : several) {
        auto first = 1 + length % step;
        for (auto more = true; more; first += step)
            BOOST_TEST_CONTEXT("allocation " << first << ", and " << length - 1 << " more") {
                auto c = conversation{settings, how, witness,
                                      std::to_string(length) + '/' + std::to_string(first)};
                {
                    const auto failing = shortage{first, length};
                    play(c);
                    c.destroy();
                    more = shortage::has_struck();
                }
                c.check_calls();
            }
        BOOST_TEST_MESSAGE(first - 1 - step << " allocations");
        BOOST_TEST(first > 20);
    }
}

void fail_each_on(const test::redis_server& server, const config& settings, way how) {
    auto witness =
        test::live{server.unix_address(), [&](config& c) { c.advanced.mode = how.mode; }};
    fail_each(settings, how, &witness, [&](conversation& c) {
        c.make();
        c.call();
        {
            const auto test = plenty{};
            auto look = server.connect();
            (void)look.must({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
            witness.run([&]() -> asio::awaitable<void> {
                co_await witness.until_it_works("a key", how.rules);
            });
        }
        c.call();
        c.check_limiter();
    });
}

void fail_each_on_a_server(way how) {
    const auto server = test::redis_server{};
    fail_each_on(server, settings(server.address(), how.mode), how);
}

} // namespace

BOOST_AUTO_TEST_CASE(every_allocation_of_a_conversation_by_script_may_fail) {
    fail_each_on_a_server(by_script);
}

BOOST_AUTO_TEST_CASE(every_allocation_of_a_conversation_by_transaction_may_fail) {
    fail_each_on_a_server(by_transaction);
    fail_each_on_a_server(of_window);
}

BOOST_AUTO_TEST_CASE(every_allocation_of_a_conversation_with_functions_may_fail) {
    const auto server = test::redis_server{};
    auto look = server.connect();
    test::load_function_library(look);
    fail_each_on(server, settings(server.address(), execution_mode::function), by_function);
}

// (What the system's resolver allocates does not fail.)
BOOST_AUTO_TEST_CASE(every_allocation_of_a_conversation_with_a_host_by_name_may_fail) {
    const auto server = test::redis_server{{.tcp = true}};
    auto c = settings(by_name + std::to_string(server.port()), execution_mode::script);
    c.advanced.connect_timeout = 100ms;
    fail_each_on(server, c, by_script);
}

// (What OpenSSL allocates does not fail.)
BOOST_AUTO_TEST_CASE(every_allocation_of_a_conversation_by_tls_may_fail) {
    const auto s = test::tls_server{};
    auto c = settings(s.address(), execution_mode::script);
    s.trusted()(c);
    fail_each_on(s.server, c, by_script);
}

BOOST_AUTO_TEST_CASE(every_allocation_of_a_conversation_behind_sentinel_may_fail) {
    auto g = test::sentinel_group{{.sentinels = 1, .replicas = 0}};
    fail_each_on(g.server(0), settings(g.address(), execution_mode::script), by_script);
}

/// One of how many allocations fails in a conversation with a cluster, of which each takes long.
/// COLIMIT_ALLOCATION_STEP may ask for another number.
[[nodiscard]] std::int64_t step_in_cluster() {
    return test::asked_number("COLIMIT_ALLOCATION_STEP", 11);
}

/// Half of the slots are being moved, so that their calls are sent twice; and between the calls of
/// a conversation some of the others are.
BOOST_AUTO_TEST_CASE(every_allocation_of_a_conversation_with_a_cluster_may_fail) {
    constexpr std::size_t moving = redis::key_tags::usual / 4;
    auto cluster = test::redis_cluster{{.masters = 3}};
    const auto slot_of = [](std::size_t group) { return test::usual_tags.slot(group); };
    for (auto group = moving; group < 3 * moving; ++group) {
        const auto from = cluster.owner(slot_of(group));
        cluster.begin_migration(slot_of(group), from, (from + 1) % 3);
    }
    const auto address = "redis+cluster://" + cluster.endpoint(0);
    auto witness = test::live{address};
    auto turn = std::size_t{0};
    fail_each(
        settings(address, execution_mode::script), in_cluster, &witness,
        [&](conversation& c) {
            c.make();
            c.call();
            {
                const auto test = plenty{};
                for (auto i = 0; i < 2; ++i) {
                    const auto slot = slot_of(turn++ % moving);
                    const auto from = cluster.owner(slot);
                    cluster.migrate_slot(slot, from, (from + 1) % 3);
                }
            }
            c.call();
            c.check_limiter();
        },
        lengths, step_in_cluster());
}

// Every call completes, and the limiter ends, without any memory.
BOOST_AUTO_TEST_CASE(from_any_allocation_on_there_may_be_no_memory_at_all) {
    auto server = test::redis_server{};
    for (const auto& how : {by_script, by_transaction}) {
        auto witness = test::live{server.address(), [&](config& c) { c.advanced.mode = how.mode; }};
        fail_each(
            settings(server.address(), how.mode), how, &witness, [](conversation& c) { c.begin(); },
            for_ever);
    }
    auto g = test::sentinel_group{{.sentinels = 1, .replicas = 0}};
    auto witness = test::live{g.server(0).unix_address()};
    fail_each(
        settings(g.address(), execution_mode::script), by_script, &witness,
        [](conversation& c) { c.begin(); }, for_ever);
    fail_each(
        settings("memory:", execution_mode::script), by_script, nullptr,
        [](conversation& c) { c.begin(); }, for_ever);
}

BOOST_AUTO_TEST_CASE(every_allocation_in_process_may_fail) {
    auto c = settings("memory:", execution_mode::script);
    fail_each(c, by_script, nullptr, [](conversation& of) {
        of.make();
        of.call();
        of.check_limiter();
    });
}

BOOST_AUTO_TEST_CASE(every_allocation_of_counters_per_policy_and_audit_logs_may_fail) {
    auto c = settings("memory:", execution_mode::script);
    auto records = 0;
    c.counted_policies = 100;
    c.on_decision = [&](const audit_record&) { ++records; };
    fail_each(c, by_script, nullptr, [](conversation& of) {
        of.make();
        of.call();
        of.check_limiter();
    });
    BOOST_TEST(records > 0);
}

BOOST_AUTO_TEST_CASE(every_allocation_may_fail_while_there_is_no_server) {
    auto c = settings("unix:/nowhere/at/all", execution_mode::script);
    c.on_failure = failure_mode::local;
    c.advanced.reconnect_delay_min = c.advanced.reconnect_delay_max =
        1h; // no call waits for another attempt
    fail_each(c, by_script, nullptr, [](conversation& of) {
        of.make();
        of.call();
        of.call();
        of.check_limiter();
    });
}

/// A port without a listener.
BOOST_AUTO_TEST_CASE(every_allocation_may_fail_while_a_server_refuses_connections) {
    auto context = asio::io_context{};
    const auto silent = asio::ip::tcp::socket{
        context, asio::ip::tcp::endpoint{asio::ip::address_v4::loopback(), 0}};
    const auto address = "redis://127.0.0.1:" + std::to_string(silent.local_endpoint().port());
    for (const auto is_logged : {false, true}) {
        auto c = settings(address, execution_mode::script);
        c.on_failure = failure_mode::local;
        c.advanced.reconnect_delay_min = c.advanced.reconnect_delay_max = 1h;
        if (is_logged)
            c.log = to_nowhere();
        fail_each(c, of_two_kinds, nullptr, [](conversation& of) {
            of.make();
            of.call();
            of.check_limiter();
        });
    }
}

BOOST_AUTO_TEST_CASE(every_allocation_of_a_conversation_that_is_logged_may_fail) {
    const auto server = test::redis_server{{.tcp = true}};
    auto c = settings("redis://127.0.0.1:" + std::to_string(server.port()), execution_mode::script);
    c.log = to_nowhere();
    fail_each_on(server, c, of_two_kinds);
}

/// Which is told that some commands are denied.
BOOST_AUTO_TEST_CASE(every_allocation_of_a_conversation_of_a_user_with_few_rights_may_fail) {
    const auto server = test::redis_server{};
    server.connect().must({"ACL", "SETUSER", "ann", "on", ">pw", "~*", "+@all", "-getrange",
                           "-pfcount", "-zcount", "-zadd"});
    fail_each_on(server, settings("unix://ann:pw@" + server.socket(), execution_mode::script),
                 of_two_kinds);
}

BOOST_AUTO_TEST_CASE(a_connection_that_is_given_up_without_memory_is_a_problem) {
    auto server = test::redis_server{};
    auto is_reported = false;
    for (std::int64_t n = 1; n <= 1'000 && !is_reported; ++n) {
        auto context = asio::io_context{1};
        auto l = std::optional<limiter>{};
        {
            const auto failing = shortage{n, 1};
            try {
                l.emplace(context.get_executor(),
                          settings(server.address(), execution_mode::script));
            } catch (const std::bad_alloc&) {
                continue;
            }
            context.run_for(20ms);
        }
        const auto last = l->last_error();
        is_reported = last && last->text == "the connection was closed: std::bad_alloc";
    }
    BOOST_TEST(is_reported);
}

BOOST_AUTO_TEST_SUITE_END()
