// SPDX-License-Identifier: BSL-1.0
//
// A call whose states are all numbers: find them, let the arithmetic decide, do to the cells what
// it says. Calls with logs and sketches are in large_call.cpp.

#include <core/kinds.hpp>
#include <core/log_facts.hpp>
#include <core/window.hpp>
#include <hash/process_secret.hpp>
#include <memory/call_states.hpp>
#include <memory/large_call.hpp>
#include <memory/sharing.hpp>
#include <memory/store.hpp>
#include <memory/stricter.hpp>

#include <algorithm>

namespace colimit::memory {
namespace {

void bring_to_now(const core::plan& rules, contents& c, std::int64_t now) noexcept {
    for (std::uint32_t i = 0; i < rules.size; ++i)
        if (rules.limits[i].kind == core::kind::distinct)
            (void)core::window::bring_to_now(rules.limits[i], c.states[i], now);
    auto shown = decision{};
    (void)core::evaluate(rules, c.states, c.held, {.verb = core::verb::peek, .now = now}, shown);
    for (std::uint32_t i = 0; i < rules.slots; ++i)
        core::kinds::fold(rules.limits[i], c.states[i]);
    core::hold::fold(c.held.block);
}

} // namespace

store::store(std::size_t states) : chains_(states) {
    (void)hash::process_secret();
}

bool store::answer(const sought& key, const detail::policy_data& p, const core::question& asked,
                   decision& out) noexcept {
    const auto head = chains_.find(key.id, key.likely);
    if (p.plan.has_log || p.plan.has_distinct) {
        large_call{*this, p, asked, out}.answer(key.id, head);
        return true;
    }
    auto memory = call_states{p.plan.slots};
    auto c = contents{.states = memory.all()};
    if (head == no_cell) {
        answer_newcomer(key.id, p, asked, c, out);
        return false;
    }
    chains_.read(head, p.plan, c);
    c.held.exists = true;
    switch (core::evaluate(p.plan, c.states, c.held, asked, out)) {
    case core::effect::nothing:
        break;
    case core::effect::store:
        write(head, p, c, asked.now);
        break;
    case core::effect::erase:
        chains_.forget(head);
        break;
    }
    return c.held.stale;
}

void store::answer_newcomer(const hash::digest& id, const detail::policy_data& p,
                            const core::question& asked, contents& c, decision& out) noexcept {
    auto log = core::event_log{};
    const auto shares = shared_.read(id, p, asked.now, c, log);
    const auto effect =
        core::evaluate(p.plan, c.states, c.held, shares ? as_sharer(asked) : asked, out);
    const auto now = asked.now;
    if (effect == core::effect::store) {
        if (shares && charges(asked, out))
            start_anew(p.plan, c.states, now);
        if (takes_place(asked, shares, out)) {
            chains_.look_around(now);
            if (chains_.make_room(chains::cells_of(p.plan, c), 0, now, no_cell)) {
                chains_.insert(id, p.plan, c,
                               now + core::matters_for(p.plan, c.states, c.held, now));
                return;
            }
        }
        shared_.write(id, p, now, c, log);
    }
    if (shares || effect == core::effect::store)
        ++overflowed_;
}

void store::write(std::uint32_t head, const detail::policy_data& p, const contents& c,
                  std::int64_t now) noexcept {
    const auto recovered_at = now + core::matters_for(p.plan, c.states, c.held, now);
    if (c.held.block.debt == 0 && chains_.is_one_bucket(head, p.plan)) {
        chains_.overwrite(head, c.states[0], recovered_at);
        return;
    }
    const auto needed = chains::cells_of(p.plan, c);
    const auto length = chains_.length(head);
    if (needed > length && !chains_.make_room(needed - length, 0, now, head))
        move_to_shared(head, p, c, core::event_log{}, now);
    else
        chains_.rewrite(head, p.plan, c, recovered_at);
}

/// The key needs more cells than it has, and there are no more: it goes on in the shared state,
/// which from now on owes at least as much.
void store::move_to_shared(std::uint32_t head, const detail::policy_data& p, const contents& c,
                           const core::event_log& log, std::int64_t now) noexcept {
    const auto id = chains_.id(head);
    auto memory = call_states{p.plan.slots};
    auto merged = contents{.states = memory.all()};
    auto theirs = core::event_log{};
    (void)shared_.read(id, p, now, merged, theirs);
    bring_to_now(p.plan, merged, now);
    for (std::uint32_t i = 0; i < p.plan.slots; ++i)
        merged.states[i] = stricter(p.plan.limits[i], merged.states[i], c.states[i]);
    if (merged.held.block.debt < c.held.block.debt)
        merged.held.block = c.held.block;
    const auto period = core::log_period(p.plan);
    const auto kept = std::max(log.kept_for(period), theirs.kept_for(period));
    auto both = core::event_log{};
    (void)both.record(std::max(log.newest(now, kept), theirs.newest(now, kept)),
                      std::max(log.used(now, kept), theirs.used(now, kept)), kept, 1);
    chains_.forget(head);
    shared_.write(id, p, now, merged, both);
    ++overflowed_;
}

local_statistics store::statistics() const noexcept {
    return {.states = chains_.used(),
            .capacity = chains_.capacity(),
            .evicted = chains_.evicted(),
            .overflowed = overflowed_};
}

} // namespace colimit::memory
