// SPDX-License-Identifier: BSL-1.0
//
// The reservation of a call of `wait`: enough to release it, and to know its time of admission.

#pragma once

#include <colimit/detail/operation.hpp>
#include <policy/policy_data.hpp>

#include <boost/intrusive/set_hook.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace colimit::detail {

/// Links of the wait queue, so that a reservation needs no memory of its own.
using due_hook = boost::intrusive::set_base_hook<boost::intrusive::tag<struct due_tag>>;
using key_hook = boost::intrusive::set_base_hook<boost::intrusive::tag<struct key_tag>>;

struct reservation final : attachment, due_hook, key_hook {
    reservation(std::string_view k, std::shared_ptr<const policy_data> p, bool has_time)
        : key(k), policy(std::move(p)), has_own_time(has_time) {}

    std::string key;
    std::shared_ptr<const policy_data> policy;
    bool has_own_time;          ///< the caller supplied `now`
    operation* op = nullptr;    ///< its call; the following are set with it
    std::int64_t granted = 0;   ///< when the reservation was made, according to the store's clock
    std::int64_t admission = 0; ///< its time, according to the store's clock
    std::uint64_t order = 0;    ///< of reservation
    std::int64_t due = 0;       ///< according to the steady clock of this process
    bool is_queued = false;
    bool served = false;
    bool is_from_fallback = false; ///< made by the failure mode's store
    bool cancelled = false;        ///< after the decision, before it was added to the wait queue
};

/// A call without a caller that concerns a reservation.
struct reservation_call final : operation {
    reservation_call(limiter_core& core, const reservation& about, finish_function f)
        : operation(core, f), entry(about.key, about.policy, about.has_own_time) {
        kind = call_kind::release;
    }

    reservation entry;
};

} // namespace colimit::detail
