// SPDX-License-Identifier: BSL-1.0
//
// One call for one key.

#include <colimit/detail/access.hpp>
#include <colimit/limits.hpp>
#include <policy/policy_data.hpp>
#include <tool/commands/key_call.hpp>
#include <tool/frame/command.hpp>
#include <tool/frame/decision_text.hpp>
#include <tool/frame/format.hpp>
#include <tool/frame/with_limiter.hpp>
#include <tool/stored/lookup.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <span>
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
           (command == "peek"    ? "}"
            : command == "check" ? ",\n \"is_repeated\": false}"
                                 : ",\n \"changed\": true}");
}

void declare_cost(CLI::App& app, std::int64_t& cost, const std::string& meaning,
                  std::int64_t least) {
    app.add_option("--cost", cost, meaning)
        ->type_name("N")
        ->check(whole_number(least, colimit::limits::max_exact_integer))
        ->capture_default_str();
}

void declare_member(CLI::App& app, std::optional<std::string>& member) {
    app.add_option("--member", member, "The member that distinct rules count")->type_name("TEXT");
}

void require_use_of(const std::optional<std::string>& member, const colimit::policy& p) {
    const auto counts_members = [](const colimit::rule& r) {
        return r.kind() == colimit::algorithm::distinct;
    };
    if (member && std::ranges::none_of(p.rules(), counts_members))
        throw std::runtime_error{"--member: no effect, as policy " + std::string{p.name()} +
                                 " has no distinct rule"};
}

void require_use_of_prefix(const CLI::Option* prefix, std::span<const limited_key> limited) {
    const auto has_own = [](const limited_key& each) {
        return colimit::detail::access::options(each.limit).has_prefix;
    };
    if (!limited.empty() && std::ranges::all_of(limited, has_own))
        refuse_given(prefix, "no effect: policy " + std::string{limited.front().limit.name()} +
                                 " of the document has a prefix of its own" +
                                 (limited.size() > 1 ? ", as the others for this key have" : ""));
}

void key_call::declare_request(CLI::App& app) {
    request_option =
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
    server.declare_tags(app);
    server.declare_calls(app);
}

namespace {

constexpr auto made_before = "a call with this --request was made before, so nothing is changed";

/// Returns whether a key has the same state: all is left as before, or denied for the same reason.
/// Times pass between two decisions of a state, but not if nothing is used.
[[nodiscard]] bool is_same(const colimit::decision& a, const colimit::decision& b) {
    const auto has_same = [](const colimit::rule_status& x, const colimit::rule_status& y) {
        return x.balance == y.balance && x.reset_after == y.reset_after;
    };
    return a.outcome == b.outcome && a.reason == b.reason &&
           std::ranges::equal(a.rules, b.rules, has_same);
}

/// Returns how many tokens a call has charged or returned: `5`, or `at most 5` if a rule has
/// counted fewer, as one that was full does, or a packed state that owes no more than its limit.
[[nodiscard]] std::string amount_text(std::int64_t cost, std::span<const colimit::rule> rules,
                                      const colimit::decision& before,
                                      const colimit::decision& after) {
    auto least = cost;
    for (std::size_t i = 0; i < rules.size(); ++i)
        if (rules[i].kind() != colimit::algorithm::distinct)
            least = std::min(least, std::abs(before.rules[i].balance - after.rules[i].balance));
    return (least < cost ? "at most " : "") + std::to_string(cost);
}

} // namespace

std::string key_call::key_text(const limited_key& limited) const {
    return limited.key == key ? "" : shown(limited.key) + ": ";
}

void key_call::check_place(servers& at, const limited_key& limited) const {
    const auto is_multi = server.mode == "multi";
    require_use_of_prefix(server.prefix_option, {&limited, 1});
    if (!what.rules.empty() && !is_multi)
        require_no_other_storage(at, limited, server.prefix, tags(), instead_of_packed);
    require_no_other_mode(at, limited, server.prefix, tags(), is_multi);
}

std::string key_call::replaced_by_call(servers& at, const limited_key& limited) const {
    std::string text;
    for (const auto& p : foreign_strings(at, places_of(limited.limit, limited.key, server.prefix,
                                                       tags(), server.mode == "multi")))
        text += (text.empty() ? "" : " and ") + shown(p.redis_key);
    return text;
}

