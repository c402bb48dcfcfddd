// SPDX-License-Identifier: BSL-1.0
//
// The lists in the header fields that proxies write, read from right to left: so a client's text,
// which is on the left, cannot change how the text of a proxy is read.
//
// The text is divided at commas from the right, with quotes counted from there too: an open quote
// on the left cannot swallow what a proxy wrote. An element is then parsed from its left, strictly.
// A quote within a quoted string is escaped by the proxy that wrote it, and an element that was cut
// there does not parse, so a `host` that a proxy copied cannot become an element either. With both
// fields, one of them may be a client's that the proxy did not touch, and which one is not known:
// they must lead to the same address.

#pragma once

#include <colimit/http_request.hpp>
#include <colimit/limits.hpp>

#include <boost/asio/ip/address.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace colimit::http {

/// The elements of a list in the header fields of one name. Values must outlive it.
class forwarding_list {
  public:
    enum class syntax {
        addresses, ///< of X-Forwarded-For
        pairs,     ///< of Forwarded: RFC 7239
    };

    forwarding_list(const header_fields& fields, syntax s);

    [[nodiscard]] bool is_empty() const noexcept { return count_ == 0; }

    /// Returns the address in the next element to the left; nullopt if there is none, or if its
    /// text is not an address.
    [[nodiscard]] std::optional<boost::asio::ip::address> next();

  private:
    [[nodiscard]] std::string_view last_element();

    syntax syntax_;
    /// The last lines that are not blank: no more are read, as each has an element.
    std::array<std::string_view, static_cast<std::size_t>(limits::max_proxies)> lines_;
    std::size_t count_ = 0;
    std::size_t newest_ = 0;
};

} // namespace colimit::http
