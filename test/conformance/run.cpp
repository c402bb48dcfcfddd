// SPDX-License-Identifier: BSL-1.0
//
// Steps to calls, and decisions against what was expected.

#include "run.hpp"
#include "rules.hpp"

#include <colimit/error.hpp>
#include <core/integers.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <set>
#include <sstream>
#include <utility>

namespace colimit::conformance {
namespace {

using detail::verb;

constexpr auto most = limits::max_exact_integer;

/// `-1`, as the files say: allowed, or never.
constexpr std::int64_t no_wait = -1;

[[nodiscard]] std::int64_t least_remaining(const decision& d) {
    return std::ranges::min(d.rules, {}, &rule_status::remaining).remaining();
}

[[nodiscard]] std::int64_t least_balance(const decision& d) {
    return std::ranges::min(d.rules, {}, &rule_status::balance).balance;
}

[[nodiscard]] std::int64_t longest_reset(const decision& d) {
    return std::ranges::max(d.rules, {}, &rule_status::reset_after).reset_after.count();
}

/// One step and its decision.
class comparison {
  public:
    comparison(const step& s, const scale& sc, std::string place, std::vector<std::string>& out)
        : step_(s), scale_(sc), place_(std::move(place)), out_(out) {}

    void decided(const decision& d) {
        flag("limited", !d.allowed());
        flag("ok", d.allowed());
        number("remaining", least_remaining(d));
        number("granted", d.granted);
        number("val", step_.op == op::balance ? least_balance(d) : least_remaining(d));
        time("reset_ns", longest_reset(d));
        retry(d);
        if (step_.op == op::time_to_full)
            time("wait_ns", longest_reset(d));
        else
            wait(d);
    }

    void number(std::string_view name, std::int64_t got) {
        if (const auto expected = step_.source.find(name))
            compare(name, expected->integer(), got);
    }

    void flag(std::string_view name, bool got) {
        if (const auto expected = step_.source.find(name))
            compare(name, expected->boolean(), got);
    }

  private:
    template<class Value>
    void compare(std::string_view name, const Value& expected, const Value& got) {
        if (expected == got)
            return;
        auto line = std::ostringstream{};
        line << std::boolalpha << place_ << ": " << name << ": expected " << expected << ", got "
             << got;
        out_.push_back(line.str());
    }

    [[nodiscard]] std::int64_t us(const element& ns) const {
        return ns.is_whole() ? scale_.rounded_up(ns.integer()) : scale_.rounded_up(ns.number());
    }

    void time(std::string_view name, std::int64_t got) {
        if (const auto expected = step_.source.find(name))
            compare(in_us(name), us(*expected), got);
    }

    /// `-1` is no time and has no scale.
    void retry(const decision& d) {
        const auto expected = step_.source.find("retry_ns");
        if (!expected)
            return;
        const auto got = d.outcome == outcome::denied ? d.retry_after.count() : no_wait;
        const auto peers = step_.source.find("peer_only_retry");
        if (peers && peers->boolean())
            compare("outcome never", true, d.outcome == outcome::never);
        else
            compare(in_us("retry_ns"), expected->number() < 0 ? no_wait : us(*expected), got);
    }

    /// 0 when allowed; `"MAX"` is never.
    void wait(const decision& d) {
        const auto expected = step_.source.find("wait_ns");
        if (!expected)
            return;
        if (expected->is_text() && expected->text() != "MAX")
            expected->complain("must be a number or \"MAX\"");
        const auto is_never = d.outcome == outcome::never;
        compare("never", expected->is_text(), is_never);
        if (!expected->is_text() && !is_never)
            compare(in_us("wait_ns"), us(*expected), d.allowed() ? 0 : d.retry_after.count());
    }

    [[nodiscard]] static std::string in_us(std::string_view name) {
        return std::string{name} + " in us";
    }

    const step& step_;
    const scale& scale_;
    std::string place_;
    std::vector<std::string>& out_;
};

/// A suite of steps, one way.
class stepper {
  public:
    stepper(const suite& s, const variant& v, store& where, std::string key_prefix,
            std::vector<std::string>& out)
        : suite_(s), variant_(v), store_(where), key_prefix_(std::move(key_prefix)), out_(out) {
        if (auto reason = store_.cannot(v.asked))
            throw left_out{*std::move(reason)};
    }

    void run() {
        create();
        for (std::size_t i = 0; i < suite_.steps.size(); ++i) {
            const auto& s = suite_.steps[i];
            const auto way = variant_.name.empty() ? "" : ", " + variant_.name;
            auto compared = comparison{
                s, variant_.scale,
                "step " + std::to_string(i) + " (" + s.source.at("op").text() + way + ")", out_};
            compared.decided(take(s));
        }
    }

