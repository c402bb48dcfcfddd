// SPDX-License-Identifier: BSL-1.0
//
// Rules as text, in the form that text.cpp reads back.

#include <colimit/rule.hpp>
#include <time_units.hpp>

namespace colimit {
namespace {

/// The largest unit that counts the period whole; `s` rather than `1s`.
[[nodiscard]] std::string period_text(std::int64_t us) {
    for (const auto& unit : time_units)
        if (us % unit.microseconds == 0) {
            const auto n = us / unit.microseconds;
            return (n == 1 ? "" : std::to_string(n)) + std::string{unit.name};
        }
    return {};
}

} // namespace

std::string_view to_string(algorithm a) noexcept {
    switch (a) {
    case algorithm::gcra:
        return "gcra";
    case algorithm::cell:
        return "cell";
    case algorithm::token_bucket:
        return "token_bucket";
    case algorithm::leaky_bucket:
        return "leaky_bucket";
    }
    return "unknown";
}

std::string_view rule::name() const noexcept {
    return is_named_ ? name_.view() : to_string(algorithm_);
}

bool operator==(const rule& a, const rule& b) noexcept {
    return a.algorithm_ == b.algorithm_ && a.count_ == b.count_ && a.period_us_ == b.period_us_ &&
           a.capacity_ == b.capacity_ && a.is_shadow_ == b.is_shadow_ && a.name() == b.name();
}

std::string to_string(const rule& r) {
    auto text = std::to_string(r.count()) + "/" + period_text(r.period().count());
    if (r.kind() != algorithm::gcra)
        text += " " + std::string{to_string(r.kind())};
    if (r.capacity() != r.count())
        text += " burst " + std::to_string(r.capacity());
    if (r.is_shadow())
        text += " shadow";
    // The name comes last: in a policy name made of this text, it cannot look like another word.
    if (r.is_named())
        text += " named " + std::string{r.name()};
    return text;
}

} // namespace colimit
