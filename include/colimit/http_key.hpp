// SPDX-License-Identifier: BSL-1.0
//
// Keys of requests: a template says what identifies those that share a limit.

#pragma once

#include <colimit/http_request.hpp>
#include <colimit/key.hpp>

#include <boost/asio/ip/address.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::http {

/// The input of a key, besides the request.
struct key_context {
    /// The address of the client, which is not that of a proxy: `client_address`.
    boost::asio::ip::address client;
    address_prefixes prefixes{};
    /// The path of the route that the request matches: `route::path`. Not the path of the request,
    /// of which a client may use a new one for each request.
    std::string_view route{};
    /// As `request::user`.
    std::optional<std::string_view> user = std::nullopt;
};

/// A template for keys of requests: parts, joined by `+`.
///
/// | part | value |
/// |---|---|
/// | `ip` | the client's address, by prefix |
/// | `route` | the path of the route, `/users/{id}` |
/// | `method` | the method, see below |
/// | `user` | the user |
/// | `header:X-Api-Key` | the value of the header field, without blanks around it |
/// | `query:account` | the value of the parameter in the query, decoded as that of a form |
/// | `global` | one and the same for all requests |
/// | `tag:NAME` | no part, but the common tag of `scoped_key::tagged` |
///
/// A part may have alternatives, separated by `|`, of which the first one with a value counts:
/// `user|ip+route` is the user, or without one the address, for each route.
///
/// A user, field or parameter has no value if it is missing or empty. It has none either if it is
/// given more than once, even with equal values: the server might read one of them and colimit
/// another, and a client could choose a new key for each request. All requests without a value
/// share one key, so leaving it out escapes no limit. If these clients should not share a limit,
/// write `header:X-Api-Key|ip`.
///
/// So that clients cannot invent methods for new keys, HEAD is GET, and all methods except those of
/// RFC 9110 and PATCH have one value.
///
/// On a cluster the policies of one route need a common tag. All keys with it, of all clients, are
/// on one node; so use it only there.
///
/// Keys are equal only if all parts have equal values, from the same alternatives.
class key_template {
  public:
    /// @param text blanks around parts are ignored; names have 1 to 64 characters of
    /// `[A-Za-z0-9_.-]`
    /// @throws colimit::error with `errc::invalid_policy`: `key template, character 4: ...`
    explicit key_template(std::string_view text = "ip");

    /// Returns the key. Allocates only for a parameter with escaped characters.
    /// @throws colimit::error with `errc::invalid_argument` for prefixes out of range
    [[nodiscard]] scoped_key key_of(const request& r, const key_context& context) const;

    /// Returns whether it has the part `user`.
    [[nodiscard]] bool uses_user() const noexcept;

    /// Returns a text that makes an equal template.
    friend std::string to_string(const key_template& t);
    friend bool operator==(const key_template&, const key_template&) = default;

  private:
    enum class kind : std::uint8_t { ip, route, method, user, global, header, query };
    struct source {
        http::key_template::kind kind;
        /// `header:x-api-key`: the name of its field in keys.
        std::string name;
        friend bool operator==(const source&, const source&) = default;
    };
    using alternatives = std::vector<source>;

    struct parser;

    std::vector<alternatives> parts_;
    std::optional<std::string> tag_;
};

[[nodiscard]] std::string to_string(const key_template& t);

} // namespace colimit::http
