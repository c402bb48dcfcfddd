// SPDX-License-Identifier: BSL-1.0
//
// Any bytes as a server's replies to a handshake or to calls: of every verb, under rules of every
// kind, with a script and with MULTI. In any case each call ends once, with an error or with a
// possible decision. The first bytes of the input select the calls.

#include <colimit/bloom_filter.hpp>
#include <colimit/policy.hpp>
#include <redis/connection/session.hpp>
#include <redis/multi/multi_queue.hpp>
#include <redis/script/script_queue.hpp>
#include <support/fake_operation.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using detail::verb;
namespace resp = colimit::redis::resp;

void check(bool holds, const char* what) {
    if (holds)
        return;
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::abort();
}

struct caller : test::fake_operation {
    using fake_operation::fake_operation;
    int endings = 0;
};

/// A clock that a test holds still.
constexpr std::int64_t here = 1'000'000'000;

[[nodiscard]] const std::vector<policy>& policies() {
    static const auto all = std::vector<policy>{
        policy{"p", gcra(5, 1s)},
        policy{"p", gcra(5, 1s), gcra(50, 1h).named("hour"), gcra(100, 24h).named("day")},
        policy{"p", fixed_window(5, 1min)},
        policy{"p", sliding_window(5, 1min)},
        policy{"p", token_bucket(5, 2, 1s).stepwise(), token_bucket(9, 2, 1s).aligned().named("a"),
               fixed_window(5, 1min).from_first().named("f"),
               calendar(5, calendar_unit::month).named("c"), sliding_window(5, 1min).named("s")}
            .prevent_duplicate(1s),
        policy{"p", sliding_log(5, 1s), sliding_log(9, 1min).named("m"), gcra(5, 1s).named("b")},
        policy{"p", distinct(5, 1min)},
        policy{"p", gcra(5, 1s), fixed_window(9, 1h).named("w")}.with_storage(storage::shared_hash),
        policy{"p", sliding_log(5, 1s).count_denied()},
        policy{"p", gcra(5, 1s)}.with_storage(storage::shared_hash),
    };
    return all;
}

/// The calls that are possible under a policy.
[[nodiscard]] std::vector<verb> verbs_of(const core::compiled_policy& rules) {
    using enum verb;
    auto verbs = std::vector{allow, allow, peek, charge, refund, reset};
    if (!rules.packed)
        verbs.push_back(block);
    if (rules.can_reserve)
        verbs.insert(verbs.end(), {reserve, unreserve});
    return verbs;
}

/// The i-th question: sometimes of more than one token, sometimes content with fewer.
[[nodiscard]] detail::call_request question(verb v, std::size_t i) {
    const auto cost = v == verb::block ? std::int64_t{1'000'000} : 1 + std::int64_t(i) % 3;
    return {.verb = v,
            .cost = v == verb::reset ? 0 : cost,
            .at_least = v == verb::reserve || v == verb::unreserve ? 1'000'000 : 1,
            .member = i % 2 == 0 ? "m" : "n",
            .has_member = true};
}

void check_decision(const caller& c) {
    const auto& d = c.result;
    if (d.rules.size() == 0) // an id of a filter, or a verb that has no answer
        return;
    const auto asks = c.request.verb == verb::allow;
    check(!asks || d.granted <= c.request.cost, "no more is granted than was asked for");
    check(!asks || d.allowed() == (d.granted >= c.request.at_least), "a grant is one");
    check(!asks || d.allowed() || d.granted == 0, "a refusal grants nothing");
    check(d.remaining >= 0 && d.remaining <= d.limit, "what remains is within the limit");
    check(d.retry_after >= 0s && d.reset_after >= 0s, "times lie ahead");
}

class conversation {
  public:
    explicit conversation(std::unique_ptr<redis::call_queue> queue) : queue_(std::move(queue)) {}

