// SPDX-License-Identifier: BSL-1.0
//
// Reads and writes the cells of chains, and evicts recovered chains.

#include <memory/chains.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <utility>

namespace colimit::memory {
namespace {

/// Cells looked at per new key, so that recovered keys are evicted as fast as new ones come.
constexpr int looks_per_insert = 2;
/// Cells looked at by a search for room: 2 KiB, read in sequence.
constexpr int looks_for_room = 32;

/// Expired records that a new one replaces: so many of the shortest have as many cells as the
/// longest one.
constexpr auto expired_per_record = (core::max_states + 2 + 1) / 2;

/// The time for which recovered keys are kept while the store has room: a key that returns within a
/// second is found, and so are its states if the clock is set back by less than that.
constexpr std::int64_t grace = 1'000'000;

/// A multiple of each rule's unit, so states that are moved by whole seconds stay exact.
constexpr std::int64_t second = 1'000'000;

// The tag of a record's first cell: `record_tag`, the verb of the call, and the one for which the
// states were evaluated.
constexpr std::uint32_t verb_factor = cell_bits + 1;
constexpr std::uint32_t evaluated_factor = verb_factor * 256;

[[nodiscard]] std::uint32_t record_tag_of(core::verb v, core::verb evaluated) noexcept {
    return record_tag + verb_factor * static_cast<std::uint32_t>(v) +
           evaluated_factor * static_cast<std::uint32_t>(evaluated);
}
[[nodiscard]] core::verb verb_in(std::uint32_t tag) noexcept {
    return static_cast<core::verb>(tag / verb_factor % 256);
}
[[nodiscard]] core::verb evaluated_in(std::uint32_t tag) noexcept {
    return static_cast<core::verb>(tag / evaluated_factor);
}

/// Returns the state of a rule in the form that a cell has.
[[nodiscard]] core::rule_state stored(const core::compiled_rule& l, const core::rule_state& s,
                                      core::hyperloglog* sketch) noexcept {
    auto kept = s;
    if (core::has_sketch(l)) {
        kept.num = std::bit_cast<std::int64_t>(sketch);
        kept.capacity = l.period;
    }
    return kept;
}

/// Returns the state of a cell with a slot set: the time of its last lease, or if it has none one
/// that is not before those of other cells.
[[nodiscard]] core::rule_state stored(const core::compiled_rule& l, core::slot_set& set,
                                      std::int64_t recovered_at) noexcept {
    const auto latest = set.latest();
    return {.t = latest == 0 ? recovered_at : latest - l.period,
            .num = std::bit_cast<std::int64_t>(&set)};
}

} // namespace

/// Writes cells in sequence: first those of the chain, then new ones.
class chains::writer {
  public:
    writer(slab& cells, std::uint32_t head) noexcept : cells_(cells), at_(head) {}

    void put(std::uint32_t tag, const core::rule_state& state) noexcept {
        if (!std::exchange(is_first_, false))
            advance();
        cells_[at_].tag = tag;
        cells_[at_].state = state;
    }

