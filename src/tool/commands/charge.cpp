// SPDX-License-Identifier: BSL-1.0
//
// colimit charge: records use unconditionally.

#include <tool/commands/table.hpp>
#include <tool/frame/key_call.hpp>

namespace tool {
namespace {

struct charge_command_options : key_call {
    void declare(CLI::App& app) {
        key_call::declare(app);
        declare_cost(app, cost, "Tokens to charge");
        declare_member(app, member);
        declare_request(app, request);
    }
    int run(output& out) {
        const auto options =
            colimit::charge_options{.cost = cost, .member = member, .request = request};
        return change(out, "charged " + std::to_string(cost),
                      [&](colimit::limiter& l,
                          const limited_key& k) -> boost::asio::awaitable<colimit::decision> {
                          require_no_places(k.limit.rules());
                          co_return co_await l.charge(k.key, k.limit, options);
                      });
    }

    std::int64_t cost = 1;
    std::optional<std::string> member;
    std::optional<std::string> request;
};

} // namespace

command charge_command() {
    return {.name = "charge",
            .summary = "Charge a key, even if no quota is left",
            .text = {"Records use unconditionally, so the balance may become negative. Prints what "
                     "is left afterwards."},
            .examples = {{"charge user=42 --rule 5/h --cost 3", "records three failed attempts"}},
            .json = decision_json("charge"),
            .declare = declaration_of<charge_command_options>()};
}

} // namespace tool
