// SPDX-License-Identifier: BSL-1.0
//
// Calls whose requests are sent together: the part that is the same with a script and with MULTI.

#pragma once

#include <colimit/detail/operation.hpp>
#include <policy/policy_data.hpp>

#include <boost/assert.hpp>
#include <boost/core/noncopyable.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace colimit::redis {

using detail::policy_pointer;

class call_queue;

/// The interface to a call whose batch is not known.
class call_batch : boost::noncopyable {
  public:
    /// Replaces the operation of call `index`, which gets its result.
    virtual void substitute(std::uint32_t index, detail::operation& by) noexcept = 0;
    /// Removes the caller of call `index`. A call that was not encoded yet is never sent.
    virtual void drop(std::uint32_t index) noexcept = 0;
    /// Returns whether all callers have been removed and nothing has to be sent.
    [[nodiscard]] bool is_abandoned() const noexcept { return live_ == 0; }

    call_queue* queue = nullptr; ///< to which it belongs
    bool encoded = false;        ///< no more calls are taken, and it may have been sent
    bool is_returned = false;    ///< a server has refused to execute it, so it waits again
    bool is_parked = false;      ///< no server may be able to execute it now
    std::uint64_t sent_from = 0; ///< the position of its first byte in the connection's stream
    std::int64_t sent_at = 0;    ///< not after that byte was sent

  protected:
    ~call_batch() = default;

    std::size_t live_ = 0; ///< waiting callers
};

/// @tparam Call has the operation `op`, which is null if its caller has withdrawn it.
template<class Call>
class batch_of : public call_batch {
  public:
    void substitute(std::uint32_t index, detail::operation& by) noexcept final {
        calls_[index].op = &by;
    }
    [[nodiscard]] std::size_t size() const noexcept { return calls_.size(); }

    /// Called before the batch is sent again, although it may have been executed.
    void note_uncertain() noexcept {
        for (auto& c : calls_)
            if (c.op != nullptr)
                c.op->may_be_executed = true;
    }

    /// Removes the callers in the order of their calls: `take(operation&)`.
    template<class Take>
    void release(Take take) {
        for (auto& c : calls_)
            if (auto* op = std::exchange(c.op, nullptr); op != nullptr)
                take(*op);
        live_ = 0;
    }

  protected:
    ~batch_of() = default;

    /// Stores the caller of call `index`.
    void hold(detail::operation& op, std::uint32_t index) noexcept {
        BOOST_ASSERT(!encoded && calls_[index].op == nullptr);
        calls_[index].op = &op;
        op.is_held = true;
        op.batch = this;
        op.index = index;
        ++live_;
    }

    std::vector<Call> calls_;
};

} // namespace colimit::redis