    /// Releases the cells of the chain after the last one.
    void end() noexcept {
        auto unused = std::exchange(cells_[at_].next, no_cell);
        while (unused != no_cell)
            cells_.release(std::exchange(unused, cells_[unused].next));
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
        release_owned(cells_[i]);
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
    // The cells are in the order of the rules, unless the policy's rules have changed.
    auto expected = std::uint32_t{0};
    for (auto i = head; i != no_cell; i = cells_[i].next, ++expected) {
        const auto& from = cells_[i];
        while (expected < rules.state_count && core::is_elsewhere(rules.limits[expected]))
            ++expected;
        if (expected < rules.state_count && cell_tag(rules.limits[expected]) == from.tag) {
            put(expected, from);
        } else if (from.tag == log_tag) {
            c.log = rules.has_log ? log_in(from) : nullptr;
        } else if (from.tag == slots_tag) {
            c.slots = rules.has_slots ? slots_in(from) : nullptr;
        } else if (from.tag == block_tag) {
            c.header.block = from.state;
        } else {
            for (std::uint32_t rule = 0; rule < rules.state_count; ++rule)
                if (cell_tag(rules.limits[rule]) == from.tag)
                    put(rule, from);
        }
    }
}

std::size_t chains::cells_of(const core::compiled_policy& rules, const contents& c) noexcept {
    auto count = std::size_t{rules.state_count} + (c.header.block.debt > 0 ? 1 : 0);
    if (rules.has_log || rules.has_slots)
        for (const auto& l : rules.rules())
            count -= core::is_elsewhere(l) ? 1U : 0U;
    return count + (rules.has_log && c.log != nullptr ? 1 : 0) +
           (rules.has_slots && c.slots != nullptr ? 1 : 0);
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
    for (std::uint32_t rule = 0; rule < rules.state_count; ++rule) {
        const auto& l = rules.limits[rule];
        if (core::has_slots(l) && c.slots != nullptr)
            to.put(slots_tag, stored(l, *c.slots, recovered_at));
        if (core::is_elsewhere(l))
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

void chains::erase(std::uint32_t head) noexcept {
    BOOST_ASSERT(cells_[head].recovered_at != belongs_to_chain);
    if (is_of_record(cells_[head].tag)) {
        records_.remove(head);
        record_cells_ -= length(head);
    }
    index_.erase(cells_[head].id, head);
    for (auto i = head; i != no_cell;) {
        release_owned(cells_[i]);
        cells_.release(std::exchange(i, cells_[i].next));
    }
}

void chains::release_owned(const cell& c) noexcept {
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
    else if (has_state_of(c.tag, core::kind::concurrent))
        drop(slots_in(c));
}

/// Deletes logs, sketches and slot sets of the chain that the contents do not have.
void chains::release_unclaimed(std::uint32_t head, const contents& c) noexcept {
    for (auto i = head; i != no_cell; i = cells_[i].next) {
        const auto& one = cells_[i];
        const auto is_claimed =
            has_state_of(one.tag, core::kind::log) ? log_in(one) == c.log
            : has_state_of(one.tag, core::kind::concurrent)
                ? slots_in(one) == c.slots
                : std::ranges::find(c.sketches, sketch_in(one)) != c.sketches.end();
        if (!is_claimed)
            release_owned(one);
    }
}

std::uint32_t chains::find_record(const hash::digest& id, std::int64_t now) noexcept {
    records_.set_time(now);
    const auto found = find(id, seek(id));
    if (found == no_cell || cells_[found].recovered_at > now)
        return found;
    erase(found);
    return no_cell;
}

std::uint32_t chains::insert_record(const hash::digest& id, const core::compiled_policy& rules,
                                    const core::call_request& request,
                                    const core::call_digests& digests,
                                    std::uint32_t in_use) noexcept {
    for (std::size_t i = 0; i < expired_per_record; ++i)
        if (const auto oldest = records_.oldest();
            oldest != no_cell && cells_[oldest].recovered_at <= request.now)
            erase(oldest);
    const auto cells = std::size_t{1} + rules.state_count + 1;
    if (record_cells_ + cells > cells_.capacity() / 2 || !make_room(cells, 0, request.now, in_use))
        return no_cell;
    const auto head = cells_.take();
    cells_[head].id = id;
    cells_[head].next = no_cell;
    auto to = writer{cells_, head};
    to.put(record_tag_of(request.verb, request.verb),
           {.t = request.now, .debt = request.cost, .num = request.at_least});
    records_.append(head, request.now);
    for (std::size_t i = 1; i < cells; ++i)
        to.put(record_tag, {});
    cells_[cells_[head].next].id = {digests.policy, digests.member};
    record_cells_ += cells;
    index_.insert(id, head);
    return head;
}

void chains::write_record(std::uint32_t head, const core::compiled_policy& rules, const contents& c,
                          core::verb evaluated) noexcept {
    cells_[head].tag = record_tag_of(verb_in(cells_[head].tag), evaluated);
    auto to = writer{cells_, cells_[head].next};
    for (std::uint32_t i = 0; i < rules.state_count; ++i)
        to.put(record_tag, c.states[i]);
    if (c.header.block.num != 0)
        to.put(record_tag, c.header.block);
    else
        --record_cells_;
    to.end();
}

core::request_record chains::call_of_record(std::uint32_t head) const noexcept {
    const auto& c = cells_[head];
    const auto& digests = cells_[c.next].id;
    return {.verb = verb_in(c.tag),
            .cost = c.state.debt,
            .at_least = c.state.num,
            .digests = {digests.low, digests.high},
            .now = c.state.t};
}

core::verb chains::read_record(std::uint32_t head, const core::compiled_policy& rules,
                               contents& c) const noexcept {
    auto at = cells_[head].next;
    for (std::uint32_t i = 0; i < rules.state_count; ++i, at = cells_[at].next)
        c.states[i] = cells_[at].state;
    if (at != no_cell)
        c.header.block = cells_[at].state;
    return evaluated_in(cells_[head].tag);
}

bool chains::make_room(std::size_t cells, std::size_t outside, std::int64_t now,
                       std::uint32_t in_use) noexcept {
    for (int i = 0; i < looks_for_room && !cells_.ensure_room(cells, outside); ++i) {
        if (cells_.touched() == 0)
            return false;
        const auto at = advance_hand();
        if (at != in_use && !evict_if_recovered(at, now))
            move_to_now(at, now);
    }
    return cells_.ensure_room(cells, outside);
}

std::int64_t chains::pin(std::uint32_t head, std::int64_t now) noexcept {
    BOOST_ASSERT(cells_[head].tag != 0 && cells_[head].recovered_at != belongs_to_chain);
    move_to_now(head, now);
    const auto recovered_at = cells_[head].recovered_at;
    cells_[head].recovered_at = std::max(recovered_at, now + 1);
    return recovered_at;
}

void chains::evict_some(std::int64_t now) noexcept {
    for (int i = 0; i < looks_per_insert && cells_.touched() != 0; ++i)
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
    erase(i);
    evicted_ += before - cells_.used();
    return true;
}

void chains::move_to_now(std::uint32_t head, std::int64_t now) noexcept {
    // The times of a record stay those of the decision.
    if (cells_[head].tag == 0 || cells_[head].recovered_at == belongs_to_chain ||
        is_of_record(cells_[head].tag))
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
