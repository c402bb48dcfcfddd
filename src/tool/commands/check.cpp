// SPDX-License-Identifier: BSL-1.0
//
// colimit check: the call that a server makes, by hand.

#include <tool/commands/table.hpp>
#include <tool/frame/key_call.hpp>

namespace tool {
namespace {

struct check_options : check_call {
    void declare(CLI::App& app) {
        check_call::declare(app);
        declare_request(app, request);
    }
    int run(output& out) {
        return ask(out,
                   [this](colimit::limiter& l,
                          const limited_key& k) -> boost::asio::awaitable<colimit::decision> {
                       require_no_places(k.limit.rules());
                       auto all = options();
                       all.request = request;
                       co_return co_await l.allow(k.key, k.limit, all);
                   });
    }

    std::optional<std::string> request;
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

} // namespace tool
