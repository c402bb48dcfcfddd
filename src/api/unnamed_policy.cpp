// SPDX-License-Identifier: BSL-1.0
//
// Policies of rules without a name. Each thread keeps the last ones, so that a call with rules
// costs a lookup and not a validation.
//
// Validating, naming and encoding takes several microseconds. Each thread keeps up to 64, so there
// is no lock, and a bound for programs that make up rules per call. An entry is found by the rules
// themselves, not by their text, which would have to be formatted first.

#include <base/bytes.hpp>
#include <colimit/policy.hpp>
#include <hash/fnv1a.hpp>
#include <policy/make_policy.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace colimit {
namespace {

/// Returns the character of a policy name for a character of a rule's text. '+', ':' and '.' become
/// the same, but their position distinguishes them: a sign follows `utc`, a colon the hours, and a
/// '.' belongs to a name, which comes last.
[[nodiscard]] constexpr char name_character(char c) noexcept {
    switch (c) {
    case '/':
        return '-';
    case ' ':
        return '_';
    case '+':
    case ':':
        return '.';
    default:
        return c;
    }
}

/// Returns the rules' texts as a policy name: `5/s burst 10` becomes `5-s_burst_10`. If that is too
/// long, or the name of a rule could be taken for another rule, it ends with a digest of the texts,
/// so that different rules have different names.
[[nodiscard]] std::string name_of(std::span<const rule> rules) {
    auto text = std::string{};
    for (const auto& r : rules)
        text.append(text.empty() ? "" : "..").append(to_string(r));
    const auto digest = detail::hex_of<16>(hash::fnv1a_64(text));
    std::ranges::transform(text, text.begin(), name_character);
    const auto is_ambiguous = rules.size() > 1 && std::ranges::any_of(rules, &rule::is_named);
    if (text.size() <= limits::max_name_length && !is_ambiguous)
        return text;
    return text.substr(0, limits::max_name_length - digest.size() - 1) + "." +
           std::string{digest.rbegin(), digest.rend()};
}

/// Names rules of one algorithm apart.
[[nodiscard]] std::vector<rule> named_apart(std::span<const rule> rules) {
    auto all = std::vector<rule>{rules.begin(), rules.end()};
    for (std::size_t i = 1; i < rules.size(); ++i) {
        const auto earlier = std::ranges::count_if(rules.first(i), [&](const rule& r) {
            return !r.is_named() && r.kind() == rules[i].kind();
        });
        if (earlier != 0 && !rules[i].is_named())
            all[i] = rules[i].named(std::string{to_string(rules[i].kind())} + "_" +
                                    std::to_string(earlier + 1));
    }
    return all;
}

[[nodiscard]] detail::policy_pointer make_unnamed(std::span<const rule> rules) {
    // The rules are validated first: the text of an invalid rule is not a valid name.
    const auto all = named_apart(rules);
    detail::check_rules(all);
    return detail::make_policy(name_of(rules), all);
}

[[nodiscard]] std::uint64_t hash_of(std::span<const rule> rules) noexcept {
    auto hash = std::uint64_t{rules.size()};
    const auto add = [&hash](auto value) {
        hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15;
        hash ^= hash >> 32;
    };
    for (const auto& r : rules) {
        add(r.count());
        add(r.period().count());
        add(r.capacity());
        add(r.kind());
        if (r.is_named())
            add(hash::fnv1a_64(r.name()));
    }
    return hash;
}

/// The policies that a thread has used last, in sets of which the earliest one is replaced. Ten
/// policies do not displace each other, except in one of a million programs.
class recent_policies {
  public:
    [[nodiscard]] const detail::policy_pointer& find_or_make(std::span<const rule> rules) {
        const auto hash = hash_of(rules);
        auto& set = sets_[hash % sets_.size()];
        auto found = std::ranges::find_if(
            set, [&](const entry& e) { return e.hash == hash && e.is(rules); });
        if (found == set.end())
            *--found = {hash, {rules.begin(), rules.end()}, make_unnamed(rules)};
        std::rotate(set.begin(), found, std::next(found));
        return set.front().made;
    }

  private:
    struct entry {
        std::uint64_t hash = 0;
        std::vector<rule> rules;
        detail::policy_pointer made;

        [[nodiscard]] bool is(std::span<const rule> others) const noexcept {
            return made != nullptr &&
                   std::ranges::equal(rules, others, [](const rule& a, const rule& b) {
                       return a == b && a.is_named() == b.is_named();
                   });
        }
    };

    std::array<std::array<entry, 8>, 8> sets_;
};

} // namespace

policy::policy(std::span<const rule> rules, unnamed /*constructor*/) {
    thread_local recent_policies recent;
    data_ = recent.find_or_make(rules);
}

} // namespace colimit
