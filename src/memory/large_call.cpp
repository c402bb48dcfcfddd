// SPDX-License-Identifier: BSL-1.0
//
// The functions are in the order in which `decide` calls them.

#include <core/log_counts.hpp>
#include <core/rule_kind.hpp>
#include <core/slot_counts.hpp>
#include <core/verb_traits.hpp>
#include <memory/large_call.hpp>

#include <algorithm>
#include <new>
#include <utility>

namespace colimit::memory {

large_call::large_call(store& s, const detail::policy_data& p, const core::call_request& request,
                       decision& result) noexcept
    : store_(s), policy_(p), rules_(p.compiled), request_(request), result_(result),
      memory_(p.compiled.state_count), found_(p.compiled.state_count),
      c_{.states = memory_.all(), .sketches = sketches_},
      may_add_(!core::traits_of(request.verb).only_asks) {}

std::size_t large_call::prepare(const hash::digest& id, std::uint32_t head) noexcept {
    may_add_ = true;
    decide(id, head);
    if (new_sketches_ == 0)
        return 0;
    return new_sketches_ + (head == no_cell ? cells_of_new_key() : 0);
}

void large_call::decide(const hash::digest& id, std::uint32_t head) noexcept {
    head_ = head;
    read(id);
    std::ranges::copy(c_.states, found_.all().begin());
    report_members();
    auto log_changed = change_log(nullptr);
    core::report_counts(*log_, rules_, request_, c_.states);
    auto slots_changed = begin_slots();
    if (store_.lacks_memory_)
        return drop_new_slots();
    const auto effect = store_.evaluate(rules_, c_, request_, result_);
    log_changed = change_log(&result_) || log_changed;
    slots_changed = end_slots() || slots_changed;

    const auto is_blank =
        effect != core::effect::store && log_->is_empty() && slots_->count(now()) == 0;
    if (effect == core::effect::erase && is_blank) {
        if (head_ != no_cell)
            store_.chains_.erase(head_);
    } else if (effect != core::effect::nothing || log_changed || slots_changed || adds_member()) {
        store_contents(id, effect);
    } else if (is_shared_) {
        ++store_.overflowed_;
    }
    drop_new_slots();
}

void large_call::read(const hash::digest& id) noexcept {
    if (head_ == no_cell) {
        is_shared_ = store_.shared_.read(id, policy_, now(), c_, new_log_);
        if (is_shared_) {
            c_.header.stale = owe_as_new(rules_, c_.states, request_);
            request_ = shared_request(request_);
        }
        return;
    }
    c_.header.exists = true;
    store_.chains_.read(head_, rules_, c_);
    if (c_.log != nullptr)
        log_ = c_.log;
    if (c_.slots != nullptr)
        slots_ = c_.slots;
}

/// Returns whether the call counts a member, at least in a peek.
bool large_call::counts_member() const noexcept {
    return request_.has_member && request_.cost > 0 && core::traits_of(request_.verb).counts_member;
}

/// Returns whether the call, as decided, adds a member to the sketches.
bool large_call::adds_member() const noexcept {
    const auto& verb = core::traits_of(request_.verb);
    return rules_.has_distinct && counts_member() &&
           (verb.charges_always || (!verb.only_asks && result_.granted > 0));
}

/// Advances the windows of `distinct` rules, and reports their counts with the member.
void large_call::report_members() noexcept {
    if (!rules_.has_distinct)
        return;
    if (counts_member())
        member_ = core::hyperloglog::update_of(request_.member);
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
        sketch_states_[i] = find_sketch(i);
        if (sketch_states_[i] == sketch_state::existing)
            s.num = sketches_[i]->count_with(member_);
        else
            s.num =
                sketch_states_[i] == sketch_state::created ? 1 : std::max(s.debt, l.debt_limit + 1);
    }
}

/// Returns the state of the rule's sketch, after making room for a member that may be added.
large_call::sketch_state large_call::find_sketch(std::uint32_t rule) noexcept {
    if (c_.states[rule].debt == 0) {
        if (sketches_[rule] != nullptr)
            return sketch_state::created;
        const auto cells = head_ == no_cell ? cells_of_new_key() : 0;
        if (may_add_ && !store_.chains_.make_room(cells, new_sketches_ + 1, now(), head_))
            return sketch_state::missing;
        ++new_sketches_;
        return sketch_state::created;
    }
    if (sketches_[rule] == nullptr || (may_add_ && !make_room_in(*sketches_[rule])))
        return sketch_state::missing;
    return sketch_state::existing;
}

/// Returns the cells that a new key needs, including those for a log.
std::size_t large_call::cells_of_new_key() const noexcept {
    return chains::cells_of(rules_, c_) + (rules_.has_log ? 2U : 0U);
}

