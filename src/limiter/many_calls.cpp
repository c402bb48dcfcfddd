// SPDX-License-Identifier: BSL-1.0
//
// Parts come from the limiter's pool, all of them before the first is started: when the memory for
// one cannot be allocated, no request has been made.

#include <base/bytes.hpp>
#include <core/call_fault.hpp>
#include <limiter/many_calls.hpp>

#include <algorithm>
#include <memory>
#include <mutex>

namespace colimit::detail {

/// Has its result in a check or an id; that of a member is the parent's.
struct many_calls::part final : operation, started_hook {
    part(limiter_core& core, many_calls& a, check_item* c, seen_item* i)
        : operation(core, &many_calls::finish), all(a), check(c), id(i) {}

    many_calls& all;
    check_item* check;
    seen_item* id;
};

many_calls::many_calls(limiter_core& core, operation& parent) : core_(core), parent_(parent) {}

many_calls::~many_calls() = default;

/// @param make makes the check and the id of the part with an index, of which one or both are null
template<class Make>
void many_calls::make_parts(std::size_t count, Make make) {
    try {
        for (std::size_t i = 0; i < count; ++i) {
            const auto [check, id] = make(i);
            auto* made = ::new (core_.pool().allocate(sizeof(part))) part(core_, *this, check, id);
            waiting_.push_back(*made);
            if (filter_)
                made->attached = std::make_unique<block_bits>();
        }
    } catch (...) {
        while (auto* op = waiting_.pop_front()) {
            auto* made = static_cast<part*>(op);
            made->~part();
            core_.pool().deallocate(made, sizeof(part));
        }
        throw;
    }
    count_ = left_ = count;
}

/// Starts a call for each block of the filter's sample.
void many_calls::inspect(const call& whole) {
    filter_ = *whole.policy;
    const auto& shape = *filter_->filter;
    const auto sample = core::sample_of(shape);
    make_parts(sample.blocks, [](std::size_t) { return results{}; });
    for (std::uint32_t i = 0; auto* op = waiting_.pop_front(); ++i) {
        auto& one = *static_cast<part*>(op);
        started_.push_front(one);
        const auto block = decimal{sample.block(shape, i)};
        core_.start_locked(one, {.kind = call_kind::inspect,
                                 .key = block,
                                 .policy = &filter_,
                                 .request = whole.request});
    }
}

void many_calls::start(const call& whole) {
    make_parts(whole.parts(), [&](std::size_t i) {
        return !whole.checks.empty() ? results{&whole.checks[i], nullptr}
               : !whole.ids.empty()  ? results{nullptr, &whole.ids[i]}
                                     : results{};
    });
    for (std::size_t i = 0; auto* op = waiting_.pop_front(); ++i) {
        auto& one = *static_cast<part*>(op);
        started_.push_front(one);
        auto c = call{.kind = call_kind::one,
                      .key = whole.key,
                      .policy = whole.policy,
                      .request = whole.request};
        if (one.check != nullptr) {
            c.key = one.check->key;
            c.policy = &access::data(one.check->policy);
            c.request = make_request(verb::allow, one.check->options);
        } else if (one.id != nullptr) {
            c.key = one.id->id;
        } else {
            c.request.member = whole.members[i];
            c.request.has_member = true;
        }
        core_.start_locked(one, c);
    }
}

stage_result many_calls::begin(limiter_core& core, operation& op, const call& whole) {
    const auto inspects = whole.request.verb == verb::inspect;
    if (whole.request.has_id)
        return ended(op, error_of(fault::request_members));
    if (whole.parts() == 0 && whole.request.verb == verb::charge) {
        core.start_locked(
            op,
            {.kind = call_kind::one,
             .key = whole.key,
             .policy = whole.policy,
             .request = {.verb = verb::peek, .cost = 0, .at_least = 0, .now = whole.request.now}});
        return stage_result::kept;
    }
    if (whole.parts() == 0 && !inspects)
        return stage_result::ended;
    auto calls = std::make_unique<many_calls>(core, op);
    auto& made = *calls;
    op.attached = std::move(calls);
    inspects ? made.inspect(whole) : made.start(whole);
    return stage_result::kept;
}

void many_calls::cancel() noexcept {
    for (auto& one : started_) // they end in the next event-loop iteration, not before
        core_.cancel_locked(one, asio::cancellation_type::terminal);
}

bool many_calls::may_have_effect() const noexcept {
    return left_ != count_ || std::ranges::any_of(started_, [this](const part& one) {
               return core_.may_have_effect_locked(one);
           });
}

/// Passes the outcome of a part on.
void many_calls::end_part(const part& one) noexcept {
    if (one.check != nullptr) {
        one.check->ec = one.ec;
        one.check->result = one.result;
    } else if (one.id != nullptr) {
        one.id->ec = one.ec;
        one.id->seen = was_seen{}(one);
        one.id->source = one.result.source;
    } else if (one.ec) {
        ec_ = ec_ ? ec_ : one.ec;
    } else if (filter_) {
        const auto& found = static_cast<const block_bits&>(*one.attached).set;
        set_[0] += found[0];
        set_[1] += found[1];
    } else {
        parent_.result = one.result;
    }
}

void many_calls::finish(operation* base, bool invoke) {
    auto* one = static_cast<part*>(base);
    auto& all = one->all;
    auto& parent = all.parent_;
    {
        const std::lock_guard guard{all.core_.lock()};
        if (invoke)
            all.end_part(*one);
        if (one->ec == asio::error::operation_aborted || one->ec == errc::closed)
            all.ec_ = one->ec;
        one->~part();
        all.core_.pool().deallocate(one, sizeof(part));
        if (--all.left_ != 0)
            return;
        if (invoke) {
            if (all.filter_ && !all.ec_)
                all.core_.note_filter(*all.filter_, all.status());
            return all.core_.complete(parent, all.ec_);
        }
    }
    parent.finish(&parent, false);
}

filter_status status_of(const operation& op) noexcept {
    return static_cast<const many_calls&>(*op.attached).status();
}

} // namespace colimit::detail
