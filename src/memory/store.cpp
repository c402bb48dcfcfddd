// SPDX-License-Identifier: BSL-1.0
//
// Decides calls whose states are all numbers: reads them, evaluates the rules, and writes the
// result. Calls with logs and sketches are in large_call.cpp.

#include <core/log_counts.hpp>
#include <core/rule_kind.hpp>
#include <hash/process_secret.hpp>
#include <memory/large_call.hpp>
#include <memory/store.hpp>
#include <policy/request_check.hpp>

#include <algorithm>

namespace colimit::memory {
namespace {

void advance(const core::compiled_policy& rules, contents& c, std::int64_t now) noexcept {
    for (std::uint32_t i = 0; i < rules.size; ++i)
        if (core::has_sketch(rules.limits[i]))
            (void)core::kinds::distinct::advance_window(rules.limits[i], c.states[i], now);
    auto unused = decision{};
    (void)core::evaluate(rules, c.states, c.header, {.verb = core::verb::peek, .now = now}, unused);
    for (std::uint32_t i = 0; i < rules.state_count; ++i)
        core::fold(rules.limits[i], c.states[i]);
}

} // namespace

store::store(std::size_t states, std::chrono::microseconds request_ttl)
    : chains_(states, request_ttl.count()) {
    (void)hash::process_secret();
}

/// Decides the call, after it has completed the record of its id.
core::effect store::evaluate(const core::compiled_policy& rules, contents& c,
                             const core::call_request& request, decision& result) noexcept {
    if (record_ != no_cell)
        chains_.write_record(record_, rules, c, request.verb);
    return core::evaluate(rules, c.states, c.header, request, result);
}

bool store::decide(const lookup& key, const detail::policy_data& p,
                   const core::call_request& request, decision& result) noexcept {
    BOOST_ASSERT(detail::is_valid(request, p.compiled) && request.now != detail::store_clock);
    const auto head = chains_.find(key.id, key.likely);
    if (p.compiled.has_log || p.compiled.has_distinct || p.compiled.has_slots) {
        large_call{*this, p, request, result}.decide(key.id, head);
        return true;
    }
    auto memory = call_states{p.compiled.state_count};
    auto c = contents{.states = memory.all()};
    if (head == no_cell) {
        decide_new_key(key.id, p, request, c, result);
        return false;
    }
    chains_.read(head, p.compiled, c);
    c.header.exists = true;
    switch (evaluate(p.compiled, c, request, result)) {
    case core::effect::nothing:
        break;
    case core::effect::store:
        write(head, p, c, request.now);
        break;
    case core::effect::erase:
        chains_.erase(head);
        break;
    }
    return c.header.stale;
}

void store::decide_new_key(const hash::digest& id, const detail::policy_data& p,
                           const core::call_request& request, contents& c,
                           decision& result) noexcept {
    auto log = core::event_log{};
    const auto is_shared = shared_.read(id, p, request.now, c, log);
    if (is_shared)
        c.header.stale = owe_as_new(p.compiled, c.states, request);
    const auto effect =
        evaluate(p.compiled, c, is_shared ? shared_request(request) : request, result);
    const auto now = request.now;
    if (effect == core::effect::store) {
        if (is_shared && charges(request, result))
            restart_periods(p.compiled, c.states, now);
        if (may_insert(p.compiled, request, is_shared, result)) {
            chains_.evict_some(now);
            if (chains_.make_room(chains::cells_of(p.compiled, c), 0, now, no_cell)) {
                chains_.insert(id, p.compiled, c,
                               now + core::lifetime(p.compiled, c.states, c.header, now));
                return;
            }
        }
        shared_.write(id, p, now, c, log);
    }
    if (is_shared || effect == core::effect::store)
        ++overflowed_;
}

void store::write(std::uint32_t head, const detail::policy_data& p, const contents& c,
                  std::int64_t now) noexcept {
    const auto recovered_at = now + core::lifetime(p.compiled, c.states, c.header, now);
    if (c.header.block.debt == 0 && chains_.is_one_bucket(head, p.compiled)) {
        chains_.overwrite(head, c.states[0], recovered_at);
        return;
    }
    const auto needed = chains::cells_of(p.compiled, c);
    const auto length = chains_.length(head);
    if (needed > length && !chains_.make_room(needed - length, 0, now, head))
        move_to_shared(head, p, c, core::event_log{}, now);
    else
        chains_.rewrite(head, p.compiled, c, recovered_at);
}

/// Merges a key that lacks cells into its shared state, which then owes at least as much.
void store::move_to_shared(std::uint32_t head, const detail::policy_data& p, const contents& c,
                           const core::event_log& log, std::int64_t now) noexcept {
    const auto id = chains_.id(head);
    auto memory = call_states{p.compiled.state_count};
    auto merged = contents{.states = memory.all()};
    auto shared_log = core::event_log{};
    (void)shared_.read(id, p, now, merged, shared_log);
    advance(p.compiled, merged, now);
    for (std::uint32_t i = 0; i < p.compiled.state_count; ++i)
        merged.states[i] = core::stricter(p.compiled.limits[i], merged.states[i], c.states[i]);
    if (merged.header.block.debt < c.header.block.debt)
        merged.header.block = c.header.block;
    const auto period = core::log_period(p.compiled);
    const auto kept = std::max(log.kept_for(period), shared_log.kept_for(period));
    auto both = core::event_log{};
    (void)both.record(std::max(log.newest(now, kept), shared_log.newest(now, kept)),
                      std::max(log.used(now, kept), shared_log.used(now, kept)), kept, 1);
    chains_.erase(head);
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
