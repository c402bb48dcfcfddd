// SPDX-License-Identifier: BSL-1.0
//
// Chains of cells: what a plan's rules are to them, and how places become free.

#include <memory/chains.hpp>

#include <algorithm>
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

/// A rule's state as a cell has it.
[[nodiscard]] core::rule_state stored(const core::compiled_rule& l, const core::rule_state& s,
                                      core::hyperloglog* sketch) noexcept {
    auto kept = s;
    if (core::has_sketch(l)) {
        kept.num = std::bit_cast<std::int64_t>(sketch);
        kept.capacity = l.period;
    }
    return kept;
}

} // namespace

/// Cells one after another, those of the chain first and then new ones.
class chains::writer {
  public:
    writer(slab& cells, std::uint32_t head) noexcept : cells_(cells), at_(head) {}

    void put(std::uint32_t tag, const core::rule_state& state) noexcept {
        if (!std::exchange(is_first_, false))
            advance();
        cells_[at_].tag = tag;
        cells_[at_].state = state;
    }

    /// Gives back the cells behind the last one.
    void end() noexcept {
        auto surplus = std::exchange(cells_[at_].next, no_cell);
        while (surplus != no_cell)
            cells_.give_back(std::exchange(surplus, cells_[surplus].next));
    }

  private:
    void advance() noexcept {
        auto& c = cells_[at_];
        if (c.next == no_cell) {
            c.next = cells_.take();
            cells_[c.next].next = no_cell;
        }
        at_ = c.next;
        cells_[at_].recovered_at = belongs_to_chain;
    }

    slab& cells_;
    std::uint32_t at_;
    bool is_first_ = true;
};

chains::~chains() {
    if (cells_.outside() == 0)
        return;
    for (std::uint32_t i = 0; i < cells_.touched(); ++i)
        release(cells_[i]);
}

void chains::read_chain(std::uint32_t head, const core::compiled_policy& rules,
                        contents& c) const noexcept {
    const auto put = [&](std::uint32_t rule, const cell& from) {
        c.states[rule] = from.state;
        if (!core::has_sketch(rules.limits[rule]))
            return;
        c.states[rule].num = c.states[rule].capacity = 1;
        c.sketches[rule] = sketch_in(from);
    };
    // A rule's state is usually at its own place, and elsewhere after the policy's rules changed.
    auto expected = std::uint32_t{0};
    for (auto i = head; i != no_cell; i = cells_[i].next, ++expected) {
        const auto& from = cells_[i];
        while (expected < rules.slots && core::is_log(rules.limits[expected]))
            ++expected;
        if (expected < rules.slots && cell_tag(rules.limits[expected]) == from.tag) {
            put(expected, from);
        } else if (from.tag == log_tag) {
            c.log = rules.has_log ? log_in(from) : nullptr;
        } else if (from.tag == block_tag) {
            c.header.block = from.state;
        } else {
            for (std::uint32_t rule = 0; rule < rules.slots; ++rule)
                if (cell_tag(rules.limits[rule]) == from.tag)
                    put(rule, from);
        }
    }
}

std::size_t chains::cells_of(const core::compiled_policy& rules, const contents& c) noexcept {
    auto count = std::size_t{rules.slots} + (c.header.block.debt > 0 ? 1 : 0);
    if (rules.has_log)
        for (const auto& l : rules.rules())
            count -= core::is_log(l) ? 1U : 0U;
    return count + (rules.has_log && c.log != nullptr ? 1 : 0);
}

std::size_t chains::length(std::uint32_t head) const noexcept {
    auto count = std::size_t{0};
    for (auto i = head; i != no_cell; i = cells_[i].next)
        ++count;
    return count;
}

void chains::rewrite(std::uint32_t head, const core::compiled_policy& rules, const contents& c,
                     std::int64_t recovered_at) noexcept {
    if (cells_.outside() != 0)
        release_unclaimed(head, c);
    write_chain(head, rules, c, recovered_at);
}

void chains::insert(const hash::digest& id, const core::compiled_policy& rules, const contents& c,
                    std::int64_t recovered_at) noexcept {
    const auto head = cells_.take();
    cells_[head].id = id;
    cells_[head].next = no_cell;
    write_chain(head, rules, c, recovered_at);
    index_.insert(id, head);
}