    void ask(const detail::policy_pointer& p, std::size_t calls, std::size_t first_verb) {
        constexpr auto keys = std::array<std::string_view, 3>{"a", "b", "c"};
        const auto verbs = p->filter ? std::vector{verb::allow} : verbs_of(p->compiled);
        for (std::size_t i = 0; i < calls; ++i) {
            auto& c = callers_.emplace_back(question(verbs[(first_verb + i) % verbs.size()], i));
            if (queue_->submit(c, keys[i % 3], p)) // MULTI has not every verb
                callers_.pop_back();
        }
    }

    void ask_together(const policy& p) {
        checks_ = {{.key = "a", .policy = p}, {.key = "b", .policy = p}};
        auto& c = callers_.emplace_back(detail::call_request{});
        c.checks = checks_;
        check(!queue_->submit_checks(c), "checks are taken");
    }

    /// The server's bytes, and the end of the connection.
    void hear(std::string_view bytes) {
        write();
        auto d = resp::decoder{};
        while (queue_->expects_reply() && d.feed(bytes) == resp::progress::complete) {
            const auto needs = queue_->read_reply(d, bytes);
            end_calls();
            if (!needs || *needs >= redis::recovery::reconnect)
                break;
            bytes.remove_prefix(d.consumed());
            d.next();
            write();
        }
        queue_->lose_connection(position_);
        end_calls();
        queue_->fail_all(errc::closed);
        end_calls();
        for (const auto& c : callers_)
            check(c.endings == 1, "a call ends once");
    }

  private:
    void write() {
        auto out = std::string{};
        queue_->write(out, position_, here);
        position_ += out.size();
    }

    void end_calls() {
        while (auto* op = queue_->done.pop_front()) {
            auto& c = static_cast<caller&>(*op);
            ++c.endings;
            if (!c.ec)
                check_decision(c);
        }
    }

    std::unique_ptr<redis::call_queue> queue_;
    std::deque<caller> callers_;
    std::vector<colimit::check_item> checks_;
    std::uint64_t position_ = 0;
};

[[nodiscard]] std::unique_ptr<redis::call_queue> by_script() {
    return std::make_unique<redis::script_queue>(
        redis::queue_settings{.prefix = "t", .batch_size = 8, .batches_in_flight = 2});
}

[[nodiscard]] std::unique_ptr<redis::call_queue> by_transaction() {
    auto queue = std::make_unique<redis::multi_queue>(
        redis::queue_settings{.prefix = "t", .batch_size = 8, .clock = [] { return here; }});
    queue->begin_connection({.origin = "run.3.", .time = here, .asked = here, .answered = here});
    return queue;
}

void greet(std::string_view bytes, bool transactions) {
    auto s = redis::session{{.user = "u", .password = "p", .transactions = transactions}};
    (void)s.start(here);
    auto next = s.connected();
    auto d = resp::decoder{};
    for (auto more = true; more;) {
        auto out = std::string{};
        if (next == redis::action::send)
            s.append_handshake(out);
        more = s.state() == redis::session_state::handshake &&
               d.feed(bytes) == resp::progress::complete;
        if (!more)
            break;
        next = s.read_reply(d, bytes, here);
        bytes.remove_prefix(d.consumed());
        d.next();
    }
    check(next != redis::action::serve || s.state() == redis::session_state::ready,
          "who serves is ready");
}

} // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer looks for
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const auto filter = bloom_filter{"f", {.capacity = 1'000}};
    static const auto log = policy{"p", sliding_log(5, 1s), sliding_log(9, 1min).named("m")};
    const auto input = std::string_view{reinterpret_cast<const char*>(data), size};
    if (size < 3)
        return 0;
    const auto way = data[0] % (policies().size() + 5);
    const auto calls = std::size_t{1} + data[1] % 8U;
    const auto bytes = input.substr(3);
    if (way < 2) {
        greet(bytes, way == 1);
        return 0;
    }
    auto talk = conversation{way == 2 ? by_transaction() : by_script()};
    if (way == 3)
        talk.ask_together(policies()[data[1] % policies().size()]);
    else
        talk.ask(way == 2   ? detail::access::data(log)
                 : way == 4 ? detail::access::data(filter)
                            : detail::access::data(policies()[way - 5]),
                 calls, data[2]);
    talk.hear(bytes);
    return 0;
}
