// SPDX-License-Identifier: BSL-1.0
//
// A rule grants `base` tokens at an instant, and then either a share of `step` for each moment of a
// period, or all of `step` after each period.

#include <tool/lint/rate_bounds.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tool::lint {

namespace {

using colimit::algorithm;
using colimit::calendar_unit;
using colimit::rule;
using namespace std::chrono;
using colimit::refill;

struct lengths {
    microseconds shortest;
    microseconds longest;
};

lengths windows_of(const rule& r) {
    if (r.kind() != algorithm::calendar)
        return {r.period(), r.period()};
    switch (r.unit()) {
    case calendar_unit::day:
        return {days{1}, days{1}};
    case calendar_unit::week:
        return {days{7}, days{7}};
    case calendar_unit::month:
        return {days{28}, days{31}};
    case calendar_unit::year:
        break;
    }
    return {days{365}, days{366}};
}

double real(std::int64_t number) {
    return static_cast<double>(number);
}

bool grows_evenly(const rule& r) {
    return colimit::is_bucket(r.kind()) && r.refill() == refill::continuous;
}

/// Tokens at an instant. Two windows, or a full bucket and its refill, may follow on each other
/// without a pause; the events of a log may not.
double base_of(const rule& r) {
    if (colimit::is_bucket(r.kind()))
        return real(r.capacity()) + (grows_evenly(r) ? 0 : real(r.count()));
    return real(r.count()) * (r.kind() == algorithm::sliding_log ? 1 : 2);
}

double tokens_per_us(const rule& r) {
    return real(r.count()) / real(windows_of(r).shortest.count());
}

/// Returns whether a bucket with this capacity and rate denies nothing that `stricter` allows.
bool bucket_covers(const rule& bucket, const rule& stricter) {
    auto capacity = real(std::min(bucket.initial(), bucket.capacity()));
    if (!grows_evenly(bucket)) // it may be one refill behind an even one
        capacity -= real(bucket.count());
    return base_of(stricter) <= capacity && tokens_per_us(stricter) <= tokens_per_us(bucket);
}

} // namespace

bool limits_tokens(const rule& r) noexcept {
    return r.kind() != algorithm::distinct && r.kind() != algorithm::concurrent;
}

double most_within(const rule& r, microseconds length) {
    const auto period = windows_of(r).shortest;
    const auto periods = real(length.count()) / real(period.count());
    return base_of(r) + real(r.count()) * (grows_evenly(r) ? periods : std::floor(periods));
}

double tokens_per_day(const rule& r) {
    return real(r.count()) / real(windows_of(r).longest.count()) *
           real(microseconds{days{1}}.count());
}

microseconds recovery(const rule& r) {
    if (!colimit::is_bucket(r.kind()))
        return microseconds{0};
    const auto us = real(r.capacity()) * real(r.period().count()) / real(r.count());
    return microseconds{static_cast<std::int64_t>(us)};
}

bool is_implied_by(const rule& r, const rule& stricter) {
    // A log of denied calls denies by itself.
    if (stricter.is_shadow() || r.counts_denied() || !limits_tokens(r) || !limits_tokens(stricter))
        return false;
    if (colimit::is_bucket(r.kind()))
        return bucket_covers(r, stricter);
    // An interval without its end, as windows have none: they end when the next one begins.
    const auto window = windows_of(r).longest;
    const auto seen = r.kind() == algorithm::sliding_window ? 2 * window : window;
    return most_within(stricter, seen - microseconds{1}) <= real(r.count());
}

} // namespace tool::lint
