// SPDX-License-Identifier: BSL-1.0
//
// Decisions in the form of HTTP.

#include <colimit/detail/access.hpp>
#include <colimit/http.hpp>
#include <core/rule_kind.hpp>
#include <policy/policy_data.hpp>

#include <boost/assert.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <utility>

namespace colimit::http {
namespace {

/// The largest integer of structured fields: RFC 9651, section 3.3.1.
constexpr std::int64_t max_integer = 999'999'999'999'999;
constexpr std::string_view duplicate_name = "prevent_duplicate";
constexpr std::string_view problem_types = "https://iana.org/assignments/http-problem-types#";

[[nodiscard]] std::int64_t seconds(std::chrono::microseconds time) noexcept {
    return std::chrono::ceil<std::chrono::seconds>(time).count();
}

[[nodiscard]] std::int64_t seconds(std::int64_t microseconds) noexcept {
    return seconds(std::chrono::microseconds{microseconds});
}

[[nodiscard]] const core::compiled_policy& compiled(const policy& p) noexcept {
    return detail::access::data(p)->compiled;
}

/// Returns the lockout of a policy that denies duplicates; nullptr if it denies none.
[[nodiscard]] const core::compiled_rule* lockout_of(const core::compiled_policy& p) noexcept {
    return p.state_count > p.size && !p.shadow ? &p.limits[p.size] : nullptr;
}

[[nodiscard]] bool can_deny(const core::compiled_policy& p, std::size_t rule) noexcept {
    return !p.shadow && !p.limits[rule].shadow;
}

/// Returns whether a store has made the decision, so that its numbers are counts.
[[nodiscard]] bool is_counted(const decision& d) noexcept {
    return d.source != decision_source::fail_open && d.source != decision_source::fail_closed;
}

/// Returns whether a block has denied the call: its rules may have tokens, which are not given.
[[nodiscard]] bool is_blocked(const decision& d) noexcept {
    return !d.allowed() && d.reason == denial_reason::block;
}

/// A list of structured fields, written into a buffer that has room for all items of any policy.
class list {
  public:
    explicit list(std::string_view prefix) noexcept : prefix_(prefix) {
        BOOST_ASSERT(prefix.size() <= limits::max_name_length + 1);
        BOOST_ASSERT(std::ranges::all_of(
            prefix, [](char c) { return core::is_name_character(c) || c == '/'; }));
    }

    /// Begins an item. Policies accept only names that need no escaping.
    void item(std::string_view name) noexcept {
        BOOST_ASSERT(std::ranges::all_of(name, core::is_name_character));
        if (end_ != text_.data())
            add(", ");
        add("\"");
        add(prefix_);
        add(name);
        add("\"");
    }
    void parameter(std::string_view key, std::int64_t value) noexcept {
        BOOST_ASSERT(value >= 0);
        add(";");
        add(key);
        add("=");
        end_ = std::to_chars(end_, text_.data() + text_.size(), std::min(value, max_integer)).ptr;
    }
    [[nodiscard]] std::string text() const {
        return {text_.data(), static_cast<std::size_t>(end_ - text_.data())};
    }

  private:
    /// An item with its separator, two parameters of one character, and their numbers.
    static constexpr std::size_t item_bytes =
        2 * limits::max_name_length + 5 + std::size_t{2} * (3 + 15);

    void add(std::string_view text) noexcept { end_ = std::ranges::copy(text, end_).out; }

