// SPDX-License-Identifier: BSL-1.0
//
// Keys are made as the middleware makes them. A log has no header fields, so parts of these have no
// value.

#include <tool/replay/limits.hpp>

#include <base/bytes.hpp>
#include <colimit/detail/access.hpp>
#include <colimit/http_request.hpp>
#include <colimit/key.hpp>
#include <colimit/limits.hpp>
#include <http/address_text.hpp>
#include <http/blanks.hpp>
#include <rule_text/cursor.hpp>
#include <rule_text/times.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace tool::replay {

namespace {

/// Returns the address of `192.0.2.7:443`, `[2001:db8::7]:443` or `[2001:db8::7]`, and other texts
/// unchanged.
[[nodiscard]] std::string_view without_port(std::string_view text) noexcept {
    const auto is_bracketed = text.starts_with('[');
    if (is_bracketed && text.ends_with(']'))
        return text.substr(1, text.size() - 2);
    const auto colon = is_bracketed ? text.rfind("]:") + 1 : text.find(':');
    const auto port = text.substr(std::min(colon + 1, text.size()));
    if (port.empty() || !std::ranges::all_of(port, colimit::detail::is_digit))
        return text;
    return is_bracketed ? text.substr(1, colon - 2) : text.substr(0, colon);
}

[[nodiscard]] bool is_address(std::string_view text) noexcept {
    return colimit::http::parse_address(without_port(colimit::http::without_blanks(text)))
        .has_value();
}

/// Returns how many of the words between these characters are addresses.
[[nodiscard]] std::size_t addresses_in(std::string_view text,
                                       std::string_view separators) noexcept {
    std::size_t count = 0;
    while (!text.empty()) {
        const auto word = text.substr(0, text.find_first_of(separators));
        count += is_address(word) ? 1U : 0U;
        text.remove_prefix(std::min(word.size() + 1, text.size()));
    }
    return count;
}

/// Returns whether a text is a value of the field `Forwarded`, such as `proto=http;for=192.0.2.7`.
[[nodiscard]] bool is_forwarded(std::string_view text) noexcept {
    while (!text.empty()) {
        const auto pair = text.substr(0, text.find_first_of(",; "));
        if (colimit::text::same_word(pair.substr(0, 4), "for="))
            return true;
        text.remove_prefix(std::min(pair.size() + 1, text.size()));
    }
    return false;
}

/// Returns whether a text ends with an address and its port, as in `/192.0.2.7:443` or
/// `tcp:192.0.2.7:443`, but is no URL. The port would make a client of each connection.
[[nodiscard]] bool has_text_in_front(std::string_view text) noexcept {
    if (text.find("://") != std::string_view::npos)
        return false;
    if (text.starts_with('/') && is_address(text.substr(1)))
        return true;
    for (auto at = text.find_first_of("/=:@"); at != std::string_view::npos;
         at = text.find_first_of("/=:@", at + 1))
        if (const auto rest = text.substr(at + 1);
            without_port(rest).size() != rest.size() && is_address(rest))
            return true;
    return false;
}

/// Returns whether all requests have one key.
[[nodiscard]] bool is_for_all(const colimit::http::key_template& key) {
    const auto text = to_string(key);
    return text == "global" || text.starts_with("global+tag:");
}

/// Returns the policy as it decides without shadow mode, which is what a replay is to find out. Its
/// keys are those of the run alone: a prefix of its own would find those of a service, and packed
/// states could not be removed.
[[nodiscard]] colimit::policy enforced(const colimit::policy& p) {
    std::vector<colimit::rule> rules;
    for (const auto& r : p.rules())
        rules.push_back(r.shadow(false));
    auto made = colimit::policy{p.name(), rules}.with_failure_mode(colimit::failure_mode::error);
    if (const auto period = colimit::detail::access::options(p).prevent_duplicate; period != 0)
        made = made.prevent_duplicate(std::chrono::microseconds{period});
    return p.leases().count() != 0 ? made.with_leases(p.leases()) : made;
}

/// Returns whether a route has the policy; others are for calls of the program.
[[nodiscard]] bool is_used(const colimit::policy_document& document, std::string_view policy) {
    for (std::size_t i = 0; i < document.routes().size(); ++i)
        if (std::ranges::any_of(document.policies_of(i),
                                [&](const auto& p) { return p.limit.name() == policy; }))
            return true;
    return false;
}

} // namespace

bool has_address(std::string_view text, std::string_view separators) noexcept {
    return addresses_in(text, separators) != 0;
}

std::string_view key_problem(std::string_view key) noexcept {
    if (is_address(key))
        return {};
    const auto comma = key.find(',');
    if (addresses_in(key, ",;| \t") > 1 ||
        (comma != std::string_view::npos &&
         (is_address(key.substr(0, comma)) || is_address(key.substr(key.rfind(',') + 1)))))
        return "the key is a list of addresses, not the address of one client";
    if (is_forwarded(key))
        return "the key is a field Forwarded, not the address of one client";
    if (has_text_in_front(key))
        return "the key has text in front of an address, so it is not the address of one client";
    return {};
}

