// SPDX-License-Identifier: BSL-1.0
//
// Routes: which requests a policy limits, by path and method. Requests are compared after their
// paths are normalised, so that another spelling of a path escapes no limit.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colimit::http {

/// Returns the path of a request target in its normal form, which is the same for all spellings:
/// the target without scheme, host, query and fragment, with one slash between segments and none at
/// the end, without dot segments, and with the characters decoded that were percent-encoded. What
/// cannot be written otherwise stays encoded: `/`, `%`, `?`, `#` and all bytes that are not visible
/// ASCII, in capitals, `%2F`.
///
///     /API/./a//b/../%7Euser/?x=1    ->    /API/a/~user
///
/// So an encoded slash is a character of a segment, as RFC 3986 has it. A server whose router takes
/// it for a slash must decode targets before it passes them. Case is significant.
[[nodiscard]] std::string normal_path(std::string_view target);

/// Checks the name of a method: 1 to 32 characters of `[A-Z0-9_-]`, such as `GET`.
/// @throws colimit::error with `errc::invalid_config`
void check_method(std::string_view method);

/// The requests with certain paths and methods.
class route {
  public:
    /// @param path segments after slashes, each a text or, for any text, `*` or `{name}`; a last
    /// segment `*` stands for any number of segments, or none: `/api/*` also matches `/api`, and
    /// `/*` every path. Percent-encoded, `%2A`, `%7B` and `%7D` are characters of a text. At most
    /// `limits::max_route_bytes` and `max_route_segments`
    /// @param methods up to `limits::max_route_methods`, in any order; empty: all methods; `GET`
    /// also matches HEAD, which servers handle alike, and methods of requests match without regard
    /// to case, as some servers take `get` for GET
    /// @throws colimit::error with `errc::invalid_config`
    explicit route(std::string_view path, std::vector<std::string> methods = {});

    /// Returns the path in its normal form, without a slash at the end, and with what is encoded of
    /// `*`, `{` and `}`.
    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    /// Returns the methods in the order of their names.
    [[nodiscard]] const std::vector<std::string>& methods() const noexcept { return methods_; }
    [[nodiscard]] bool has_method(std::string_view method) const noexcept;

    /// Returns whether it has every method of the other route.
    [[nodiscard]] bool has_methods_of(const route& other) const noexcept;

    friend bool operator==(const route&, const route&) = default;

  private:
    std::string path_;
    std::vector<std::string> methods_;
};

/// Routes in their order, of which the first one that matches a request counts.
///
/// @par Threads Concurrent reads are safe while no thread assigns.
class route_table {
  public:
    route_table();
    /// @throws colimit::error with `errc::invalid_config` for more than `limits::max_routes`
    explicit route_table(std::vector<route> routes);

    /// Returns the index of the first route that matches; nullopt if none does. Allocates only for
    /// a path that is not in its normal form.
    [[nodiscard]] std::optional<std::size_t> find(std::string_view method,
                                                  std::string_view target) const;

    /// Returns routes before `i` that together match all its requests, so that it never counts, in
    /// their order: one if that is enough. Empty if it counts for some request.
    [[nodiscard]] std::vector<std::size_t> hidden_by(std::size_t i) const;

    [[nodiscard]] const route& operator[](std::size_t i) const noexcept { return routes_[i]; }
    [[nodiscard]] std::size_t size() const noexcept { return routes_.size(); }
    [[nodiscard]] bool empty() const noexcept { return routes_.empty(); }

    friend bool operator==(const route_table& a, const route_table& b) noexcept {
        return a.routes_ == b.routes_;
    }

  private:
    /// A node of the tree of segments.
    struct node {
        std::vector<std::pair<std::string, std::size_t>> texts; ///< children, sorted
        std::size_t any = 0;           ///< the child for any segment; 0: none
        std::vector<std::size_t> ends; ///< routes that end here, in their order
        std::vector<std::size_t> rest; ///< routes that end here with `*`
    };
    template<class HasMethods>
    struct search;
    struct cover;

    [[nodiscard]] const node* text_child(const node& n, std::string_view segment,
                                         bool is_pattern) const;
    [[nodiscard]] std::size_t child_of(std::size_t parent, std::string_view segment);

    std::vector<route> routes_;
    std::vector<node> nodes_;
};

} // namespace colimit::http