    std::array<char, (limits::max_rules_per_policy + 1) * item_bytes>
        text_; // NOLINT: written first
    char* end_ = text_.data();
    std::string_view prefix_;
};

/// Returns the seconds after which a rule has more tokens; nullopt if they are not told.
[[nodiscard]] std::optional<std::int64_t> recovery(const decision& d, const rule_status& s) {
    const auto is_permanent = is_blocked(d) && d.outcome == outcome::never;
    if (s.retry_after == never_again || is_permanent)
        return std::nullopt;
    if (is_blocked(d))
        return seconds(d.retry_after);
    if (s.retry_after.count() > 0)
        return seconds(s.retry_after);
    if (!d.allowed() || s.reset_after.count() == 0)
        return std::nullopt;
    return seconds(s.reset_after);
}

/// Returns the seconds until a call would not be a duplicate; nullopt if that is unknown.
[[nodiscard]] std::optional<std::int64_t> lockout_time(const core::compiled_rule& l,
                                                       const decision& d) noexcept {
    if (d.allowed() && d.granted > 0)
        return seconds(l.period * l.unit);
    if (!d.allowed() && d.reason == denial_reason::duplicate)
        return seconds(d.retry_after);
    return std::nullopt;
}

struct problem {
    std::string_view type;
    std::string_view title;
};

[[nodiscard]] problem problem_of(const decision& d) noexcept {
    if (d.source == decision_source::fail_closed)
        return {"temporary-reduced-capacity", "The server cannot check the quota at present"};
    if (d.reason == denial_reason::block)
        return {"abnormal-usage-detected", "Requests of this client are blocked"};
    return {"quota-exceeded", "The request exceeds the assigned quota"};
}

} // namespace

unsigned status_of(const decision& d) noexcept {
    if (d.allowed())
        return 200;
    return d.source == decision_source::fail_closed ? 503 : 429;
}

std::optional<std::int64_t> retry_after(const decision& d) noexcept {
    if (d.outcome != outcome::denied)
        return std::nullopt;
    return std::clamp<std::int64_t>(seconds(d.retry_after), 1, max_integer);
}

std::string problem_body(const policy& p, const decision& d, std::string_view prefix) {
    if (d.allowed())
        return {};
    const auto& rules = compiled(p);
    auto violated = boost::json::array{};
    for (std::size_t i = 0; i < d.rules.size() && is_counted(d); ++i)
        if (can_deny(rules, i) && d.rules[i].retry_after.count() > 0)
            violated.emplace_back(std::string{prefix}.append(p[i].name()));
    if (d.reason == denial_reason::duplicate)
        violated.emplace_back(std::string{prefix}.append(duplicate_name));
    const auto [type, title] = problem_of(d);
    return boost::json::serialize(boost::json::object{{"type", std::string{problem_types} += type},
                                                      {"title", title},
                                                      {"status", status_of(d)},
                                                      {"violated-policies", std::move(violated)}});
}

namespace draft_11 {

std::string policy_field(const policy& p, std::string_view prefix) {
    const auto& rules = compiled(p);
    auto items = list{prefix};
    const auto add = [&items](std::string_view name, std::int64_t quota, std::int64_t recovery) {
        items.item(name);
        items.parameter("q", quota);
        items.parameter("w", seconds(recovery));
    };
    for (std::size_t i = 0; i < rules.size; ++i)
        if (can_deny(rules, i))
            add(p[i].name(), rules.limits[i].capacity, core::full_recovery(rules.limits[i]));
    if (const auto* l = lockout_of(rules))
        add(duplicate_name, 1, core::full_recovery(*l));
    return items.text();
}

std::string limit_field(const policy& p, const decision& d, std::string_view prefix) {
    const auto& rules = compiled(p);
    auto items = list{prefix};
    if (!is_counted(d))
        return {};
    const auto add = [&items](std::string_view name, std::int64_t remaining,
                              std::optional<std::int64_t> recovery) {
        items.item(name);
        items.parameter("r", remaining);
        if (recovery)
            items.parameter("t", *recovery);
    };
    for (std::size_t i = 0; i < d.rules.size(); ++i)
        if (can_deny(rules, i))
            add(p[i].name(), is_blocked(d) ? 0 : d.rules[i].remaining(), recovery(d, d.rules[i]));
    if (const auto* l = lockout_of(rules))
        if (const auto time = lockout_time(*l, d))
            add(duplicate_name, 0, time);
    return items.text();
}

std::vector<field> fields(const policy& p, const decision& d, const field_options& options) {
    return fields(p, policy_field(p, options.prefix), d, options);
}

std::vector<field> fields(const policy& p, std::string kept_field, const decision& d,
                          const field_options& options) {
    auto made = std::vector<field>{};
    made.reserve(4);
    const auto add = [&made](std::string_view name, std::string value) {
        if (!value.empty())
            made.push_back({name, std::move(value)});
    };
    add("RateLimit-Policy", std::move(kept_field));
    add("RateLimit", limit_field(p, d, options.prefix));
    if (const auto time = retry_after(d))
        add("Retry-After", std::to_string(*time));
    if (!d.allowed())
        add("Cache-Control", "no-store");
    if (options.x_ratelimit && is_counted(d) && can_deny(compiled(p), d.limiting_rule)) {
        add("X-RateLimit-Limit", std::to_string(d.limit));
        add("X-RateLimit-Remaining", std::to_string(d.remaining));
        add("X-RateLimit-Reset", std::to_string(seconds(d.reset_after)));
    }
    return made;
}

} // namespace draft_11
} // namespace colimit::http
