// SPDX-License-Identifier: BSL-1.0
//
// One call with a handler, and one without for each of its parts: the checks of `allow_many`, the
// ids of `seen_many`, the members of `charge_members`, some blocks of a filter for `filter_status`.

#pragma once

#include <limiter/backend.hpp>
#include <limiter/limiter_core.hpp>
#include <policy/filter_state.hpp>

#include <boost/intrusive/list.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace colimit::detail {

class many_calls final : public attachment {
  public:
    many_calls(limiter_core& core, operation& parent);
    ~many_calls() override;

    /// Starts a call for each part of a call, which is completed when all are done.
    [[nodiscard]] static stage_result begin(limiter_core& core, operation& op, const call& whole);
    /// Cancels the parts that the store holds.
    void cancel() noexcept;
    /// Returns whether the request of one of them may have been sent, or is decided already.
    [[nodiscard]] bool may_have_effect() const noexcept;
    /// Returns the state of the filter that was inspected.
    [[nodiscard]] filter_status status() const noexcept {
        return status_of(*filter_->filter, set_);
    }

  private:
    struct part;
    using started_hook = boost::intrusive::list_base_hook<
        boost::intrusive::tag<struct started_tag>,
        boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

    static void finish(operation* base, bool invoke);

    using results = std::pair<check_item*, seen_item*>;

    void start(const call& whole);
    void inspect(const call& whole);
    template<class Make>
    void make_parts(std::size_t count, Make make);
    void end_part(const part& one) noexcept;

    limiter_core& core_;
    operation& parent_;
    operation_list waiting_; ///< parts that are constructed and not started
    /// A part leaves it when it is destroyed.
    boost::intrusive::list<part, boost::intrusive::base_hook<started_hook>,
                           boost::intrusive::constant_time_size<false>>
        started_;
    std::size_t count_ = 0;
    std::size_t left_ = 0;
    error_code ec_;                     ///< of the parent
    policy_pointer filter_;             ///< that is inspected
    std::array<std::int64_t, 2> set_{}; ///< bits of it, see block_bits
};

} // namespace colimit::detail
