// SPDX-License-Identifier: BSL-1.0
//
// colimit check, peek, charge, refund, reset, block: calls of a limiter, by hand.

#include <tool/commands/key_call.hpp>
#include <tool/commands/table.hpp>

#include <colimit/detail/access.hpp>
#include <colimit/limits.hpp>
#include <rule_text/times.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

namespace tool {
namespace {

using colimit::decision;
using result = boost::asio::awaitable<decision>;

constexpr auto verbs_of_slots = "peek, inspect, block or reset";

struct check_options : check_call {
    void declare(CLI::App& app) {
        check_call::declare(app);
        declare_request(app);
    }
    int run(output& out) {
        return ask(out, [this](colimit::limiter& l, const limited_key& k) -> result {
            require_no_places(k.limit.rules(), verbs_of_slots);
            auto all = options(k.limit);
            all.request = request;
            co_return co_await l.allow(k.key, k.limit, all);
        });
    }
};

struct peek_options : check_call {
    int run(output& out) {
        return ask(out, [this](colimit::limiter& l, const limited_key& k) -> result {
            co_return co_await l.peek(k.key, k.limit, options(k.limit));
        });
    }
};

[[nodiscard]] bool counts_only_members(std::span<const colimit::rule> rules) {
    return std::ranges::all_of(
        rules, [](const colimit::rule& r) { return r.kind() == colimit::algorithm::distinct; });
}

/// The reason of a charge: rules that count members know this one.
[[nodiscard]] std::string known_member(const limited_key& k, const decision& before,
                                       const decision& after) {
    const auto has_no_more = [](const colimit::rule_status& a, const colimit::rule_status& b) {
        return b.balance >= a.balance;
    };
    const auto is_known = counts_only_members(k.limit.rules()) &&
                          std::ranges::equal(before.rules, after.rules, has_no_more);
    return is_known ? "the member was counted before, so nothing is changed" : "";
}

struct charge_command_options : key_call {
    void declare(CLI::App& app) {
        key_call::declare(app);
        declare_cost(app, cost, "Tokens to charge", 1);
        declare_member(app, member);
        declare_request(app);
    }
    int run(output& out) {
        const auto options =
            colimit::charge_options{.cost = cost, .member = member, .request = request};
        return change(
            out, "charged",
            [&](colimit::limiter& l, const limited_key& k) -> result {
                require_no_places(k.limit.rules(), verbs_of_slots);
                require_use_of(member, k.limit);
                co_return co_await l.charge(k.key, k.limit, options);
            },
            known_member, cost);
    }

    std::int64_t cost = 1;
    std::optional<std::string> member;
};

/// @throws std::runtime_error if no rule has tokens that could be returned
void require_tokens(std::span<const colimit::rule> rules) {
    if (counts_only_members(rules))
        throw std::runtime_error{"a distinct rule counts members, which a refund does not remove "
                                 "(expected reset)"};
}

struct refund_options : key_call {
    void declare(CLI::App& app) {
        key_call::declare(app);
        declare_cost(app, cost, "Tokens to return", 1);
        declare_request(app);
    }
    int run(output& out) {
        return change(
            out, "refunded",
            [&](colimit::limiter& l, const limited_key& k) -> result {
                require_no_places(k.limit.rules(), verbs_of_slots);
                require_tokens(k.limit.rules());
                co_return co_await l.refund(k.key, k.limit, {.cost = cost, .request = request});
            },
            [this](auto&&... about) { return nothing_used(about...); }, cost);
    }

