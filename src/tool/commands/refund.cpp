// SPDX-License-Identifier: BSL-1.0
//
// colimit refund: returns quota.

#include <tool/commands/table.hpp>
#include <tool/frame/key_call.hpp>

namespace tool {
namespace {

struct refund_options : key_call {
    void declare(CLI::App& app) {
        key_call::declare(app);
        declare_cost(app, cost, "Tokens to return");
        declare_request(app, request);
    }
    int run(output& out) {
        return change(out, "refunded " + std::to_string(cost),
                      [&](colimit::limiter& l,
                          const limited_key& k) -> boost::asio::awaitable<colimit::decision> {
                          require_no_places(k.limit.rules());
                          co_return co_await l.refund(k.key, k.limit,
                                                      {.cost = cost, .request = request});
                      });
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
            .json = decision_json("refund"),
            .declare = declaration_of<refund_options>()};
}

} // namespace tool
