// SPDX-License-Identifier: BSL-1.0
//
// A call: find the key's states, let the arithmetic decide, do to the cells what it says.

#include <memory/store.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <utility>

namespace colimit::memory {
namespace {

/// Cells looked at for each new key, so that recovered keys go as fast as new ones come.
constexpr int looks_per_newcomer = 2;
/// Further cells looked at when there is no room: 2 KiB, read in sequence.
constexpr int looks_for_room = 32;

/// While there is room, a recovered key keeps its place this long: one that comes back within a
/// second is found again, and a clock set back by less than that finds its states still there.
constexpr std::int64_t grace = 1'000'000;

/// Every rule's unit divides it, so a state moved by whole seconds stays exact in its unit.
constexpr std::int64_t second = 1'000'000;

/// A call's states. Only as many as there are rules are made: clearing all eight would take longer
/// than the arithmetic of one.
class rule_states {
  public:
    explicit rule_states(std::uint32_t rules) noexcept : rules_(rules) {
        std::uninitialized_value_construct_n(states_.begin(), rules);
    }

    [[nodiscard]] std::span<core::bucket_state> all() noexcept { return {states_.data(), rules_}; }

  private:
    union { // of one, so that its member is made only as far as it is used
        std::array<core::bucket_state, limits::rules_per_policy> states_; // NOLINT: it is private
    };
    std::uint32_t rules_;
};

[[nodiscard]] digest random_digest() {
    auto device = std::random_device{};
    const auto word = [&device] { return (std::uint64_t{device()} << 32) | device(); };
    const auto low = word();
    return {low, word()};
}

/// When the state that the answer tells of has recovered in all its rules.
[[nodiscard]] std::int64_t recovered_at(const decision& answer, std::int64_t now) noexcept {
    auto longest = answer.rules[0].reset_after;
    for (const auto& status : answer.rules)
        longest = std::max(longest, status.reset_after);
    return now + longest.count();
}

[[nodiscard]] core::question peek_at(std::int64_t now) noexcept {
    return {.verb = core::verb::peek, .cost = 0, .at_least = 0, .now = now};
}

} // namespace

store::store(std::size_t states) : secret_(random_digest()), index_(states), cells_(states) {}

store::sought store::seek(std::string_view key, const detail::policy_data& p) const noexcept {
    const auto id = key_digest(secret_, p.id, key);
    const auto likely = index_.find(id, [](std::uint32_t) { return true; });
    if (likely != no_cell)
        __builtin_prefetch(&cells_[likely]);
    return {id, likely};
}

std::uint32_t store::find(const sought& key) const noexcept {
    const auto is_it = [&](std::uint32_t i) { return cells_[i].id == key.id; };
    return key.likely == no_cell || is_it(key.likely) ? key.likely : index_.find(key.id, is_it);
}

void store::answer(const sought& key, const detail::policy_data& p, const core::question& asked,
                   decision& out) noexcept {
    const auto head = find(key);
    if (head == no_cell) {
        answer_newcomer(key.id, p, asked, out);
        return;
    }
    auto memory = rule_states{p.plan.size};
    const auto states = memory.all();
    read(head, p.plan, states);
    auto held = core::held{.exists = true};
    switch (core::evaluate(p.plan, states, held, asked, out)) {
    case core::effect::nothing:
        break;
    case core::effect::store:
        write(head, p, states, asked.now, recovered_at(out, asked.now));
        break;
    case core::effect::erase:
        forget(head);
        break;
    }
}

void store::answer_newcomer(const digest& id, const detail::policy_data& p,
                            const core::question& asked, decision& out) noexcept {
    auto memory = rule_states{p.plan.size};
    const auto states = memory.all();
    const auto shares = shared_.read(id, p, asked.now, states);
    const auto gives_back = asked.verb == core::verb::refund || asked.verb == core::verb::reset;
    auto held = core::held{};
    const auto effect = core::evaluate(p.plan, states, held,
                                       shares && gives_back ? peek_at(asked.now) : asked, out);

    const auto charged = asked.verb == core::verb::charge || out.granted > 0;
    const auto until = recovered_at(out, asked.now);
    const auto stores = effect == core::effect::store;
    if (stores && charged && place(id, p.plan, states, asked.now, until))
        return;
    if (stores)
        shared_.write(id, p, asked.now, states, until);
    if (stores || shares)
        ++overflowed_;
}

void store::read(std::uint32_t head, const core::plan& rules,
                 std::span<core::bucket_state> states) const noexcept {
    // A rule's state is usually at its own place, and elsewhere after the policy's rules changed.
    auto expected = std::uint32_t{0};
    for (auto i = head; i != no_cell; i = cells_[i].next, ++expected) {
        const auto& c = cells_[i];
        if (expected < rules.size && rules.buckets[expected].tag == c.tag) {
            states[expected] = c.state;
            continue;
        }
        for (std::uint32_t rule = 0; rule < rules.size; ++rule)
            if (rules.buckets[rule].tag == c.tag)
                states[rule] = c.state;
    }
}

void store::write(std::uint32_t head, const detail::policy_data& p,
                  std::span<const core::bucket_state> states, std::int64_t now,
                  std::int64_t recovered_at) noexcept {
    auto length = std::size_t{0};
    for (auto i = head; i != no_cell; i = cells_[i].next)
        ++length;
    // Said first, so that the search for room takes no cell from this very chain.
    cells_[head].recovered_at = recovered_at;
    if (length < p.plan.size && !make_room(p.plan.size - length, now))
        move_to_shared(head, p, states, now, recovered_at);
    else
        write_chain(head, p.plan, states, recovered_at);
}

void store::write_chain(std::uint32_t head, const core::plan& rules,
                        std::span<const core::bucket_state> states,
                        std::int64_t recovered_at) noexcept {
    auto at = head;
    for (std::uint32_t rule = 0;; ++rule) {
        auto& c = cells_[at];
        c.tag = rules.buckets[rule].tag;
        c.state = states[rule];
        c.recovered_at = at == head ? recovered_at : belongs_to_chain;
        if (rule + 1 == rules.size)
            break;
        if (c.next == no_cell) {
            c.next = cells_.take();
            cells_[c.next].next = no_cell;
        }
        at = c.next;
    }
    auto surplus = std::exchange(cells_[at].next, no_cell);
    while (surplus != no_cell)
        cells_.give_back(std::exchange(surplus, cells_[surplus].next));
}

/// The policy has more rules than the key has cells, and there are no more: the key goes on in the
/// shared state, which from now on owes at least as much.
void store::move_to_shared(std::uint32_t head, const detail::policy_data& p,
                           std::span<const core::bucket_state> states, std::int64_t now,
                           std::int64_t recovered_at) noexcept {
    const auto id = cells_[head].id;
    auto memory = rule_states{p.plan.size};
    const auto merged = memory.all();
    if (shared_.read(id, p, now, merged)) {
        auto shown = decision{};
        auto held = core::held{.exists = true};
        (void)core::evaluate(p.plan, merged, held, peek_at(now), shown);
        recovered_at = std::max(recovered_at, memory::recovered_at(shown, now));
    }
    for (std::uint32_t i = 0; i < p.plan.size; ++i)
        if (merged[i].num == 0 || merged[i].debt < states[i].debt)
            merged[i] = states[i];
    forget(head);
    shared_.write(id, p, now, merged, recovered_at);
    ++overflowed_;
}

bool store::place(const digest& id, const core::plan& rules,
                  std::span<const core::bucket_state> states, std::int64_t now,
                  std::int64_t recovered_at) noexcept {
    for (int i = 0; i < looks_per_newcomer && cells_.touched() != 0; ++i)
        (void)evict_if_recovered(advance_hand(), now - grace);
    if (!make_room(rules.size, now))
        return false;
    const auto head = cells_.take();
    cells_[head].id = id;
    cells_[head].next = no_cell;
    write_chain(head, rules, states, recovered_at);
    index_.insert(id, head);
    return true;
}

void store::forget(std::uint32_t head) noexcept {
    index_.erase(cells_[head].id, head);
    for (auto i = head; i != no_cell;)
        cells_.give_back(std::exchange(i, cells_[i].next));
}

bool store::make_room(std::size_t cells, std::int64_t now) noexcept {
    for (int i = 0; i < looks_for_room && !cells_.has_room(cells); ++i) {
        if (cells_.touched() == 0)
            return false;
        const auto at = advance_hand();
        if (!evict_if_recovered(at, now))
            bring_back_from_future(at, now);
    }
    return cells_.has_room(cells);
}

std::uint32_t store::advance_hand() noexcept {
    hand_ = hand_ + 1 < cells_.touched() ? hand_ + 1 : 0;
    return hand_;
}

bool store::evict_if_recovered(std::uint32_t i, std::int64_t now) noexcept {
    if (cells_[i].tag == 0 || cells_[i].recovered_at > now)
        return false;
    const auto before = cells_.used();
    forget(i);
    evicted_ += before - cells_.used();
    return true;
}

void store::bring_back_from_future(std::uint32_t head, std::int64_t now) noexcept {
    if (cells_[head].tag == 0 || cells_[head].recovered_at == belongs_to_chain)
        return;
    auto earliest = cells_[head].state.t;
    for (auto i = head; i != no_cell; i = cells_[i].next)
        earliest = std::min(earliest, cells_[i].state.t);
    if (earliest < now + second)
        return;
    const auto step = (earliest - now) / second * second;
    for (auto i = head; i != no_cell; i = cells_[i].next)
        cells_[i].state.t -= step;
    cells_[head].recovered_at -= step;
}

local_statistics store::statistics() const noexcept {
    return {.states = cells_.used(),
            .capacity = cells_.capacity(),
            .evicted = evicted_,
            .overflowed = overflowed_};
}

} // namespace colimit::memory