void chains::write_chain(std::uint32_t head, const core::compiled_policy& rules, const contents& c,
                         std::int64_t recovered_at) noexcept {
    auto to = writer{cells_, head};
    for (std::uint32_t rule = 0; rule < rules.slots; ++rule) {
        const auto& l = rules.limits[rule];
        if (core::is_log(l))
            continue;
        auto* sketch = core::has_sketch(l) ? c.sketches[rule] : nullptr;
        to.put(cell_tag(l), stored(l, c.states[rule], sketch));
    }
    if (rules.has_log && c.log != nullptr)
        to.put(log_tag, {.t = c.log->last(), .num = std::bit_cast<std::int64_t>(c.log)});
    if (c.header.block.debt > 0)
        to.put(block_tag, c.header.block);
    to.end();
    cells_[head].recovered_at = recovered_at;
}

void chains::forget(std::uint32_t head) noexcept {
    index_.erase(cells_[head].id, head);
    for (auto i = head; i != no_cell;) {
        release(cells_[i]);
        cells_.give_back(std::exchange(i, cells_[i].next));
    }
}

void chains::release(const cell& c) noexcept {
    const auto drop = [this](auto* owned) {
        if (owned == nullptr)
            return;
        cells_.change_outside(cells_for(owned->bytes()), 0);
        delete owned; // NOLINT(cppcoreguidelines-owning-memory): the cell owns it
    };
    if (has_state_of(c.tag, core::kind::log))
        drop(log_in(c));
    else if (has_state_of(c.tag, core::kind::distinct))
        drop(sketch_in(c));
}

/// What the chain owns and the contents do not have any more.
void chains::release_unclaimed(std::uint32_t head, const contents& c) noexcept {
    for (auto i = head; i != no_cell; i = cells_[i].next) {
        const auto& one = cells_[i];
        const auto is_claimed =
            has_state_of(one.tag, core::kind::log)
                ? log_in(one) == c.log
                : std::ranges::find(c.sketches, sketch_in(one)) != c.sketches.end();
        if (!is_claimed)
            release(one);
    }
}

bool chains::make_room(std::size_t cells, std::size_t outside, std::int64_t now,
                       std::uint32_t spared) noexcept {
    for (int i = 0; i < looks_for_room && !cells_.has_room(cells, outside); ++i) {
        if (cells_.touched() == 0)
            return false;
        const auto at = advance_hand();
        if (at != spared && !evict_if_recovered(at, now))
            bring_back_from_future(at, now);
    }
    return cells_.has_room(cells, outside);
}

std::int64_t chains::pin(std::uint32_t head, std::int64_t now) noexcept {
    bring_back_from_future(head, now);
    const auto recovered_at = cells_[head].recovered_at;
    cells_[head].recovered_at = std::max(recovered_at, now + 1);
    return recovered_at;
}

void chains::look_around(std::int64_t now) noexcept {
    for (int i = 0; i < looks_per_newcomer && cells_.touched() != 0; ++i)
        (void)evict_if_recovered(advance_hand(), now - grace);
}

std::uint32_t chains::advance_hand() noexcept {
    hand_ = hand_ + 1 < cells_.touched() ? hand_ + 1 : 0;
    return hand_;
}

bool chains::evict_if_recovered(std::uint32_t i, std::int64_t now) noexcept {
    if (cells_[i].tag == 0 || cells_[i].recovered_at > now)
        return false;
    const auto before = cells_.used();
    forget(i);
    evicted_ += before - cells_.used();
    return true;
}

void chains::bring_back_from_future(std::uint32_t head, std::int64_t now) noexcept {
    if (cells_[head].tag == 0 || cells_[head].recovered_at == belongs_to_chain)
        return;
    auto earliest = belongs_to_chain;
    for (auto i = head; i != no_cell; i = cells_[i].next)
        earliest = std::min(earliest, written_after(cells_[i]));
    if (earliest < now + second)
        return;
    const auto step = (earliest - now) / second * second;
    for (auto i = head; i != no_cell; i = cells_[i].next)
        cells_[i].state.t -= step;
    cells_[head].recovered_at -= step;
}

} // namespace colimit::memory
