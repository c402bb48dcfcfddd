// SPDX-License-Identifier: BSL-1.0
//
// Keys of requests: a template says what identifies those that share a limit.

#pragma once

#include <colimit/http_request.hpp>
#include <colimit/key.hpp>

#include <boost/asio/ip/address.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::http {

/// Returns whether the server knows the value that a client sends, such as an API key.
/// @param part as in the template, in lower case: `header:x-api-key`, `query:account`
using value_verifier =
    std::function<bool(const request&, std::string_view part, std::string_view value)>;

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
    /// For parts with `verified:`, which have no value without it.
    const value_verifier* verifier = nullptr;
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
/// | `verified:header:X-Api-Key` | the same if the server knows the value; also of `query:` |
/// | `global` | one and the same for all requests |
/// | `tag:NAME` | no part, but the common tag of `scoped_key::tagged` |
///
/// `guard_options::verifier` says which values the server knows.
///
/// A part may have alternatives, separated by `|`, of which the first one with a value counts:
/// `user|ip+route` is the user, or without one the address, for each route.
///
/// A user, field or parameter has no value if it is missing or empty. It has none either if it is
/// given more than once, even with equal values: the server might read one of them and colimit
/// another, and a client could choose a new key for each request. All requests without a value
/// share one key, so leaving it out escapes no limit. If these clients should not share a limit,
/// write `verified:header:X-Api-Key|ip`.
///
/// A client may send any value in a field or parameter, and so gets a new key, with a whole limit,
/// for each request: `header:X-Api-Key` and `header:X-Api-Key|ip` alone limit no one who invents
/// values, and fill a store in process. Use `verified:`, or `user`, which the server sets; or add a
/// policy with the key `ip` to the route.
///
/// So that clients cannot invent methods for new keys, HEAD is GET, case is ignored, and all
/// methods except those of RFC 9110 and PATCH have one value.
///
/// On a cluster the policies of one route need a common tag. All keys with it, of all clients, are
/// on one node; so use it only there.
///
/// Keys are equal only if all parts have equal values, from the same alternatives.
class key_template {
  public:
    /// @param text blanks around parts are ignored; names have 1 to 64 characters of
    /// `[A-Za-z0-9_.-]`; no part or alternative is given twice
    /// @throws colimit::error with `errc::invalid_policy`: `key template, character 4: ...`
    explicit key_template(std::string_view text = "ip");

    /// Returns the key. Allocates only for a parameter with escaped characters.
    /// @throws colimit::error with `errc::invalid_argument` for prefixes out of range
    [[nodiscard]] scoped_key key_of(const request& r, const key_context& context) const;

    /// Returns whether a client can choose the key: by a field or parameter that is not verified.
    [[nodiscard]] bool is_chosen_by_client() const noexcept;

    /// Returns whether it has the part `user`.
    [[nodiscard]] bool uses_user() const noexcept;

    /// Returns a text that makes an equal template.
    friend std::string to_string(const key_template& t);
    friend bool operator==(const key_template&, const key_template&) = default;

  private:
    enum class kind : std::uint8_t { ip, route, method, user, global, header, query };
    struct source {
        http::key_template::kind kind;
        bool is_verified = false;
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
