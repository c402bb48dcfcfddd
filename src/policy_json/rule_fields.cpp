// SPDX-License-Identifier: BSL-1.0
//
// A table of the allowed fields per algorithm, and the meaning of each field.

#include <base/enumerator.hpp>
#include <colimit/limits.hpp>
#include <core/algorithms.hpp>
#include <core/compiled_policy.hpp>
#include <policy_json/fields.hpp>
#include <rule_text/times.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>

namespace colimit::json {
namespace {

using core::feature;

struct rule_field {
    std::string_view name;
    std::optional<feature> only_with{};
};

constexpr std::array<rule_field, 14> rule_fields{{{"algorithm"},
                                                  {"limit"},
                                                  {"count", feature::refill},
                                                  {"period", feature::period},
                                                  {"unit", feature::calendar},
                                                  {"utc_offset", feature::calendar},
                                                  {"burst", feature::refill},
                                                  {"capacity", feature::refill},
                                                  {"refill", feature::refill},
                                                  {"initially", feature::refill},
                                                  {"from_first", feature::from_first},
                                                  {"count_denied", feature::count_denied},
                                                  {"shadow"},
                                                  {"name"}}};

constexpr auto field_names = [] {
    std::array<std::string_view, rule_fields.size()> names;
    std::ranges::transform(rule_fields, names.begin(), &rule_field::name);
    return names;
}();

/// Parses one of a few words.
template<class Values, class Name>
[[nodiscard]] auto choice(const node_ref& p, const Values& values, Name name_of) {
    const auto expected = "one of " + text::listed(values | std::views::transform(name_of));
    const auto word = p.text(expected);
    for (const auto& value : values)
        if (text::same_word(word, std::invoke(name_of, value)))
            return value;
    p.unexpected(expected);
}

[[nodiscard]] algorithm algorithm_of(const fields& f) {
    if (!f.has("algorithm"))
        return algorithm::gcra;
    return choice(f["algorithm"], core::algorithms, &core::algorithm_traits::name).algorithm;
}

[[nodiscard]] calendar_unit unit_of(const fields& f) {
    constexpr std::array units{calendar_unit::day, calendar_unit::week, calendar_unit::month,
                               calendar_unit::year};
    return choice(f["unit"], units, [](calendar_unit u) { return colimit::to_string(u); });
}

[[nodiscard]] refill refill_of(const node_ref& p) {
    constexpr std::array refills{refill::continuous, refill::stepwise, refill::aligned};
    return choice(p, refills,
                  [](refill r) { return name_of(r, {"continuous", "stepwise", "aligned"}); });
}

void check_fields(const fields& f, algorithm kind) {
    f.allow_only(field_names);
    for (const auto& known : rule_fields)
        if (known.only_with && f.has(known.name) && !core::traits_of(kind).has(*known.only_with))
            f[known.name].refuse("is for " + std::string{owners_of(*known.only_with)} +
                                 ", not for " + std::string{to_string(kind)});
}

/// Returns a field with two names, which must be given by at most one of them.
[[nodiscard]] std::optional<node_ref> either(const fields& f, std::string_view name,
                                             std::string_view alias) {
    if (!f.has(alias))
        return f.has(name) ? std::optional{f[name]} : std::nullopt;
    if (f.has(name))
        f[alias].refuse("is the same as " + std::string{name} + "; give one of them");
    return f[alias];
}

[[nodiscard]] std::int64_t limit_of(const fields& f) {
    const auto limit = either(f, "limit", "count");
    return (limit ? *limit : f["limit"]).integer(1, limits::max_exact_integer);
}

[[nodiscard]] bool is_true(const fields& f, std::string_view name) {
    return f.has(name) && f[name].boolean();
}

[[nodiscard]] rule numbers_of(const fields& f, algorithm kind) {
    const auto limit = limit_of(f);
    if (core::traits_of(kind).has(feature::period))
        return {kind, limit, f["period"].duration(), limit};
    const auto unit = unit_of(f);
    if (!f.has("utc_offset"))
        return calendar(limit, unit);
    const auto offset = f["utc_offset"];
    const auto written = offset.text("an offset such as \"+05:30\"");
    return calendar(limit, unit, offset.with_path([&] { return text::parse_utc_offset(written); }));
}

[[nodiscard]] rule refined(rule r, const fields& f) {
    if (const auto burst = either(f, "burst", "capacity"))
        r = r.burst(burst->integer(1, limits::max_exact_integer));
    if (const auto how = f.has("refill") ? refill_of(f["refill"]) : refill::continuous;
        how != refill::continuous)
        r = how == refill::stepwise ? r.stepwise() : r.aligned();
    if (f.has("initially"))
        r = r.initially(f["initially"].integer(0, r.capacity()));
    if (is_true(f, "from_first"))
        r = r.from_first();
    if (is_true(f, "count_denied"))
        r = r.count_denied();
    if (f.has("name"))
        r = r.named(f["name"].name_text());
    return r.shadow(is_true(f, "shadow"));
}

} // namespace

rule read_rule(const node_ref& object) {
    const auto f = fields{object};
    const auto kind = algorithm_of(f);
    check_fields(f, kind);
    const auto r = refined(numbers_of(f, kind), f);
    object.with_path([&] { (void)core::compile_policy("", {&r, 1}); });
    return r;
}

} // namespace colimit::json
