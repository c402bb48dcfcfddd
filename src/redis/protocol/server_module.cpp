// SPDX-License-Identifier: BSL-1.0
//
// What the replies mean.

#include <core/wire_version.hpp>
#include <redis/protocol/reply_error.hpp>
#include <redis/protocol/script.hpp>
#include <redis/protocol/server_module.hpp>

#include <algorithm>
#include <array>

namespace colimit::redis {
namespace {

/// Returns whether the server refuses the command because it could write.
[[nodiscard]] bool is_write_refusal(std::string_view error) noexcept {
    constexpr std::array beginnings{std::string_view{"READONLY "}, std::string_view{"MISCONF "},
                                    std::string_view{"NOREPLICAS "}};
    return std::ranges::any_of(beginnings,
                               [error](std::string_view b) { return error.starts_with(b); });
}

[[nodiscard]] module_state state_of_error(std::string_view error) noexcept {
    if (is_command_denial(error))
        return module_state::denied;
    if (is_write_refusal(error))
        return module_state::withheld;
    const auto needs = classify(error).recovery;
    return needs == recovery::server_busy || needs == recovery::reconnect_late
               ? module_state::unknown
               : module_state::absent;
}

} // namespace

void append_module_question(std::string& out) {
    resp::append_command(out, {words_of(script_command::server_module, check_script).command, "0"});
}

module_state read_module_state(const resp::decoder& reply, std::string_view bytes) {
    const auto nodes = reply.nodes();
    if (resp::is_error(reply.first().kind))
        return state_of_error(reply.text(reply.first(), bytes));
    const auto is_version = nodes.size() == 4 && nodes[0].kind == resp::kind::array &&
                            reply.text(nodes[1], bytes) == "colimit" &&
                            nodes[2].kind == resp::kind::integer;
    return is_version && nodes[2].integer == core::wire_version ? module_state::usable
                                                                : module_state::incompatible;
}

std::string incompatible_module(const resp::decoder& reply, std::string_view bytes) {
    auto text = std::string{"the server module has another wire version (got "};
    const auto nodes = reply.nodes();
    if (nodes.size() == 4)
        text.append(reply.text(nodes[2], bytes))
            .append(" of module ")
            .append(reply.text(nodes[3], bytes));
    else
        text += "none";
    return text + ", expected " + std::to_string(core::wire_version) + ")";
}

bool is_module_missing(std::string_view error) noexcept {
    return error.starts_with("ERR unknown command");
}

bool is_command_denial(std::string_view error) noexcept {
    return error.starts_with("NOPERM") && !is_key_denial(error);
}

} // namespace colimit::redis