bool large_call::make_room_in(core::hyperloglog& sketch) noexcept {
    const auto before = cells_for(sketch.bytes());
    const auto after = cells_for(sketch.bytes_with(member_));
    if (after > before &&
        !store_.chains_.make_room(0, new_sketches_ + after - before, now(), head_))
        return false;
    const auto done = sketch.make_room_for(member_);
    store_.chains_.change_outside(before, cells_for(sketch.bytes()));
    return done;
}

/// Changes the set of holders. Returns whether it changed.
template<class Change>
bool large_call::change_slots(Change change) noexcept {
    const auto before = cells_for(slots_->bytes());
    const auto changed = change(*slots_);
    if (slots_ != &no_slots_)
        store_.chains_.change_outside(before, cells_for(slots_->bytes()));
    return changed;
}

/// Makes room for a holder if the call asks for it, changes the set of holders before the decision,
/// and reports them. Returns whether the set changed.
bool large_call::begin_slots() noexcept {
    store_.fencing_token_ = 0;
    store_.lacks_memory_ = false;
    if (!rules_.has_slots)
        return false;
    const auto rule = core::slot_rule_of(rules_);
    const auto& l = rules_.limits[rule];
    auto& s = c_.states[rule];
    const auto owed_until = std::min(s.t, now() + l.period); // by the shared state
    const auto acquires = request_.verb == core::verb::acquire;
    const auto stays_shared = is_shared_ && must_stay_shared(rules_); // without its holders
    has_room_for_holder_ = !acquires || (!stays_shared && make_room_for_holder());
    if (acquires && has_room_for_holder_)
        slots_->pass_token(store_.last_token_);
    const auto changed =
        change_slots([this](auto& set) { return core::apply_before(set, rules_, request_); });
    core::report_counts(*slots_, rules_, request_, c_.states);
    if (owed_until > now()) {
        s.t = owed_until;
        s.debt = l.debt_limit;
        s.capacity = owed_until;
    }
    if (!has_room_for_holder_ && (s.debt < l.debt_limit || l.shadow))
        s.num = 0;
    store_.lacks_memory_ = core::lacks_memory(rules_, c_.states, request_);
    return changed;
}

bool large_call::end_slots() noexcept {
    store_.chains_.release_reserved(std::exchange(reserved_, 0));
    if (!rules_.has_slots)
        return false;
    store_.fencing_token_ = core::fencing_token(rules_, c_.states, request_, result_);
    if (store_.fencing_token_ != 0)
        store_.last_token_ = static_cast<std::int64_t>(store_.fencing_token_);
    return change_slots(
        [this](auto& set) { return core::apply_after(set, rules_, request_, result_); });
}

/// Forgets a set of holders that was made for the call, unless it was stored.
void large_call::drop_new_slots() noexcept {
    if (new_slots_)
        store_.chains_.change_outside(cells_for(new_slots_->bytes()), 0);
    new_slots_.reset();
}

/// Makes room for one more holder, and for all else that storing the key needs then: a slot that
/// was granted must be remembered.
bool large_call::make_room_for_holder() noexcept {
    auto& chains = store_.chains_;
    if (c_.slots == nullptr) {
        new_slots_.reset(new (std::nothrow) core::slot_set);
        if (!new_slots_)
            return false;
        slots_ = c_.slots = new_slots_.get();
        chains.change_outside(0, cells_for(slots_->bytes()));
    }
    if (rules_.has_log && c_.log == nullptr)
        spare_log_.reset(new (std::nothrow) core::event_log);
    const auto new_log = rules_.has_log && c_.log == nullptr ? std::size_t{1} : 0;
    const auto needed = chains::cells_of(rules_, c_) + new_log;
    const auto length = head_ == no_cell ? 0 : chains.length(head_);
    const auto cells = needed > length ? needed - length : 0;
    const auto grows = cells_for(slots_->bytes_with_room(now())) - cells_for(slots_->bytes());
    if ((new_log != 0 && !spare_log_) || !chains.make_room(cells, grows + new_log, now(), head_) ||
        !change_slots([this](auto& set) { return set.make_room(now()); }))
        return false;
    reserved_ = cells + new_log;
    chains.reserve(reserved_);
    return true;
}

/// Makes room for the log to record one more event. Returns false if there is none.
bool large_call::make_room_to_record() noexcept {
    const auto before = cells_for(log_->bytes());
    const auto after = cells_for(
        log_->bytes_to_record(now(), core::log_period(rules_), core::log_capacity(rules_)));
    return after <= before ||
           store_.chains_.make_room(0, new_sketches_ + after - before, now(), head_);
}

