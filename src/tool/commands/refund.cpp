// SPDX-License-Identifier: BSL-1.0
//
// colimit refund: returns quota.

#include <tool/commands/table.hpp>
#include <tool/frame/key_call.hpp>

#include <algorithm>
#include <span>
#include <stdexcept>

namespace tool {
namespace {

/// @throws std::runtime_error if no rule has tokens that could be returned
void require_tokens(std::span<const colimit::rule> rules) {
    if (std::ranges::all_of(
            rules, [](const colimit::rule& r) { return r.kind() == colimit::algorithm::distinct; }))
        throw std::runtime_error{"a distinct rule counts members, which a refund does not remove "
                                 "(expected reset)"};
}

struct refund_options : key_call {
    void declare(CLI::App& app) {
        key_call::declare(app);
        declare_cost(app, cost, "Tokens to return");
        declare_request(app, request);
    }
    int run(output& out) {
        return change(
            out, "refunded " + std::to_string(cost),
            [&](colimit::limiter& l,
                const limited_key& k) -> boost::asio::awaitable<colimit::decision> {
                require_no_places(k.limit.rules());
                require_tokens(k.limit.rules());
                co_return co_await l.refund(k.key, k.limit, {.cost = cost, .request = request});
            },
            !request && cost > 0); // a call that is repeated with an id changes nothing
    }

    std::int64_t cost = 1;
    std::optional<std::string> request;
};

} // namespace

command refund_command() {
    return {.name = "refund",
            .summary = "Return quota to a key, never above the limit",
            .text = {"Prints what is left afterwards. A sliding log forgets its newest events."},
            .examples = {{"refund user=42 --rule 100/h --cost 20", "gives 20 tokens back"},
                         {"refund user=42 --rule 100/h --cost 20 --request order-7",
                          "gives them back once, however often it is repeated"}},
            .declare = declaration_of<refund_options>()};
}

} // namespace tool
