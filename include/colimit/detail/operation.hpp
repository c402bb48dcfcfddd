// SPDX-License-Identifier: BSL-1.0
//
// A call under way: one intrusive node that holds all that a store needs to know of it until its
// handler runs. This is the part that the stores see; call_operation.hpp adds the handler.

#ifndef COLIMIT_DETAIL_OPERATION_HPP
#define COLIMIT_DETAIL_OPERATION_HPP

#include <colimit/check_item.hpp>
#include <colimit/decision.hpp>
#include <colimit/detail/question.hpp>
#include <colimit/error.hpp>
#include <colimit/failure_mode.hpp>

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

/// What is asked for, besides the verb.
enum class call_kind : std::uint8_t {
    ready,   ///< whether the store answers; it asks nothing of any key
    one,     ///< a question about a key
    once,    ///< the same under the limiter's own policy
    each,    ///< each check on its own: `allow_many`
    all,     ///< all checks or none: `allow_all`
    release, ///< a reservation's place is released, for no caller
};

/// What a verb of several steps keeps with its call.
struct attachment {
    attachment() = default;
    attachment(const attachment&) = delete;
    attachment& operator=(const attachment&) = delete;
    virtual ~attachment() = default;
};

/// Where a denial of the call is remembered.
struct place_in_cache {
    std::uint64_t low = 0; ///< a digest of prefix, policy name and key
    std::uint64_t high = 0;
    std::uint64_t rules = 0;   ///< which of them are asked
    std::uint32_t changes = 0; ///< of the place, when the call was made
    bool is_known = false;
    bool is_open = false; ///< a denial may be remembered
};

/// What is needed should the store not answer, when the arguments are gone.
struct stand_in {
    failure_mode mode = failure_mode::error;
    std::array<std::uint64_t, 2> key{}; ///< digests
    std::array<std::uint64_t, 2> member{};
    std::shared_ptr<const policy_data> policy;
};

struct operation {
    using finish_function = void (*)(operation*, bool invoke);

    explicit operation(limiter_core& core, finish_function f) noexcept : owner(&core), finish(f) {}
    operation(const operation&) = delete;
    operation& operator=(const operation&) = delete;

    limiter_core* owner;
    /// Where its memory comes from, if it has a handler.
    call_pool* pool = nullptr;
    /// Gives the memory back, then invokes the handler (or drops it).
    finish_function finish;
    operation* next = nullptr;
    operation* previous = nullptr;
    call_kind kind = call_kind::ready;
    bool is_held = false;    ///< by a store, which has not ended it yet
    bool has_left = false;   ///< the limiter no longer knows it; guarded by the limiter's lock
    std::uint32_t index = 0; ///< in its batch
    redis::call_batch* batch = nullptr; ///< while a server's queue holds it
    std::int64_t deadline = 0;          ///< microseconds of the limiter's steady clock
    std::int64_t sent_at = 0;           ///< by the same clock, not later than its first byte left
    detail::place_in_cache denied_at;
    detail::question asked;
    std::span<check_item> checks; ///< of `allow_all` and `allow_many`, which ask several questions
    std::unique_ptr<attachment> attached;
    detail::stand_in instead;
    error_code ec;
    decision result;

  protected:
    ~operation() = default;
};

} // namespace colimit::detail

#endif
