// SPDX-License-Identifier: BSL-1.0
//
// An intrusive list of calls: first in, first out, and any of them can be removed.

#pragma once

#include <colimit/detail/operation.hpp>

#include <boost/intrusive/list.hpp>

#include <iterator>

namespace colimit::detail {

class operation_list {
  public:
    [[nodiscard]] bool empty() const noexcept { return list_.empty(); }
    [[nodiscard]] auto begin() noexcept { return list_.begin(); }
    [[nodiscard]] auto end() noexcept { return list_.end(); }
    [[nodiscard]] auto begin() const noexcept { return list_.begin(); }
    [[nodiscard]] auto end() const noexcept { return list_.end(); }
    /// Returns the first one; null if the list is empty.
    [[nodiscard]] operation* front() noexcept { return empty() ? nullptr : &list_.front(); }
    /// Returns the last one; null if the list is empty.
    [[nodiscard]] const operation* back() const noexcept {
        return empty() ? nullptr : &list_.back();
    }
    /// Returns the one after `op`; null after the last.
    [[nodiscard]] operation* after(operation& op) noexcept {
        const auto next = std::next(list_.iterator_to(op));
        return next == list_.end() ? nullptr : &*next;
    }

    void push_back(operation& op) noexcept { list_.push_back(op); }
    /// Inserts `op` before another one; at the end if that is null.
    void insert_before(operation* next, operation& op) noexcept {
        list_.insert(next == nullptr ? list_.end() : list_.iterator_to(*next), op);
    }
    void remove(operation& op) noexcept { list_.erase(list_.iterator_to(op)); }
    /// Replaces an operation by another one.
    void replace(operation& op, operation& by) noexcept {
        list_.insert(list_.iterator_to(op), by);
        remove(op);
    }

    /// Removes and returns the first one; returns null if the list is empty.
    operation* pop_front() noexcept {
        auto* op = front();
        if (op != nullptr)
            list_.pop_front();
        return op;
    }

  private:
    boost::intrusive::list<operation, boost::intrusive::constant_time_size<false>> list_;
};

} // namespace colimit::detail