void limits::add(const colimit::policy& p) {
    constexpr auto shadow = " (shadow: here it denies)";
    const auto& options = colimit::detail::access::options(p);
    const auto is_shadow = options.shadow;
    policies_.push_back(enforced(p));
    first_rule_.push_back(rules_.size());
    for (std::size_t i = 0; i < p.size(); ++i)
        rules_.push_back(to_string(policies_.back()[i]) +
                         (is_shadow || p[i].is_shadow() ? shadow : ""));
    if (const auto period = options.prevent_duplicate; period != 0)
        rules_.push_back("prevent_duplicate " + colimit::text::duration_text(period) +
                         (is_shadow ? shadow : ""));
}

std::size_t limits::denying_rule(std::size_t policy, const colimit::decision& d) const noexcept {
    const auto is_duplicate = d.reason == colimit::denial_reason::duplicate;
    return first_rule_[policy] + (is_duplicate ? policies_[policy].size() : d.limiting_rule);
}

limits::limits(const colimit::policy& each) {
    add(each);
}

limits::limits(colimit::policy_document document)
    : prefixes_(document.prefixes()), document_(std::move(document)) {
    for (const auto& p : document_->policies())
        if (is_used(*document_, p.name()))
            add(p);
}

limits::limits(colimit::policy_document document, std::string_view policy, bool has_requests)
    : prefixes_(document.prefixes()), document_(std::move(document)),
      chosen_(document_->find(policy)), has_requests_(has_requests) {
    add(chosen_->limit);
}

std::vector<std::string> limits::rules() const {
    const auto is_named = document_ && chosen_ == nullptr;
    auto texts = rules_;
    for (std::size_t i = policies_.size(), end = texts.size(); is_named && i-- > 0;)
        while (end > first_rule_[i])
            texts[--end].insert(0, std::string{policies_[i].name()} + ": ");
    return texts;
}

std::string limits::client_of(std::string_view written) const {
    if (written.find_first_of(":[") == std::string_view::npos) // an address of IPv4 has one form
        return std::string{written};
    const auto address = colimit::http::parse_address(without_port(written));
    if (!address)
        return std::string{written};
    constexpr auto scope = std::string_view{"ip="}.size();
    return std::string{colimit::key::address(*address, prefixes_).view().substr(scope)};
}

std::span<const colimit::keyed_policy> limits::policies_of(std::optional<std::size_t> route) const {
    if (chosen_ != nullptr)
        return {chosen_, 1};
    return route ? document_->policies_of(*route) : std::span<const colimit::keyed_policy>{};
}

limits::call_reading limits::call_of(const log_line& line) const {
    const auto& routes = document_->routes();
    const auto route = line.target.empty() ? std::nullopt : routes.find(line.method, line.target);
    const auto limiting = policies_of(route);
    if (limiting.empty())
        return {};
    if (chosen_ != nullptr && is_for_all(chosen_->key))
        return {{{0, "global"}}, {}};
    const auto client =
        colimit::http::parse_address(has_requests_ ? line.client : without_port(line.client));
    constexpr std::string_view proxy = "the client is a trusted proxy of the document, so its line "
                                       "does not say whose request it was: let the server log the "
                                       "client's own address";
    // A count of proxies says nothing about the addresses in a log, so no hop is within it.
    const auto is_proxy =
        client && document_->trusted_proxies().trusts(colimit::http::canonical(*client),
                                                      colimit::limits::max_proxies);
    if (!has_requests_)
        return is_proxy ? call_reading{{}, proxy} : call_reading{{{0, client_of(line.client)}}, {}};
    if (!client)
        return {{},
                chosen_ != nullptr ? "the client is not an address, which the keys need"
                                   : "the client is not an address, which the routes need"};
    const auto user = line.user.empty() ? std::nullopt : std::optional{line.user};
    const colimit::http::request request{
        .method = line.method, .target = line.target, .peer = *client, .user = user};
    const colimit::http::key_context context{
        .client = *client,
        .prefixes = prefixes_,
        .route = route ? std::string_view{routes[*route].path()} : std::string_view{},
        .user = user};
    const auto own = colimit::key::address(*client, prefixes_);
    call_reading result;
    for (const auto& each : limiting) {
        const auto place = std::ranges::find(policies_, each.limit.name(), &colimit::policy::name);
        std::string key{each.key.key_of(request, context).view()};
        if (is_proxy && key.find(own.view()) != std::string::npos)
            return {{}, proxy};
        result.checks.push_back(
            {static_cast<std::size_t>(place - policies_.begin()), std::move(key)});
    }
    return result;
}

} // namespace tool::replay
