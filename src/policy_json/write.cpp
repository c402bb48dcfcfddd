// SPDX-License-Identifier: BSL-1.0
//
// Writes policies as JSON. Names and rule texts have no characters that JSON has to escape.

#include <colimit/detail/access.hpp>
#include <colimit/json.hpp>
#include <rule_text/times.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace colimit {
namespace {

[[nodiscard]] std::string in_quotes(std::string_view text) {
    return '"' + std::string{text} + '"';
}

[[nodiscard]] std::string rules_text(const policy& p) {
    std::string out;
    for (const auto& r : p.rules())
        out.append(out.empty() ? "" : ", ").append(in_quotes(to_string(r)));
    return "[" + out + "]";
}

[[nodiscard]] std::string policy_text(const policy& p) {
    const auto& options = detail::access::options(p);
    auto out = in_quotes(p.name()) + ": {\"rules\": " + rules_text(p);
    if (options.prevent_duplicate != 0)
        out +=
            ", \"prevent_duplicate\": " + in_quotes(text::duration_text(options.prevent_duplicate));
    if (options.shadow)
        out += ", \"shadow\": true";
    if (options.has_failure_mode)
        out += ", \"on_failure\": " + in_quotes(to_string(options.on_failure));
    if (options.storage != storage::per_key)
        out += ", \"storage\": " + in_quotes(to_string(options.storage));
    if (options.has_prefix)
        out += ", \"prefix\": " + in_quotes(options.prefix.view());
    if (options.has_leases)
        out += ", \"leases\": " + in_quotes(text::duration_text(options.leases));
    return out + "}";
}

} // namespace

std::string to_json(const policy_set& policies) {
    std::string out;
    for (const auto& p : policies)
        out.append(out.empty() ? "\n  " : ",\n  ").append(policy_text(p));
    return "{\"policies\": {" + out + (out.empty() ? "}}\n" : "\n}}\n");
}

std::string to_json(const policy& single) {
    return to_json(policy_set{std::vector{single}});
}

} // namespace colimit
