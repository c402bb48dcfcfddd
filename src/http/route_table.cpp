// SPDX-License-Identifier: BSL-1.0
//
// Routes as a tree of segments, so that a search compares a segment with a few of some hundred
// routes.
//
// The nodes that match are few; the match with the smallest index counts. So the order of the
// document decides, as its reader expects, not which pattern is more specific.

#include <colimit/routes.hpp>

#include <colimit/error.hpp>
#include <colimit/limits.hpp>
#include <http/path.hpp>
#include <http/path_pattern.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

namespace colimit::http {
namespace {

constexpr auto none = std::numeric_limits<std::size_t>::max();

/// Returns the child for a segment's text, or the place where it would be.
template<class Texts>
[[nodiscard]] auto find_text(Texts& texts, std::string_view segment) {
    return std::ranges::lower_bound(texts, segment, {},
                                    [](const auto& t) -> std::string_view { return t.first; });
}

/// Returns the segment of requests that a text of a route means: both have the same normal form,
/// except for the characters of wildcards.
[[nodiscard]] std::string text_of(std::string_view segment) {
    auto out = std::string{};
    while (!segment.empty()) {
        const auto escaped = escaped_byte(segment);
        const auto is_meant = escaped && wildcard_characters.find(*escaped) != std::string::npos;
        out += is_meant ? *escaped : segment.front();
        segment.remove_prefix(is_meant ? 3 : 1);
    }
    return out;
}

} // namespace

/// Visits the nodes that match a path, or every path of a pattern. There are no more of them than
/// routes have segments, as each is reached in one way.
template<class HasMethods>
struct route_table::search {
    const route_table& table;      // NOLINT(cppcoreguidelines-avoid-const-or-ref-data-members)
    const HasMethods& has_methods; // NOLINT(cppcoreguidelines-avoid-const-or-ref-data-members)
    bool is_pattern = false;       ///< the path is one
    std::size_t best = none;       ///< routes before it are searched, and then the first one

    /// @param rest of the path or pattern, after the segments that led to the node
    void visit(const node& n, std::string_view rest) {
        consider(n.rest);
        if (rest.empty())
            return consider(n.ends);
        if (is_pattern && is_rest(rest))
            return;
        const auto segment = take_segment(rest);
        if (const auto* const child = table.text_child(n, segment, is_pattern))
            visit(*child, rest);
        if (n.any != 0)
            visit(table.nodes_[n.any], rest);
    }

    /// The routes are in their order.
    void consider(const std::vector<std::size_t>& routes) {
        for (const auto i : routes) {
            if (i >= best)
                return;
            if (has_methods(table.routes_[i]))
                best = i;
        }
    }
};

/// Searches the routes before one that match its requests with one method. Its paths differ in the
/// number of segments that a last `/*` stands for: bit n of a set is n of them. Another segment
/// than those of routes stands for any one, so only routes that have the wildcard, too, match it.
struct route_table::cover {
    static constexpr auto all_paths = ~std::uint64_t{0};
    static_assert(limits::max_route_segments < 64);

    const route_table& table; // NOLINT(cppcoreguidelines-avoid-const-or-ref-data-members)
    std::size_t hidden;
    const std::string* method;      ///< nullptr: any
    std::vector<std::size_t>& used; // NOLINT(cppcoreguidelines-avoid-const-or-ref-data-members)
    std::uint64_t open = all_paths; ///< no route matches them

    void visit(const node& n, std::string_view rest, unsigned more = 0) {
        take(n.rest, all_paths << more);
        if (open == 0)
            return;
        if (rest.empty())
            return take(n.ends, all_paths);
        if (is_rest(rest)) {
            take(n.ends, std::uint64_t{1} << more);
            if (n.any != 0)
                visit(table.nodes_[n.any], rest, more + 1);
            return;
        }
        const auto segment = take_segment(rest);
        if (const auto* const child = table.text_child(n, segment, true))
            visit(*child, rest);
        if (n.any != 0)
            visit(table.nodes_[n.any], rest);
    }

