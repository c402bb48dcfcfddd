// SPDX-License-Identifier: BSL-1.0
//
// A request as an HTTP framework shows it to colimit: all that an adapter has to provide. It owns
// nothing: views of the framework's own request, which must outlive it.
//
// An adapter gives views and a function that visits the values of a header field, and changes the
// response itself, as it knows its type. So it has no logic of its own, and the middleware no
// template parameter for a framework. The function has no state, so it is one pointer.

#pragma once

#include <boost/asio/ip/address.hpp>

#include <concepts>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>

namespace colimit::http {

/// A reference to a function that takes the value of a header field. Valid during the call that it
/// is passed to.
class field_visitor {
  public:
    template<std::invocable<std::string_view> Visit>
        requires(!std::same_as<std::remove_cvref_t<Visit>, field_visitor>)
    explicit field_visitor(Visit& visit) noexcept
        : visit_(std::addressof(visit)),
          call_([](void* f, std::string_view value) { (*static_cast<Visit*>(f))(value); }) {}

    void operator()(std::string_view value) const { call_(visit_, value); }

  private:
    void* visit_;
    void (*call_)(void*, std::string_view);
};

/// Access to the header fields of a framework's message, by a function without state:
///
///     http::header_fields fields{
///         message, [](const auto& m, std::string_view name, http::field_visitor visit) {
///             for (auto [at, end] = m.equal_range(name); at != end; ++at)
///                 visit(at->value());
///         }};
///
/// It visits the value of each field of that name, in the order in which they were received; names
/// are compared without regard to case. Values may contain any bytes.
class header_fields {
  public:
    /// No fields.
    header_fields() noexcept = default;
    /// @param message must outlive this object
    template<class Message, class Read>
        requires(std::is_empty_v<Read> && std::default_initializable<Read> &&
                 std::invocable<const Read&, const Message&, std::string_view, field_visitor>)
    header_fields(const Message& message, Read /*read*/) noexcept
        : message_(std::addressof(message)),
          read_([](const void* m, std::string_view name, field_visitor visit) {
              Read{}(*static_cast<const Message*>(m), name, visit);
          }) {}

    template<std::invocable<std::string_view> Visit>
    void for_each(std::string_view name, Visit&& visit) const {
        if (read_ != nullptr)
            read_(message_, name, field_visitor{visit});
    }

  private:
    const void* message_ = nullptr;
    void (*read_)(const void*, std::string_view, field_visitor) = nullptr;
};

/// A request. Everything in it may be chosen by the client, except `peer` and `user`.
struct request {
    /// The method in its own case: `GET`. A server that lets `X-HTTP-Method-Override` replace it
    /// passes the one that it runs.
    std::string_view method;
    /// The target as it was received, `/search?q=a%20b`, or in the absolute form
    /// `http://example.org/search?q=a%20b`. A server routes by `verdict::path`, or, if its router
    /// reads paths itself and otherwise than `normal_path`, passes the target that its router sees:
    /// one that takes `%2F` or a backslash for a slash, cuts `;parameters` or what follows `%00`,
    /// drops dots at the end, ignores case, or does not join slashes before it removes `..`.
    std::string_view target;
    /// The address of the connection's other end: a client or a proxy. A server on a unix socket
    /// passes an address that it trusts as a proxy, such as 127.0.0.1.
    boost::asio::ip::address peer;
    header_fields fields{};
    /// The user, if the server has authenticated one.
    std::optional<std::string_view> user = std::nullopt;
};

} // namespace colimit::http
