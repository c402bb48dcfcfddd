// SPDX-License-Identifier: BSL-1.0
//
// One call for one key.

#include <colimit/detail/access.hpp>
#include <colimit/limits.hpp>
#include <tool/frame/command.hpp>
#include <tool/frame/decision_text.hpp>
#include <tool/frame/format.hpp>
#include <tool/frame/key_call.hpp>
#include <tool/frame/with_limiter.hpp>

#include <algorithm>
#include <stdexcept>

namespace tool {

std::string decision_json(const std::string& command) {
    return R"({"command": ")" + command + "\",\n" +
           R"( "key": "user=42", "policy": "5-m", "outcome": "denied", "reason": "rule",
 "limiting_rule": "gcra", "granted": 0, "limit": 5, "remaining": 0,
 "retry_after_us": 11990568, "reset_after_us": 59990568,
 "server_time_us": 1795771558730690,
 "rules": [{"name": "gcra", "rule": "5/m", "limit": 5, "balance": 0,
            "retry_after_us": 11990568, "reset_after_us": 59990568}])" +
           (command == "check" || command == "peek" ? "}" : R"(,
 "changed": true})");
}

void declare_cost(CLI::App& app, std::int64_t& cost, const std::string& meaning) {
    app.add_option("--cost", cost, meaning)
        ->type_name("N")
        ->check(whole_number(0, colimit::limits::max_exact_integer))
        ->capture_default_str();
}

void declare_member(CLI::App& app, std::optional<std::string>& member) {
    app.add_option("--member", member, "The member that distinct rules count")->type_name("TEXT");
}

void declare_request(CLI::App& app, std::optional<std::string>& request) {
    app.add_option(
           "--request", request,
           "An id of 1 to 256 bytes: a call that is repeated with it within five minutes is "
           "made once, and answered the same")
        ->type_name("ID");
}

void key_call::declare(CLI::App& app) {
    app.add_option("KEY", key, key_meaning)->required();
    what.declare(app);
    what.declare_packed(app);
    server.declare(app);
}

namespace {

/// Returns whether a key has the same state: all is left as before, or denied for the same reason.
/// Times pass between two decisions of a state, but not if nothing is used.
[[nodiscard]] bool is_same(const colimit::decision& a, const colimit::decision& b) {
    const auto has_same = [](const colimit::rule_status& x, const colimit::rule_status& y) {
        return x.balance == y.balance && x.reset_after == y.reset_after;
    };
    return a.outcome == b.outcome && a.reason == b.reason &&
           std::ranges::equal(a.rules, b.rules, has_same);
}

} // namespace

std::string key_call::key_text(const limited_key& limited) const {
    return limited.key == key ? "" : shown(limited.key) + ": ";
}

int key_call::ask(output& out, const verb& make) const {
    const auto limited = what.limited(key);
    colimit::decision d;
    with_limiter(server.config(), [&](colimit::limiter& l) -> boost::asio::awaitable<void> {
        d = co_await make(l, limited);
    });
    if (out.is_json())
        out.object(decision_object(limited.key, limited.limit, d));
    else
        out.text(key_text(limited) + decision_text(limited.limit, d));
    return d.allowed() ? exit_allowed : exit_denied;
}

int key_call::change(output& out, const std::string& done, const verb& make,
                     bool may_find_nothing) const {
    if (is_in_memory(server.server))
        throw std::runtime_error{"--server: memory: ends with the command, so nothing would be "
                                 "changed (expected the address of a server)"};
    const auto limited = what.limited(key);
    colimit::decision before;
    colimit::decision d;
    with_limiter(server.config(), [&](colimit::limiter& l) -> boost::asio::awaitable<void> {
        if (may_find_nothing)
            before = co_await l.peek(limited.key, limited.limit, {.cost = 0});
        d = co_await make(l, limited);
    });
    const auto changes = !may_find_nothing || !is_same(before, d);
    if (out.is_json()) {
        auto object = decision_object(limited.key, limited.limit, d);
        object.emplace("changed", changes);
        out.object(object);
        return exit_allowed;
    }
    out.text(key_text(limited) + (changes ? done : nothing_text(limited, d)) + "; now " +
             decision_text(limited.limit, d));
    return exit_allowed;
}

std::string key_call::nothing_text(const limited_key& limited, const colimit::decision& d) const {
    const auto& options = colimit::detail::access::options(limited.limit);
    const auto is_packed = options.storage == colimit::storage::shared_hash;
    const auto is_blocked = !d.allowed() && d.reason == colimit::denial_reason::block;
    return "nothing was used" + std::string{is_blocked ? "" : " or blocked"} + " for " +
           shown(limited.key) + " under policy " + std::string{limited.limit.name()} + " (" +
           server.place_text() + ", mode " + server.mode +
           (is_packed ? ", packed" : ", not packed") + "), so nothing is changed" +
           (is_blocked ? "; it is blocked, and colimit reset lifts that" : "");
}

void check_call::declare(CLI::App& app) {
    key_call::declare(app);
    declare_cost(app, cost_, "Tokens requested");
    app.add_option("--at-least", at_least_,
                   "The fewest tokens to accept, instead of all of the cost")
        ->type_name("N")
        ->check(whole_number(0, colimit::limits::max_exact_integer));
    declare_member(app, member_);
}

colimit::check_options check_call::options() const {
    return {.cost = cost_, .at_least = at_least_, .member = member_};
}

} // namespace tool
