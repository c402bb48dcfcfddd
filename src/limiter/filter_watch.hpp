// SPDX-License-Identifier: BSL-1.0
//
// Finds filters that have more ids than their capacity, for `config::on_event`. A reply to `seen`
// does not say how full its filter is, and a process sees only its own calls: so after every so
// many of them the filter is inspected, like by `filter_status`. If there is no function for
// events, nothing is counted or inspected.

#pragma once

#include <colimit/bloom_filter.hpp>
#include <limiter/event_sender.hpp>
#include <policy/policy_data.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstdint>

namespace colimit::detail {

class limiter_core;

class filter_watch {
  public:
    filter_watch(limiter_core& core, const event_sender::function& on_event);

    /// Counts a call of `seen`. Returns whether the filter is to be inspected.
    [[nodiscard]] bool is_due(const policy_data& filter) noexcept;
    /// Inspects a filter, at a time or according to the store's clock; does nothing without memory.
    void inspect(const policy_pointer& filter, std::int64_t now) noexcept;
    /// Sends an event if the filter was not over its capacity before, and is now.
    void note(const policy_data& filter, const filter_status& status) noexcept;

  private:
    struct state {
        std::int64_t calls = 0; ///< since it was inspected
        bool is_over = false;
    };

    [[nodiscard]] state* find(const policy_data& filter) noexcept;

    limiter_core& core_;
    event_sender events_;
    boost::unordered_flat_map<std::uint64_t, state> filters_; ///< by fingerprint
};

} // namespace colimit::detail