    void take(const std::vector<std::size_t>& routes, std::uint64_t paths) {
        if ((open & paths) == 0)
            return;
        const auto matches = [this](std::size_t i) {
            const auto& r = table.routes_[i];
            return method != nullptr ? r.has_method(*method) : r.methods().empty();
        };
        const auto found = std::ranges::find_if(routes, matches); // the routes are in their order
        if (found == routes.end() || *found >= hidden)
            return;
        open &= ~paths;
        used.push_back(*found);
    }
};

route_table::route_table() : nodes_(1) {}

route_table::route_table(std::vector<route> routes) : routes_(std::move(routes)), nodes_(1) {
    if (size() > limits::max_routes)
        throw error{errc::invalid_config, "too many routes (got " + std::to_string(size()) +
                                              ", expected at most " +
                                              std::to_string(limits::max_routes) + ")"};
    for (std::size_t i = 0; i < size(); ++i) {
        auto at = std::size_t{0};
        auto rest = pattern_of(routes_[i].path());
        while (!rest.empty() && !is_rest(rest))
            at = child_of(at, take_segment(rest));
        (rest.empty() ? nodes_[at].ends : nodes_[at].rest).push_back(i);
    }
}

/// Returns the child for a segment; nullptr if it does not exist.
/// @param is_pattern whether the segment is one of a route
const route_table::node* route_table::text_child(const node& n, std::string_view segment,
                                                 bool is_pattern) const {
    if (is_pattern && is_any(segment))
        return nullptr;
    const auto text = is_pattern ? text_of(segment) : std::string{};
    const auto searched = is_pattern ? std::string_view{text} : segment;
    const auto at = find_text(n.texts, searched);
    return at != n.texts.end() && at->first == searched ? &nodes_[at->second] : nullptr;
}

/// Adds the child if it does not exist.
std::size_t route_table::child_of(std::size_t parent, std::string_view segment) {
    const auto added = nodes_.size();
    auto& n = nodes_[parent];
    if (is_any(segment)) {
        if (n.any != 0)
            return n.any;
        n.any = added;
    } else {
        const auto text = text_of(segment);
        const auto at = find_text(n.texts, text);
        if (at != n.texts.end() && at->first == text)
            return at->second;
        n.texts.emplace(at, text, added);
    }
    nodes_.emplace_back();
    return added;
}

std::optional<std::size_t> route_table::find(std::string_view method,
                                             std::string_view target) const {
    const auto path = split_target(target).path;
    const auto has_method = [method](const route& r) { return r.has_method(method); };
    auto s = search<decltype(has_method)>{*this, has_method};
    if (is_normal(path))
        s.visit(nodes_[0], pattern_of(path));
    else
        s.visit(nodes_[0], pattern_of(normalised(path)));
    return s.best == none ? std::nullopt : std::optional{s.best};
}

std::vector<std::size_t> route_table::hidden_by(std::size_t i) const {
    const auto& hidden = routes_[i];
    const auto has_all = [&hidden](const route& r) { return r.has_methods_of(hidden); };
    auto s = search<decltype(has_all)>{*this, has_all, true, i};
    s.visit(nodes_[0], pattern_of(hidden.path()));
    if (s.best != i)
        return {s.best};
    auto used = std::vector<std::size_t>{};
    const auto is_covered = [&](const std::string* method) {
        auto c = cover{*this, i, method, used};
        c.visit(nodes_[0], pattern_of(hidden.path()));
        return c.open == 0;
    };
    const auto& methods = hidden.methods();
    if (!(methods.empty() ? is_covered(nullptr)
                          : std::ranges::all_of(methods, is_covered, [](auto& m) { return &m; })))
        return {};
    std::ranges::sort(used);
    used.erase(std::ranges::unique(used).begin(), used.end());
    return used;
}

} // namespace colimit::http
