// SPDX-License-Identifier: BSL-1.0
//
// An incomplete call: one intrusive node with everything that a store needs until the handler runs.
// This is the part that the stores see; call_operation.hpp adds the handler.

#pragma once

#include <colimit/check_item.hpp>
#include <colimit/decision.hpp>
#include <colimit/detail/call_request.hpp>
#include <colimit/detail/digest.hpp>
#include <colimit/error.hpp>
#include <colimit/failure_mode.hpp>

#include <boost/core/noncopyable.hpp>
#include <boost/intrusive/list_hook.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <span>

namespace colimit::redis {
class call_batch; // src/redis/queue
} // namespace colimit::redis

namespace colimit::detail {

class limiter_core; // the body of a limiter, in src/limiter
struct call_pool;
struct policy_data;

/// The kinds of calls.
enum class call_kind : std::uint8_t {
    ready,   ///< waits for the store, without a key
    one,     ///< one verb for one key
    once,    ///< `once`, under the limiter's own policy
    wait,    ///< `wait` without a reservation: asks, and asks again
    count,   ///< the members of one key under a `distinct` rule
    inspect, ///< a block of a filter
    each,    ///< each part on its own: `allow_many`, `seen_many`, `charge_members`, `filter_status`
    all,     ///< all checks or none: `allow_all`
    release, ///< releases a reservation, without a caller
};

/// State of a call with several steps.
struct attachment : boost::noncopyable {
    virtual ~attachment() = default;
};

/// The bits that are set in the sampled part of a block, in its current and previous generation.
struct block_bits final : attachment {
    std::array<std::int64_t, 2> set{};
};

/// What the deny cache notes about a call when it starts.
struct deny_cache_note {
    std::uint64_t rules = 0;   ///< a digest of the rules
    std::uint32_t changes = 0; ///< of the entry, when the call was made
    bool is_known = false;     ///< the call was noted
    bool is_open = false;      ///< a denial may be cached
};

/// The lease that a call asks for.
struct lease_request {
    std::uint32_t stamp = 0;         ///< of the entry, when the call was made
    std::uint32_t further_calls = 0; ///< which the store makes after it, to be spent later
    std::int64_t granted = 0;        ///< calls for a lease, perhaps another call's, after this one
    bool is_known = false;           ///< the key may have a lease
    bool is_asking = false;          ///< the entry waits for this call
};

/// The data for the failure mode, kept because the call's arguments are not valid any more by then.
struct fallback_context {
    failure_mode mode = failure_mode::error;
    hash::digest member; ///< if a rule counts members
    std::shared_ptr<const policy_data> policy;
};

struct operation
    : boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>> {
    using finish_function = void (*)(operation*, bool invoke);

    explicit operation(limiter_core& core, finish_function f) noexcept : owner(&core), finish(f) {}
    operation(const operation&) = delete;
    operation& operator=(const operation&) = delete;

    limiter_core* owner;
    /// The source of its memory, if it has a handler.
    call_pool* pool = nullptr;
    /// Frees the memory, then invokes the handler (or destroys it).
    finish_function finish;
    call_kind kind = call_kind::ready;
    bool is_held = false;         ///< by a store, which has not ended it yet
    bool may_be_executed = false; ///< it was sent, but the reply was lost, and waits again
    bool has_left = false;        ///< the limiter no longer knows it; guarded by the limiter's lock
    std::uint32_t index = 0;      ///< in its batch
    redis::call_batch* batch = nullptr; ///< while a server's queue holds it
    std::int64_t deadline = 0;          ///< microseconds of the limiter's steady clock
    std::int64_t sent_at = 0;           ///< of the same clock, not after its first byte was sent
    hash::digest key_digest;            ///< of prefix, policy name and key
    detail::deny_cache_note denial;
    detail::lease_request lease;
    detail::call_request request;
    std::span<check_item> checks;    ///< of `allow_all`
    std::uint64_t fencing_token = 0; ///< of `acquire`, if it is granted
    std::unique_ptr<attachment> attached;
    std::unique_ptr<attachment> observed; ///< what counters and audit logs need at its end
    detail::fallback_context fallback;
    error_code ec;
    decision result;

  protected:
    ~operation() = default;
};

} // namespace colimit::detail
