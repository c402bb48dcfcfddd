// SPDX-License-Identifier: BSL-1.0
//
// From a request to keys, and from decisions to a verdict.
//
// A check is the limiter's call with another handler, which turns the decision into a verdict and
// passes on everything that is associated with the caller's: executor, allocator, cancellation
// slot. So completion, cancellation and the end of a limiter are those of its verbs. Only the keys,
// the verdict and the checks of several policies need memory of their own, which is freed before
// the handler runs.

#include <colimit/detail/guard_call.hpp>

#include <colimit/client_address.hpp>
#include <colimit/detail/access.hpp>
#include <colimit/http.hpp>
#include <colimit/routes.hpp>
#include <core/evaluate.hpp>
#include <policy/policy_data.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

namespace colimit::detail {
namespace {

using http::field;

/// Returns the user, none if the callback throws: with coroutines, an exception of an initiating
/// function cannot be caught where the call is awaited, and would end the server.
[[nodiscard]] std::optional<std::string> user_of(const http::guard_options& options,
                                                 const http::request& r) noexcept {
    try {
        return options.user(r);
    } catch (...) {
        return std::nullopt;
    }
}

/// Appends to a field that is a list.
void append_items(std::vector<field>& fields, std::string_view name, std::string_view items) {
    if (items.empty())
        return;
    const auto found = std::ranges::find(fields, name, &field::name);
    if (found == fields.end())
        fields.push_back({name, std::string{items}});
    else
        found->value.append(", ").append(items);
}

} // namespace

guard_call::guard_call(std::shared_ptr<const guard_settings> settings, const http::request& r)
    : settings_(std::move(settings)), request_(r) {
    verdict_.document = settings_->documents();
    const auto& document = *verdict_.document;
    verdict_.path = http::normal_path(r.target);
    const auto route = document.routes().find(r.method, verdict_.path);
    if (!route)
        return;
    verdict_.policies = document.policies_of(*route);
    if (verdict_.policies.empty())
        return;
    context_ = {.client = client_address(r, document.trusted_proxies()),
                .prefixes = document.prefixes(),
                .route = document.routes()[*route].path(),
                .user = r.user,
                .verifier = &settings_->options.verifier};
    const auto uses_user = [](const keyed_policy& p) { return p.key.uses_user(); };
    if (settings_->options.user && std::ranges::any_of(verdict_.policies, uses_user)) {
        user_ = user_of(settings_->options, r);
        context_.user = user_;
    }
}

scoped_key guard_call::first_key() const {
    return policies().front().key.key_of(request_, context_);
}

std::span<check_item> guard_call::make_checks() {
    keys_.reserve(policies().size());
    for (const auto& p : policies())
        keys_.push_back(p.key.key_of(request_, context_));
    checks_.reserve(keys_.size());
    for (std::size_t i = 0; i < keys_.size(); ++i)
        checks_.push_back({.key = keys_[i], .policy = verdict_.policies[i].limit});
    return checks_;
}

/// With one failure mode for all, an error that this mode did not mask is one of all.
bool guard_call::should_ask_apart(error_code ec) const {
    if (!ec || policies().size() < 2)
        return false;
    const auto may_be_masked = ec == condition::transient || ec == condition::maybe_charged;
    const auto mode_of = [](const keyed_policy& p) {
        const auto& o = access::options(p.limit);
        return o.has_failure_mode ? std::optional{o.on_failure} : std::nullopt;
    };
    return !may_be_masked || std::ranges::any_of(policies(), [&](const keyed_policy& p) {
        return mode_of(p) != mode_of(policies().front());
    });
}

http::verdict guard_call::finish(error_code ec, const decision& d) {
    if (ec)
        fail(ec);
    else if (!verdict_.policies.empty())
        set_fields(d);
    return end();
}

/// The strictest policy wins: one that denies, then an error that denies, then the grant of the
/// policy that has the least left.
http::verdict guard_call::finish_apart() {
    const auto failed = [](const check_item& c) { return static_cast<bool>(c.ec); };
    const auto has_failed = std::ranges::any_of(checks_, failed);
    if (has_failed)
        verdict_.error = std::ranges::find_if(checks_, failed)->ec;
    auto strictest = std::optional<std::size_t>{};
    for (std::size_t i = 0; i < checks_.size(); ++i)
        if (!failed(checks_[i]) &&
            (!strictest || core::binds_more(checks_[i].result, checks_[*strictest].result)))
            strictest = i;
    if (!strictest ||
        (has_failed && checks_[*strictest].result.allowed() && !settings_->options.allow_on_error))
        fail(verdict_.error);
    else {
        auto d = checks_[*strictest].result;
        d.limiting_check = static_cast<std::uint8_t>(*strictest);
        set_fields(d);
    }
    return end();
}

/// Asks the functions of the options.
http::verdict guard_call::end() {
    const auto& options = settings_->options;
    if (!verdict_.allowed && options.on_denied)
        deny_or_allow();
    if (verdict_.error && options.on_error)
        options.on_error(request_, verdict_);
    return std::move(verdict_);
}

void guard_call::set_fields(const decision& d) {
    verdict_.limiting = d.limiting_check;
    verdict_.decision = d;
    const auto& p = verdict_.policies[verdict_.limiting];
    auto options = settings_->options.fields;
    options.prefix = p.prefix;
    verdict_.fields = http::draft_11::fields(p.limit, p.field, d, options);
    for (std::size_t i = 0; i < checks_.size(); ++i)
        if (i != verdict_.limiting && !checks_[i].ec)
            add_items(verdict_.policies[i], checks_[i].result, d.allowed());
    if (!d.allowed())
        deny(p, d);
}

/// Asks `on_denied`. An allowed response must not have the fields of a denial.
void guard_call::deny_or_allow() {
    settings_->options.on_denied(request_, verdict_);
    if (!verdict_.allowed)
        return;
    std::erase_if(verdict_.fields, [](const field& f) {
        return f.name == "Retry-After" || f.name == "Cache-Control" || f.name == "Content-Type";
    });
    verdict_.status = http::verdict{}.status;
    verdict_.body.clear();
}

/// @param allowed whether the whole call is: rules that allow a denied call do not tell when they
/// will have recovered, which could be later than `Retry-After`.
void guard_call::add_items(const keyed_policy& p, decision d, bool allowed) {
    if (!allowed && d.allowed())
        d.outcome = outcome::denied;
    append_items(verdict_.fields, "RateLimit-Policy", p.field);
    append_items(verdict_.fields, "RateLimit", http::draft_11::limit_field(p.limit, d, p.prefix));
}

void guard_call::deny(const keyed_policy& p, const decision& d) {
    verdict_.allowed = false;
    verdict_.status = http::status_of(d);
    verdict_.body = http::problem_body(p.limit, d, p.prefix);
    verdict_.fields.push_back({"Content-Type", std::string{http::problem_type}});
}

/// Denies as `failure_mode::deny` would.
void guard_call::fail(error_code ec) {
    verdict_.error = ec;
    if (settings_->options.allow_on_error)
        return;
    auto d = decision{};
    d.source = decision_source::fail_closed;
    const auto& p = verdict_.policies.front();
    verdict_.fields = http::draft_11::fields(p.limit, p.field, d);
    deny(p, d);
}

} // namespace colimit::detail