bool key_call::is_repeated(const colimit::decision& before,
                           const colimit::decision& d) const noexcept {
    return request && d.server_time < before.server_time;
}

int key_call::ask(output& out, const verb& make, std::optional<std::int64_t> cost) const {
    const auto limited = what.limited(key);
    if (!is_in_memory(server.server)) {
        servers at{server.config()}; // which checks the number of tags
        check_place(at, limited);
    }
    colimit::decision before;
    colimit::decision d;
    with_limiter(server.config(), [&](colimit::limiter& l) -> boost::asio::awaitable<void> {
        if (request)
            before = co_await l.peek(limited.key, limited.limit, {.cost = 0});
        d = co_await make(l, limited);
    });
    const auto is_again = is_repeated(before, d);
    if (out.is_json()) {
        auto object = decision_object(limited.key, limited.limit, d);
        if (request_option != nullptr)
            object.emplace("is_repeated", is_again);
        out.object(object);
    } else {
        out.text(key_text(limited) + (is_again ? std::string{made_before} + "; then " : "") +
                 (cost && d.allowed() ? "granted " + std::to_string(d.granted) + " of " +
                                            std::to_string(*cost) + "; "
                                      : "") +
                 decision_text(limited.limit, d));
    }
    return d.allowed() ? exit_allowed : exit_denied;
}

int key_call::change(output& out, const std::string& done, const verb& make, const reason& why_not,
                     std::optional<std::int64_t> cost) const {
    if (is_in_memory(server.server))
        throw std::runtime_error{"--server: memory: ends with the command, so nothing would be "
                                 "changed (expected the address of a server)"};
    const auto limited = what.limited(key);
    std::string replaced;
    {
        servers at{server.config()}; // which checks the number of tags
        check_place(at, limited);
        replaced = replaced_by_call(at, limited);
    }
    colimit::decision before;
    colimit::decision d;
    with_limiter(server.config(), [&](colimit::limiter& l) -> boost::asio::awaitable<void> {
        before = co_await l.peek(limited.key, limited.limit, {.cost = 0});
        d = co_await make(l, limited);
    });
    const auto is_again = is_repeated(before, d);
    const auto why = is_again ? made_before : why_not(limited, before, d);
    const auto has_replaced = !replaced.empty() && !is_again;
    if (out.is_json()) {
        auto object = decision_object(limited.key, limited.limit, d);
        object.emplace("changed", why.empty() || has_replaced);
        out.object(object);
        return exit_allowed;
    }
    auto text = key_text(limited);
    if (why.empty() || !has_replaced)
        text +=
            (why.empty()
                 ? done + (cost ? ' ' + amount_text(*cost, limited.limit.rules(), before, d) : "")
                 : why) +
            "; ";
    if (has_replaced)
        text += "a value that colimit did not write, in " + replaced + ", is deleted; ";
    out.text(text + (is_again ? "then " : "now ") + decision_text(limited.limit, d));
    return exit_allowed;
}

std::string key_call::nothing_used(const limited_key& limited, const colimit::decision& before,
                                   const colimit::decision& after) const {
    if (!is_same(before, after))
        return "";
    const auto& data = *colimit::detail::access::data(limited.limit);
    const auto is_packed = data.options.storage == colimit::storage::shared_hash;
    const auto is_blocked = !after.allowed() && after.reason == colimit::denial_reason::block;
    return "nothing was used" + std::string{is_blocked ? "" : " or blocked"} + " for " +
           shown(limited.key) + " under policy " + std::string{limited.limit.name()} + " (" +
           server.place_text(data.prefix(server.prefix)) + ", mode " + server.mode +
           (is_packed ? ", packed" : ", not packed") + "), so nothing is changed" +
           (is_blocked ? "; it is blocked, and colimit reset lifts that" : "");
}

void check_call::declare(CLI::App& app) {
    key_call::declare(app);
    declare_cost(app, cost_, "Tokens requested", 0);
    app.add_option("--at-least", at_least_,
                   "The fewest tokens to accept, instead of all of the cost")
        ->type_name("N")
        ->check(whole_number(0, colimit::limits::max_exact_integer));
    declare_member(app, member_);
}

colimit::check_options check_call::options(const colimit::policy& p) const {
    require_use_of(member_, p);
    return {.cost = cost_, .at_least = at_least_, .member = member_};
}

} // namespace tool
