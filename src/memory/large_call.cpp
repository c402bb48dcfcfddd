// SPDX-License-Identifier: BSL-1.0
//
// In the order of `answer`.

#include <core/log_counts.hpp>
#include <core/rule_kind.hpp>
#include <core/verb_traits.hpp>
#include <memory/large_call.hpp>
#include <memory/sharing.hpp>

#include <algorithm>
#include <new>
#include <utility>

namespace colimit::memory {

large_call::large_call(store& s, const detail::policy_data& p, const core::call_request& request,
                       decision& out) noexcept
    : store_(s), policy_(p), rules_(p.compiled), request_(request), out_(out),
      memory_(p.compiled.slots), c_{.states = memory_.all(), .sketches = sketches_},
      may_add_(!core::traits_of(request.verb).only_asks) {}

std::size_t large_call::prepare(const hash::digest& id, std::uint32_t head) noexcept {
    may_add_ = true;
    answer(id, head);
    if (new_sketches_ == 0)
        return 0;
    return new_sketches_ + (head == no_cell ? cells_of_newcomer() : 0);
}

void large_call::answer(const hash::digest& id, std::uint32_t head) noexcept {
    head_ = head;
    read(id);
    tell_members();
    auto log_changed = change_log(nullptr);
    core::report_counts(*log_, rules_, request_, c_.states);
    const auto effect = core::evaluate(rules_, c_.states, c_.header, request_, out_);
    log_changed = change_log(&out_) || log_changed;

    const auto is_blank = effect != core::effect::store && log_->is_empty();
    if (effect == core::effect::erase && is_blank) {
        if (head_ != no_cell)
            store_.chains_.forget(head_);
    } else if (effect != core::effect::nothing || log_changed || adds_member()) {
        store_all(id);
    } else if (shares_) {
        ++store_.overflowed_;
    }
}

void large_call::read(const hash::digest& id) noexcept {
    if (head_ == no_cell) {
        shares_ = store_.shared_.read(id, policy_, now(), c_, fresh_);
        if (shares_)
            request_ = as_sharer(request_);
        return;
    }
    c_.header.exists = true;
    store_.chains_.read(head_, rules_, c_);
    if (c_.log != nullptr)
        log_ = c_.log;
}

/// Whether a member is to be counted, if only to see how many there would be.
bool large_call::counts_member() const noexcept {
    return request_.has_member && request_.cost > 0 && core::traits_of(request_.verb).counts_member;
}

/// Whether the answer adds a member to the sketches.
bool large_call::adds_member() const noexcept {
    const auto& verb = core::traits_of(request_.verb);
    return rules_.has_distinct && counts_member() &&
           (verb.charges_always || (!verb.only_asks && out_.granted > 0));
}

/// Brings the windows of `distinct` rules to now and says what they would count.
void large_call::tell_members() noexcept {
    if (!rules_.has_distinct)
        return;
    if (counts_member())
        mark_ = core::hyperloglog::mark_of(request_.member);
    for (std::uint32_t i = 0; i < rules_.size; ++i) {
        const auto& l = rules_.limits[i];
        auto& s = c_.states[i];
        if (!core::has_sketch(l))
            continue;
        if (core::kinds::distinct::advance_window(l, s, now()))
            c_.header.stale = true;
        s.num = s.debt;
        if (!counts_member())
            continue;
        sketch_is_[i] = find_sketch(i);
        if (sketch_is_[i] == sketch_is::there)
            s.num = sketches_[i]->count_with(mark_);
        else
            s.num = sketch_is_[i] == sketch_is::new_one ? 1 : std::max(s.debt, l.full + 1);
    }
}

/// The rule's sketch, with room for the member if it may be added.
large_call::sketch_is large_call::find_sketch(std::uint32_t rule) noexcept {
    if (c_.states[rule].debt == 0) {
        if (sketches_[rule] != nullptr)
            return sketch_is::new_one;
        const auto cells = head_ == no_cell ? cells_of_newcomer() : 0;
        if (may_add_ && !store_.chains_.make_room(cells, new_sketches_ + 1, now(), head_))
            return sketch_is::lost;
        ++new_sketches_;
        return sketch_is::new_one;
    }
    if (sketches_[rule] == nullptr || (may_add_ && !make_room_in(*sketches_[rule])))
        return sketch_is::lost;
    return sketch_is::there;
}

/// A new key needs its cells too, and what a log may take.
std::size_t large_call::cells_of_newcomer() const noexcept {
    return chains::cells_of(rules_, c_) + (rules_.has_log ? 2U : 0U);
}

bool large_call::make_room_in(core::hyperloglog& sketch) noexcept {
    const auto before = cells_for(sketch.bytes());
    const auto after = cells_for(sketch.bytes_with(mark_));
    if (after > before &&
        !store_.chains_.make_room(0, new_sketches_ + after - before, now(), head_))
        return false;
    const auto done = sketch.make_room_for(mark_);
    store_.chains_.change_outside(before, cells_for(sketch.bytes()));
    return done;
}

/// Whether there is room for what the log needs to record one more event.
bool large_call::may_grow() noexcept {
    const auto before = cells_for(log_->bytes());
    const auto after = cells_for(
        log_->bytes_to_record(now(), core::log_period(rules_), core::log_capacity(rules_)));
    return after <= before ||
           store_.chains_.make_room(0, new_sketches_ + after - before, now(), head_);
}

/// Does to the log what the verb does before there is an answer, or after.
bool large_call::change_log(const decision* answer) noexcept {
    if (!rules_.has_log)
        return false;
    const auto records = answer == nullptr
                             ? core::traits_of(request_.verb).charges_always
                             : answer->granted > 0 || (rules_.counts_denied && !answer->allowed());
    const auto grows = records && !core::traits_of(request_.verb).only_asks && may_grow();
    const auto before = cells_for(log_->bytes());
    const auto changed = answer == nullptr
                             ? core::apply_before(*log_, rules_, request_, grows)
                             : core::apply_after(*log_, rules_, request_, *answer, grows);
    if (log_ == c_.log)
        store_.chains_.change_outside(before, cells_for(log_->bytes()));
    return changed;
}

void large_call::store_all(const hash::digest& id) noexcept {
    if (shares_ && charges(request_, out_))
        start_anew(rules_, c_.states, now());
    for (std::uint32_t i = 0; i < rules_.slots; ++i) // of a denial that only its log records
        core::fold(rules_.limits[i], c_.states[i]);
    core::kinds::lockout::fold(c_.header.block);
    const auto matters = std::max(core::lifetime(rules_, c_.states, c_.header, now()),
                                  core::lifetime(*log_, rules_, now()));
    const auto is_new = head_ == no_cell;
    if (matters <= 0) {
        if (!is_new)
            store_.chains_.forget(head_);
        return;
    }
    if (log_->is_empty())
        c_.log = nullptr;
    if ((!is_new || takes_place(request_, shares_, out_)) && make_place() && own_log()) {
        settle_sketches();
        if (is_new)
            store_.chains_.insert(id, rules_, c_, now() + matters);
        else
            store_.chains_.rewrite(head_, rules_, c_, now() + matters);
    } else if (is_new) {
        store_.shared_.write(id, policy_, now(), c_, *log_);
        ++store_.overflowed_;
    } else {
        store_.move_to_shared(head_, policy_, c_, *log_, now());
    }
}

/// Finds room for the cells that the key does not have yet, and for what it will own.
bool large_call::make_place() noexcept {
    if (head_ == no_cell)
        store_.chains_.look_around(now());
    const auto new_log = fresh_.is_empty() ? std::size_t{0} : 1;
    const auto needed = chains::cells_of(rules_, c_) + new_log;
    const auto length = head_ == no_cell ? 0 : store_.chains_.length(head_);
    return store_.chains_.make_room(needed > length ? needed - length : 0,
                                    new_log + (adds_member() ? new_sketches_ : 0), now(), head_);
}

/// Gives the key a log of its own, if it has none and needs one.
bool large_call::own_log() noexcept {
    if (fresh_.is_empty())
        return true;
    c_.log = new (std::nothrow) core::event_log{std::move(fresh_)}; // NOLINT: the cell will own it
    if (c_.log == nullptr)
        return false;
    log_ = c_.log;
    store_.chains_.change_outside(0, cells_for(log_->bytes()));
    return true;
}

/// Leaves in the sketches what the states tell of: the cells forget those that are null.
void large_call::settle_sketches() noexcept {
    for (std::uint32_t i = 0; i < rules_.size; ++i) {
        if (!core::has_sketch(rules_.limits[i]))
            continue;
        auto*& sketch = sketches_[i];
        if (adds_member())
            add_member(i);
        else if (c_.states[i].debt == 0)
            sketch = nullptr;
    }
}

void large_call::add_member(std::uint32_t rule) noexcept {
    auto*& sketch = sketches_[rule];
    if (sketch_is_[rule] == sketch_is::lost) {
        sketch = nullptr;
        return;
    }
    const auto before = sketch == nullptr ? 0 : cells_for(sketch->bytes());
    if (sketch == nullptr)
        sketch = new (std::nothrow) core::hyperloglog; // NOLINT: the cell will own it
    else if (sketch_is_[rule] == sketch_is::new_one)
        sketch->clear();
    if (sketch == nullptr) {
        c_.states[rule].debt = rules_.limits[rule].full + 1;
        return;
    }
    (void)sketch->add(mark_);
    store_.chains_.change_outside(before, cells_for(sketch->bytes()));
}

} // namespace colimit::memory
