// SPDX-License-Identifier: BSL-1.0
//
// Children come from the limiter's pool, all of them before the first is started: when the memory
// for one cannot be allocated, no request has been made.

#include <limiter/allow_many.hpp>

#include <algorithm>
#include <mutex>
#include <utility>

namespace colimit::detail {

struct allow_many_operation::child final : operation, started_hook {
    child(limiter_core& core, allow_many_operation& a, check_item& into)
        : operation(core, &allow_many_operation::finish), all(a), answered(into) {}

    allow_many_operation& all;
    check_item& answered;
};

allow_many_operation::allow_many_operation(limiter_core& core, operation& parent)
    : core_(core), parent_(parent) {}

allow_many_operation::~allow_many_operation() = default;

void allow_many_operation::start() {
    const auto give_back = [this](operation* op) {
        auto* made = static_cast<child*>(op);
        made->~child();
        core_.pool().deallocate(made, sizeof(child));
    };
    try {
        for (auto& c : parent_.checks)
            waiting_.push_back(*::new (core_.pool().allocate(sizeof(child)))
                                   child(core_, *this, c));
    } catch (...) {
        while (auto* op = waiting_.pop_front())
            give_back(op);
        throw;
    }
    left_ = parent_.checks.size();
    while (auto* op = waiting_.pop_front()) {
        auto* one = static_cast<child*>(op);
        started_.push_front(*one);
        const auto& request = one->answered;
        core_.start_locked(*one, {.kind = call_kind::one,
                                  .key = request.key,
                                  .policy = &access::data(request.policy),
                                  .request = make_request(verb::allow, request.options)});
    }
}

void allow_many_operation::cancel() noexcept {
    for (auto& one : started_) // they end in the next event-loop iteration, not before
        core_.cancel_locked(one, asio::cancellation_type::terminal);
}

bool allow_many_operation::may_have_effect() const noexcept {
    return left_ != parent_.checks.size() ||
           std::ranges::any_of(
               started_, [this](const child& one) { return core_.may_have_effect_locked(one); });
}

void allow_many_operation::finish(operation* base, bool invoke) {
    auto* one = static_cast<child*>(base);
    auto& all = one->all;
    if (invoke) {
        one->answered.ec = one->ec;
        one->answered.result = one->result;
    }
    auto& parent = all.parent_;
    {
        const std::lock_guard guard{all.core_.lock()};
        if (one->ec == asio::error::operation_aborted || one->ec == errc::closed)
            all.cut_short_ = one->ec;
        one->~child();
        all.core_.pool().deallocate(one, sizeof(child));
        if (--all.left_ != 0)
            return;
        if (invoke)
            return all.core_.complete(parent, all.cut_short_);
    }
    parent.finish(&parent, false);
}

} // namespace colimit::detail
