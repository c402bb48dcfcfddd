// SPDX-License-Identifier: BSL-1.0
//
// colimit peek: the decision of `check`, without a charge.

#include <tool/commands/table.hpp>
#include <tool/frame/key_call.hpp>

namespace tool {
namespace {

struct peek_options : check_call {
    int run(output& out) {
        return ask(out,
                   [this](colimit::limiter& l,
                          const limited_key& k) -> boost::asio::awaitable<colimit::decision> {
                       co_return co_await l.peek(k.key, k.limit, options());
                   });
    }
};

} // namespace

command peek_command() {
    return {.name = "peek",
            .summary = "Say what a check would decide, and charge nothing",
            .text = {"Charges and writes nothing. The exit code is that of check."},
            .examples = {{"peek user=42 --rule '5/s burst 10'", "would a call be allowed now?"}},
            .json = decision_json("peek"),
            .declare = declaration_of<peek_options>()};
}

} // namespace tool
