// SPDX-License-Identifier: BSL-1.0
//
// `allow_many`: one call with a handler, and one without for each of its checks.

#pragma once

#include <limiter/limiter_core.hpp>

#include <boost/intrusive/list.hpp>

#include <cstddef>

namespace colimit::detail {

class allow_many_operation final : public attachment {
  public:
    allow_many_operation(limiter_core& core, operation& parent);
    ~allow_many_operation() override;

    /// Starts a call for each check. The parent is completed when all are done.
    void start();
    /// Cancels the checks that the store holds.
    void cancel() noexcept;
    /// Returns whether the request of one of them may have been sent, or is decided already.
    [[nodiscard]] bool may_have_effect() const noexcept;

  private:
    struct child;
    using started_hook = boost::intrusive::list_base_hook<
        boost::intrusive::tag<struct started_tag>,
        boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

    static void finish(operation* base, bool invoke);

    limiter_core& core_;
    operation& parent_;
    operation_list waiting_; ///< children that are constructed and not started
    /// A child leaves it when it is destroyed.
    boost::intrusive::list<child, boost::intrusive::base_hook<started_hook>,
                           boost::intrusive::constant_time_size<false>>
        started_;
    std::size_t left_ = 0;
    error_code cut_short_; ///< a child was cancelled, or closed, before it was decided
};

} // namespace colimit::detail
