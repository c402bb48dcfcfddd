// SPDX-License-Identifier: BSL-1.0
//
// colimit reset: deletes the state of a key.

#include <tool/commands/table.hpp>
#include <tool/frame/key_call.hpp>

namespace tool {
namespace {

struct reset_command_options : key_call {
    int run(output& out) {
        return change(
            out, "reset",
            [&](colimit::limiter& l,
                const limited_key& k) -> boost::asio::awaitable<colimit::decision> {
                co_return co_await l.reset(k.key, k.limit);
            },
            true);
    }
};

} // namespace

command reset_command() {
    return {.name = "reset",
            .summary = "Delete the state of a key under a policy, and lift its block",
            .text = {"The whole limit is available again. Other processes that have cached a "
                     "denial of the key see that within a second."},
            .examples = {{"reset user=42 --policies policies.json --policy login",
                          "lets a user try again"}},
            .declare = declaration_of<reset_command_options>()};
}

} // namespace tool