  private:
    /// The state exists at time 0.
    void create() {
        auto keys = std::set<std::string>{};
        for (const auto& s : suite_.steps)
            keys.insert(s.key);
        for (const auto& key : keys)
            (void)store_.ask(
                name(key), variant_.created,
                {.verb = verb::charge, .cost = 0, .at_least = 0, .now = variant_.scale.time(0)});
    }

    [[nodiscard]] decision take(const step& s) {
        switch (s.op) {
        case op::consume:
            return ask(s, verb::allow, s.n);
        case op::peek:
        case op::delay_for:
            return ask(s, verb::peek, s.n);
        case op::available:
        case op::balance:
        case op::time_to_full:
            return ask(s, verb::peek, 0);
        case op::consume_up_to:
            return ask(s, verb::allow, s.n, std::min<std::int64_t>(s.n, 1));
        case op::consume_force:
            return ask(s, verb::charge, s.n);
        case op::add:
            return ask(s, verb::refund, s.n);
        case op::add_force:
            check_room(s);
            return ask(s, verb::refund, s.n);
        case op::reset:
        case op::formula:
            break;
        }
        if (suite_.algo != algo::token_bucket)
            return ask(s, verb::reset, 0);
        return ask(s, verb::refund,
                   std::ranges::max(suite_.bandwidths, {}, &bandwidth::capacity).capacity);
    }

    /// Skips cases in which a bucket holds more than its capacity, which colimit's cannot.
    void check_room(const step& s) {
        const auto before = ask(s, verb::peek, 0);
        for (const auto& status : before.rules)
            if (s.n > status.limit - status.balance)
                throw left_out{"add_force, a refund above the capacity"};
    }

    [[nodiscard]] decision ask(const step& s, verb v, std::int64_t n) { return ask(s, v, n, n); }

    /// Amounts beyond what can be asked for mean all there can be.
    [[nodiscard]] decision ask(const step& s, verb v, std::int64_t n, std::int64_t at_least) {
        return store_.ask(name(s.key), variant_.asked,
                          {.verb = v,
                           .cost = std::min(n, most),
                           .at_least = std::min(at_least, most),
                           .now = variant_.scale.time(s.time)});
    }

    [[nodiscard]] std::string name(const std::string& key) const {
        return key_prefix_ + '/' + variant_.name + '/' + key;
    }

    const suite& suite_;
    const variant& variant_;
    store& store_;
    std::string key_prefix_;
    std::vector<std::string>& out_;
};

/// `prev` in one window, `cur` at `elapsed`, a fraction, of the next: what does that give?
void run_formula(const step& s, std::size_t index, store& where, const std::string& key,
                 std::vector<std::string>& out) {
    constexpr auto second = std::int64_t{1'000'000};
    const auto fraction = s.source.at("elapsed").items();
    if (fraction.size() != 2 || fraction[0].natural() >= fraction[1].natural())
        s.source.at("elapsed").complain("must be a fraction [a, b] with 0 <= a < b");
    const auto period = fraction[1].integer() * second;
    const auto limit = s.source.at("limit").natural();
    const auto p = policy{"conformance", sliding_window(limit, std::chrono::microseconds{period})};
    const auto now = 1'000 * period;
    const auto ask = [&](verb v, std::int64_t cost, std::int64_t time) {
        return where.ask(key + '/' + std::to_string(index), p,
                         {.verb = v, .cost = cost, .at_least = cost, .now = time});
    };
    (void)ask(verb::charge, s.source.at("prev").natural(), now - period);
    (void)ask(verb::charge, s.source.at("cur").natural(), now + fraction[0].integer() * second);
    const auto d = ask(verb::peek, 1, now + fraction[0].integer() * second);
    auto compared = comparison{s, scale{}, "step " + std::to_string(index) + " (formula)", out};
    compared.flag("ok", d.allowed());
    compared.number("remaining", d.remaining);
    if (const auto weighted = s.source.find("weighted")) {
        const auto parts = weighted->items();
        if (parts.size() != 2 || parts[1].integer() < 1)
            weighted->complain("must be a fraction [a, b]");
        const auto left =
            core::floor_div(limit * parts[1].integer() - parts[0].integer(), parts[1].integer());
        if (d.rules[0].balance != left)
            out.push_back("step " + std::to_string(index) + " (formula): balance: expected " +
                          std::to_string(left) + ", got " + std::to_string(d.rules[0].balance));
    }
}

} // namespace

std::vector<std::string> run(const suite& s, store& where, const std::string& key_prefix) {
    auto out = std::vector<std::string>{};
    if (s.is_formula()) {
        for (std::size_t i = 0; i < s.steps.size(); ++i)
            run_formula(s.steps[i], i, where, key_prefix, out);
        return out;
    }
    for (const auto& v : variants_of(s))
        stepper{s, v, where, key_prefix, out}.run();
    return out;
}

} // namespace colimit::conformance