/// Changes the log before the decision, or after it. Returns whether the log changed.
bool large_call::change_log(const decision* decided) noexcept {
    if (!rules_.has_log)
        return false;
    const auto records =
        decided == nullptr ? core::traits_of(request_.verb).charges_always
                           : decided->granted > 0 || (rules_.counts_denied && !decided->allowed());
    const auto grows =
        records && !core::traits_of(request_.verb).only_asks && make_room_to_record();
    const auto before = cells_for(log_->bytes());
    const auto changed = decided == nullptr
                             ? core::apply_before(*log_, rules_, request_, grows)
                             : core::apply_after(*log_, rules_, request_, *decided, grows);
    if (log_ == c_.log)
        store_.chains_.change_outside(before, cells_for(log_->bytes()));
    return changed;
}

void large_call::store_contents(const hash::digest& id, core::effect effect) noexcept {
    if (is_shared_ && charges(request_, result_))
        restart_periods(rules_, c_.states, now());
    for (std::uint32_t i = 0; i < rules_.state_count; ++i) // a denial may change only the log
        core::fold(rules_.limits[i], c_.states[i]);
    const auto lifetime =
        std::max({core::lifetime(rules_, c_.states, c_.header, now()),
                  core::lifetime(*log_, rules_, now()), core::lifetime(*slots_, now())});
    const auto is_new = head_ == no_cell;
    if (lifetime <= 0) {
        if (!is_new)
            store_.chains_.erase(head_);
        return;
    }
    if (log_->is_empty())
        c_.log = nullptr;
    if (slots_->is_empty())
        c_.slots = nullptr;
    if ((!is_new || may_insert(rules_, request_, is_shared_, result_)) && make_room() &&
        insert_log()) {
        if (effect == core::effect::nothing)
            keep_found();
        update_sketches();
        if (c_.slots != nullptr)
            (void)new_slots_.release(); // the cell owns it
        if (is_new)
            store_.chains_.insert(id, rules_, c_, now() + lifetime);
        else
            store_.chains_.rewrite(head_, rules_, c_, now() + lifetime);
    } else if (is_new) {
        store_.shared_.write(id, policy_, now(), c_, *log_);
        ++store_.overflowed_;
    } else {
        store_.move_to_shared(head_, policy_, c_, *log_, now());
    }
}

/// Undoes that buckets were brought to now, if only the log, members or holders have changed: those
/// with `initially` count from the last use how long they have been full, as in the other stores.
void large_call::keep_found() noexcept {
    for (std::uint32_t i = 0; i < rules_.state_count; ++i)
        if (rules_.limits[i].initial != core::starts_full)
            c_.states[i] = found_.all()[i];
}

/// Makes room for the cells that the key does not have, and for a new log and new sketches.
bool large_call::make_room() noexcept {
    if (head_ == no_cell)
        store_.chains_.evict_some(now());
    const auto new_log = new_log_.is_empty() ? std::size_t{0} : 1;
    const auto needed = chains::cells_of(rules_, c_) + new_log;
    const auto length = head_ == no_cell ? 0 : store_.chains_.length(head_);
    return store_.chains_.make_room(needed > length ? needed - length : 0,
                                    new_log + (adds_member() ? new_sketches_ : 0), now(), head_);
}

/// Gives the key a log if it needs one. Returns false without memory.
bool large_call::insert_log() noexcept {
    if (new_log_.is_empty())
        return true;
    if (!spare_log_)
        spare_log_.reset(new (std::nothrow) core::event_log);
    if (!spare_log_)
        return false;
    *spare_log_ = std::move(new_log_);
    c_.log = spare_log_.release(); // the cell will own it
    log_ = c_.log;
    store_.chains_.change_outside(0, cells_for(log_->bytes()));
    return true;
}

/// Updates the sketches to the states. The cells drop sketches that are null.
void large_call::update_sketches() noexcept {
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
    if (sketch_states_[rule] == sketch_state::missing) {
        sketch = nullptr;
        return;
    }
    const auto before = sketch == nullptr ? 0 : cells_for(sketch->bytes());
    if (sketch == nullptr)
        sketch = new (std::nothrow) core::hyperloglog; // NOLINT: the cell will own it
    else if (sketch_states_[rule] == sketch_state::created)
        sketch->clear();
    if (sketch == nullptr) {
        c_.states[rule].debt = rules_.limits[rule].debt_limit + 1;
        return;
    }
    (void)sketch->add(member_);
    store_.chains_.change_outside(before, cells_for(sketch->bytes()));
}

} // namespace colimit::memory
