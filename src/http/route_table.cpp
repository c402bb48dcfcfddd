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
        const auto text = find_text(n.texts, segment);
        if (text != n.texts.end() && text->first == segment)
            visit(table.nodes_[text->second], rest);
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

/// Adds the child if it does not exist.
std::size_t route_table::child_of(std::size_t parent, std::string_view segment) {
    const auto added = nodes_.size();
    auto& n = nodes_[parent];
    if (is_any(segment)) {
        if (n.any != 0)
            return n.any;
        n.any = added;
    } else {
        const auto at = find_text(n.texts, segment);
        if (at != n.texts.end() && at->first == segment)
            return at->second;
        n.texts.emplace(at, segment, added);
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

std::optional<std::size_t> route_table::hidden_by(std::size_t i) const noexcept {
    const auto& hidden = routes_[i];
    const auto has_all = [&hidden](const route& r) { return r.has_methods_of(hidden); };
    auto s = search<decltype(has_all)>{*this, has_all, true, i};
    s.visit(nodes_[0], pattern_of(hidden.path()));
    return s.best == i ? std::nullopt : std::optional{s.best};
}

} // namespace colimit::http
