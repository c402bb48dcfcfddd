// SPDX-License-Identifier: BSL-1.0
//
// The transitions of a breaker.

#include <redis/connection/breaker.hpp>

#include <boost/assert.hpp>

namespace colimit::redis {

breaker::breaker(breaker_settings settings)
    : settings_(settings), pause_(settings.pause_least), random_(settings.seed) {}

std::optional<std::int64_t> breaker::probe_late_at() const noexcept {
    if (!is_probing() || is_probe_late_)
        return std::nullopt;
    return *probed_at_ + settings_.probe_timeout;
}

void breaker::on_failure(std::int64_t now) {
    if (is_open_ || ++misses_ < settings_.misses)
        return;
    is_open_ = true;
    ++open_count_;
    good_ = 0;
    pause(now);
}

void breaker::end_probe(bool served, std::int64_t now) {
    BOOST_ASSERT(is_probing());
    probed_at_.reset();
    if (!is_open_)
        return;
    if (!served) {
        good_ = 0;
        return pause(now);
    }
    good_ = is_probe_late_ ? 0 : good_ + 1;
    due_ = now; // also after a late reply: the server is alive, and the next one may be in time
    if (good_ < settings_.probes)
        return;
    is_open_ = false;
    misses_ = 0;
}

/// Waits between half and all of the current pause; the next one is twice as long.
void breaker::pause(std::int64_t now) {
    auto jitter = std::uniform_int_distribution<std::int64_t>{pause_ - pause_ / 2, pause_};
    due_ = now + jitter(random_);
    pause_ = std::min(2 * pause_, settings_.pause_most);
}

} // namespace colimit::redis
