// SPDX-License-Identifier: BSL-1.0
//
// An inspection is a call without a caller.

#include <limiter/filter_watch.hpp>
#include <limiter/limiter_core.hpp>

#include <algorithm>
#include <memory>
#include <new>
#include <string>

namespace colimit::detail {
namespace {

/// A filter is inspected this often while one process fills it to its capacity, but not before so
/// many calls, as an inspection costs as much as some dozen.
constexpr std::int64_t inspections = 64;
constexpr std::int64_t least_calls = 1'000;

struct inspection final : operation {
    explicit inspection(limiter_core& core)
        : operation(core, [](operation* self, bool /*invoke*/) {
              const std::unique_ptr<inspection> end{static_cast<inspection*>(self)};
          }) {}
};

} // namespace

filter_watch::filter_watch(limiter_core& core, const event_sender::function& on_event)
    : core_(core), events_(core.own_executor(), on_event) {}

/// Returns null if events are not wanted, or without memory.
filter_watch::state* filter_watch::find(const policy_data& filter) noexcept {
    if (!events_)
        return nullptr;
    try {
        if (filters_.size() >= limits::max_policies && !filters_.contains(filter.fingerprint))
            filters_.clear();
        return &filters_[filter.fingerprint];
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

bool filter_watch::is_due(const policy_data& filter) noexcept {
    auto* known = find(filter);
    if (known == nullptr)
        return false;
    const auto step = std::max(filter.filter->capacity / inspections, least_calls);
    if (++known->calls < step)
        return false;
    known->calls = 0;
    return true;
}

void filter_watch::inspect(const policy_pointer& filter, std::int64_t now) noexcept {
    auto* op = new (std::nothrow) inspection{core_}; // NOLINT: it ends itself
    if (op != nullptr)
        core_.start_locked(
            *op, {.kind = call_kind::each, .policy = &filter, .request = make_inspection(now)});
}

void filter_watch::note(const policy_data& filter, const filter_status& status) noexcept {
    auto* known = find(filter);
    if (known == nullptr || core_.is_closed())
        return;
    const auto was_over = std::exchange(known->is_over, status.is_over_capacity);
    if (status.is_over_capacity && !was_over)
        events_.send_made([&] {
            return event{.kind = event_kind::filter_over_capacity,
                         .at = std::chrono::system_clock::now(),
                         .cause = {},
                         .filter = filter.name};
        });
}

} // namespace colimit::detail