    std::int64_t cost = 1;
};

struct reset_command_options : key_call {
    int run(output& out) {
        return change(
            out, "reset",
            [&](colimit::limiter& l, const limited_key& k) -> result {
                co_return co_await l.reset(k.key, k.limit);
            },
            [this](auto&&... about) { return nothing_used(about...); });
    }
};

/// A shorter one would have ended before its answer is read.
constexpr std::chrono::seconds shortest_block{1};

[[nodiscard]] std::string longest_block() {
    return colimit::text::duration_text(colimit::limits::max_recovery.count());
}

struct block_options : key_call {
    void declare(CLI::App& app) {
        key_call::declare(app);
        app.add_option("--for", length,
                       "For how long, 1s to " + longest_block() + ": 90s, 15m, 24h")
            ->type_name("DURATION")
            ->required();
    }
    int run(output& out) {
        const auto time = std::chrono::microseconds{colimit::text::parse_duration(length)};
        if (time < shortest_block || time > colimit::limits::max_recovery)
            throw std::runtime_error{"--for: out of range (got " + length + ", expected 1s to " +
                                     longest_block() + "); colimit reset lifts a block"};
        instead_of_packed = "packed states cannot be blocked";
        return change(
            out, "blocked for " + length,
            [&](colimit::limiter& l, const limited_key& k) -> result {
                if (colimit::detail::access::options(k.limit).shadow)
                    throw std::runtime_error{
                        "policy '" + std::string{k.limit.name()} +
                        "' is in shadow mode, so no call would be denied (expected a policy that "
                        "denies)"};
                co_return co_await l.block(k.key, k.limit, time);
            },
            [&](const limited_key&, const decision&, const decision& after) -> std::string {
                const auto is_longer =
                    after.reason == colimit::denial_reason::block && after.retry_after > time;
                return is_longer
                           ? "blocked for longer than " + length + " before, so nothing is changed"
                           : "";
            });
    }

    std::string length;
};

} // namespace

command check_command() {
    return {.name = "check",
            .summary = "Check a key, and charge it if all rules allow",
            .text = {"Makes the call that an application makes with limiter.allow: all rules are "
                     "checked atomically, and charged if all of them allow."},
            .examples = {{"check user=42 --rule '5/s burst 10'",
                          "one call under a rule that has no name"},
                         {"check user=42 --policies policies.json --policy api",
                          "under a policy of a file"},
                         {"check user=42 --rule 100/h --cost 20 --at-least 1",
                          "takes up to 20 tokens, as many as there are"}},
            .json = decision_json("check"),
            .declare = declaration_of<check_options>()};
}

command peek_command() {
    return {.name = "peek",
            .summary = "Say what a check would decide, and charge nothing",
            .text = {"Charges and writes nothing. The exit code is that of check."},
            .examples = {{"peek user=42 --rule '5/s burst 10'", "would a call be allowed now?"}},
            .json = decision_json("peek"),
            .declare = declaration_of<peek_options>()};
}

command charge_command() {
    return {.name = "charge",
            .summary = "Charge a key, even if no quota is left",
            .text = {"Records use unconditionally, so the balance may become negative. Prints what "
                     "is left afterwards."},
            .examples = {{"charge user=42 --rule 5/h --cost 3", "records three failed attempts"}},
            .json = decision_json("charge"),
            .declare = declaration_of<charge_command_options>()};
}

command refund_command() {
    return {.name = "refund",
            .summary = "Return quota to a key, never above the limit",
            .text = {"Prints what is left afterwards. A sliding log forgets its newest events."},
            .examples = {{"refund user=42 --rule 100/h --cost 20", "gives 20 tokens back"},
                         {"refund user=42 --rule 100/h --cost 20 --request order-7",
                          "gives them back once, however often it is repeated"}},
            .json = decision_json("refund"),
            .declare = declaration_of<refund_options>()};
}

command reset_command() {
    return {.name = "reset",
            .summary = "Delete the state of a key under a policy, and lift its block",
            .text = {"The whole limit is available again. Other processes that have cached a "
                     "denial of the key see that within a second. A string of another program at "
                     "the place of the state is deleted, too, and named."},
            .examples = {{"reset user=42 --policies policies.json --policy login",
                          "lets a user try again"}},
            .json = decision_json("reset"),
            .declare = declaration_of<reset_command_options>()};
}

command block_command() {
    return {
        .name = "block",
        .summary = "Deny all calls for a key for a time",
        .text = {"Denies every call for the key under the policy, whatever its rules say. A block "
                 "that lasts longer stays; colimit reset lifts it. Not with packed storage."},
        .examples = {{"block ip=2001:db8::7 --policies policies.json --policy api --for 1h",
                      "denies a client for an hour: the network that the document counts by"},
                     {"block ip=192.0.2.7 --rule 100/m --for 1h",
                      "under a rule, with the key that the application has"}},
        .json = decision_json("block"),
        .declare = declaration_of<block_options>()};
}

} // namespace tool
