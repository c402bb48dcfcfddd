// SPDX-License-Identifier: BSL-1.0
//
// The trees of holders. The priority of a node is a hash of its index, so it needs no memory and no
// generator, and the depth of the trees does not depend on what callers do.

#include <core/slot_set.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <new>
#include <utility>

namespace colimit::core {
namespace {

/// Returns the room of a full set after it has grown.
[[nodiscard]] std::size_t grown(std::size_t room) noexcept {
    return std::max<std::size_t>(4, 2 * room);
}

[[nodiscard]] std::string_view text_of(const std::array<char, detail::holder_bytes>& id) noexcept {
    return {id.data(), id.size()};
}

/// Mixes an index as MurmurHash3 does: different ones have different priorities.
[[nodiscard]] std::uint32_t priority_of(std::uint32_t i) noexcept {
    i = (i ^ i >> 16U) * 0x85ebca6bU;
    i = (i ^ i >> 13U) * 0xc2b2ae35U;
    return i ^ i >> 16U;
}

} // namespace

bool slot_set::is_before(order o, const holder& a, const holder& b) noexcept {
    if (o == by_end && a.end != b.end)
        return a.end < b.end;
    return text_of(a.id) < text_of(b.id);
}

/// Sets the size of a subtree from those of its children, after one of them has changed.
void slot_set::recount(order o, index root) noexcept {
    if (o == by_id)
        return;
    auto& n = nodes_[root];
    n.size = 1 + size_of(n.children[by_end][0]) + size_of(n.children[by_end][1]);
}

/// Divides a tree into the holders before `at` and the others.
void slot_set::split(order o, index root, const holder& at, index& before, index& after) noexcept {
    if (root == none) {
        before = after = none;
        return;
    }
    auto& children = nodes_[root].children[o];
    if (is_before(o, nodes_[root].own, at)) {
        before = root;
        split(o, children[1], at, children[1], after);
    } else {
        after = root;
        split(o, children[0], at, before, children[0]);
    }
    recount(o, root);
}

/// Returns the tree of both.
slot_set::index slot_set::merge(order o, index before, index after) noexcept {
    if (before == none || after == none)
        return before == none ? after : before;
    const auto is_first = priority_of(before) > priority_of(after);
    const auto root = is_first ? before : after;
    auto& children = nodes_[root].children[o];
    if (is_first)
        children[1] = merge(o, children[1], after);
    else
        children[0] = merge(o, before, children[0]);
    recount(o, root);
    return root;
}

/// Returns the tree without a node that it has.
slot_set::index slot_set::without(order o, index root, index removed) noexcept {
    auto& children = nodes_[root].children[o];
    if (root == removed)
        return merge(o, children[0], children[1]);
    auto& child = children[is_before(o, nodes_[root].own, nodes_[removed].own) ? 1 : 0];
    child = without(o, child, removed);
    recount(o, root);
    return root;
}

void slot_set::append_to(std::vector<holder>& all, index root) const {
    if (root == none)
        return;
    append_to(all, nodes_[root].children[by_end][0]);
    all.push_back(nodes_[root].own);
    append_to(all, nodes_[root].children[by_end][1]);
}

std::vector<slot_set::holder> slot_set::holders() const {
    auto all = std::vector<holder>{};
    append_to(all, roots_[by_end]);
    return all;
}

/// Returns the number of leases that end at `t` or before.
std::size_t slot_set::ended(std::int64_t t) const noexcept {
    auto found = std::size_t{0};
    for (auto i = roots_[by_end]; i != none;) {
        const auto& n = nodes_[i];
        const auto is_over = n.own.end <= t;
        found += is_over ? 1 + size_of(n.children[by_end][0]) : 0;
        i = n.children[by_end][is_over ? 1 : 0];
    }
    return found;
}

/// Returns the holder with so many before it, by the end of leases.
slot_set::index slot_set::at(std::size_t position) const noexcept {
    BOOST_ASSERT(position < size());
    for (auto i = roots_[by_end];;) {
        const auto& children = nodes_[i].children[by_end];
        const auto before = std::size_t{size_of(children[0])};
        if (position == before)
            return i;
        i = children[position < before ? 0 : 1];
        position -= position < before ? 0 : before + 1;
    }
}

slot_set::index slot_set::find(std::string_view id) const noexcept {
    auto i = roots_[by_id];
    while (i != none && text_of(nodes_[i].own.id) != id)
        i = nodes_[i].children[by_id][text_of(nodes_[i].own.id) < id ? 1 : 0];
    return i;
}

std::int64_t slot_set::next_token(std::int64_t now) const noexcept {
    return std::min(max_token, std::max(token_ + 1, now));
}

std::int64_t slot_set::latest() const noexcept {
    return size() == 0 ? 0 : nodes_[at(size() - 1)].own.end;
}

std::int64_t slot_set::count(std::int64_t now) const noexcept {
    return static_cast<std::int64_t>(size() - ended(now));
}

bool slot_set::holds(std::string_view id, std::int64_t now) const noexcept {
    const auto found = find(id);
    return found != none && nodes_[found].own.end > now;
}

std::int64_t slot_set::last_end(std::int64_t now, std::int64_t lease) const noexcept {
    return count(now) == 0 ? 0 : std::min(latest(), now + lease);
}

std::int64_t slot_set::free_at(std::int64_t now, std::int64_t limit,
                               std::int64_t lease) const noexcept {
    BOOST_ASSERT(limit >= 1 && count(now) >= limit);
    const auto last_to_end = at(size() - static_cast<std::size_t>(limit));
    return std::min(nodes_[last_to_end].own.end, now + lease);
}

/// Returns whether a holder can be added at this time.
bool slot_set::has_room(std::int64_t now) const noexcept {
    return free_ != none || nodes_.size() < nodes_.capacity() || ended(now) > 0;
}

std::size_t slot_set::bytes_with_room(std::int64_t now) const noexcept {
    const auto room = has_room(now) ? nodes_.capacity() : grown(nodes_.capacity());
    return sizeof(slot_set) + room * sizeof(node);
}

bool slot_set::make_room(std::int64_t now) noexcept {
    if (has_room(now))
        return true;
    try {
        nodes_.reserve(grown(nodes_.capacity()));
    } catch (const std::bad_alloc&) {
        return false;
    }
    return true;
}

bool slot_set::shorten(std::int64_t now, std::int64_t lease) noexcept {
    const auto found = latest() > now + lease;
    while (latest() > now + lease) {
        const auto longest = nodes_[at(size() - 1)].own;
        extend(text_of(longest.id), now, lease);
    }
    return found;
}

void slot_set::insert(std::string_view id, std::int64_t end) noexcept {
    BOOST_ASSERT(id.size() == detail::holder_bytes);
    auto made = free_;
    if (made == none) {
        BOOST_ASSERT(nodes_.size() < nodes_.capacity());
        made = static_cast<index>(nodes_.size());
        nodes_.emplace_back();
    } else {
        free_ = nodes_[made].children[0][0];
    }
    auto& n = nodes_[made];
    n = {.own = {.end = end, .id = {}}, .children = {{{none, none}, {none, none}}}, .size = 1};
    std::ranges::copy(id, n.own.id.begin());
    for (const auto o : {by_end, by_id}) {
        auto before = none;
        auto after = none;
        split(o, roots_[o], n.own, before, after);
        roots_[o] = merge(o, merge(o, before, made), after);
    }
}

void slot_set::erase(index removed) noexcept {
    for (const auto o : {by_end, by_id})
        roots_[o] = without(o, roots_[o], removed);
    nodes_[removed].children[0][0] = std::exchange(free_, removed);
}

void slot_set::add(std::string_view id, std::int64_t now, std::int64_t lease) noexcept {
    token_ = next_token(now);
    for (auto left = ended(now); left > 0; --left)
        erase(at(0));
    (void)remove(id);
    insert(id, now + lease);
}

void slot_set::extend(std::string_view id, std::int64_t now, std::int64_t lease) noexcept {
    if (remove(id))
        insert(id, now + lease);
}

bool slot_set::remove(std::string_view id) noexcept {
    const auto found = find(id);
    if (found != none)
        erase(found);
    return found != none;
}

} // namespace colimit::core
