// SPDX-License-Identifier: BSL-1.0
//
// An intrusive list of calls: first in, first out, and any of them can be removed.

#ifndef COLIMIT_ASYNC_OPERATION_LIST_HPP
#define COLIMIT_ASYNC_OPERATION_LIST_HPP

#include <colimit/detail/operation.hpp>

#include <utility>

namespace colimit::detail {

class operation_list {
  public:
    operation_list() = default;
    operation_list(operation_list&& other) noexcept
        : first_(std::exchange(other.first_, nullptr)), last_(std::exchange(other.last_, nullptr)) {
    }
    operation_list& operator=(operation_list&&) = delete;

    [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
    [[nodiscard]] operation* front() const noexcept { return first_; }

    void push_back(operation& op) noexcept {
        op.next = nullptr;
        op.previous = last_;
        (last_ != nullptr ? last_->next : first_) = &op;
        last_ = &op;
    }

    /// Replaces an operation by another one.
    void replace(operation& op, operation& by) noexcept {
        by.previous = std::exchange(op.previous, nullptr);
        by.next = std::exchange(op.next, nullptr);
        (by.previous != nullptr ? by.previous->next : first_) = &by;
        (by.next != nullptr ? by.next->previous : last_) = &by;
    }

    void remove(operation& op) noexcept {
        (op.previous != nullptr ? op.previous->next : first_) = op.next;
        (op.next != nullptr ? op.next->previous : last_) = op.previous;
        op.next = op.previous = nullptr;
    }

    /// Removes and returns the first one; returns null if the list is empty.
    operation* pop_front() noexcept {
        auto* op = first_;
        if (op != nullptr)
            remove(*op);
        return op;
    }

  private:
    operation* first_ = nullptr;
    operation* last_ = nullptr;
};

} // namespace colimit::detail

#endif
