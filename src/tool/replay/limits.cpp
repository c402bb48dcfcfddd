// SPDX-License-Identifier: BSL-1.0
//
// Keys are made as the middleware makes them. A log has no header fields, so parts of these have no
// value.

#include <tool/replay/limits.hpp>

#include <colimit/http_request.hpp>
#include <colimit/key.hpp>
#include <http/address_text.hpp>

#include <algorithm>
#include <utility>

namespace tool::replay {

void limits::add(const colimit::policy& p) {
    // Packed states could not be removed from a server.
    policies_.push_back(
        p.with_storage(colimit::storage::per_key).with_failure_mode(colimit::failure_mode::error));
    first_rule_.push_back(rule_count_);
    rule_count_ += p.size();
}

limits::limits(const colimit::policy& each) {
    add(each);
}

limits::limits(colimit::policy_document document) : document_(std::move(document)) {
    for (const auto& p : document_->policies())
        add(p);
}

std::vector<std::string> limits::rules() const {
    std::vector<std::string> texts;
    for (const auto& p : policies_)
        for (const auto& rule : p.rules())
            texts.push_back(has_routes() ? std::string{p.name()} + ": " + to_string(rule)
                                         : to_string(rule));
    return texts;
}

limits::call_reading limits::call_of(const log_line& line) const {
    const auto& routes = document_->routes();
    const auto route = line.target.empty() ? std::nullopt : routes.find(line.method, line.target);
    if (!route)
        return {};
    const auto client = colimit::http::parse_address(line.client);
    if (!client)
        return {{}, "the client is not an address, which the routes need"};
    const auto user = line.user.empty() ? std::nullopt : std::optional{line.user};
    const colimit::http::request request{
        .method = line.method, .target = line.target, .peer = *client, .user = user};
    const colimit::http::key_context context{.client = *client,
                                             .prefixes = document_->prefixes(),
                                             .route = routes[*route].path(),
                                             .user = user};
    call_reading result;
    for (const auto& each : document_->policies_of(*route)) {
        const auto place = std::ranges::find(policies_, each.limit.name(), &colimit::policy::name);
        result.checks.push_back({static_cast<std::size_t>(place - policies_.begin()),
                                 std::string{each.key.key_of(request, context).view()}});
    }
    return result;
}

} // namespace tool::replay
