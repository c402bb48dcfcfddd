// SPDX-License-Identifier: BSL-1.0
//
// A request as a framework would have it, for tests of what reads requests.

#pragma once

#include <colimit/http_request.hpp>

#include <boost/asio/ip/address.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colimit::test {

struct http_message {
    std::string method = "GET";
    std::string target = "/";
    std::string peer = "10.0.0.1";
    std::vector<std::pair<std::string, std::string>> fields{};

    /// Returns the values of the fields with this name, without regard to case.
    [[nodiscard]] std::vector<std::string_view> values(std::string_view name) const {
        const auto lower = [](char c) {
            return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
        };
        auto found = std::vector<std::string_view>{};
        for (const auto& [n, value] : fields)
            if (std::ranges::equal(n, name, {}, lower, lower))
                found.emplace_back(value);
        return found;
    }

    /// Returns views of this message.
    [[nodiscard]] http::request view() const {
        return {.method = method,
                .target = target,
                .peer = boost::asio::ip::make_address(peer),
                .fields = {*this, [](const http_message& m, std::string_view name,
                                     http::field_visitor visit) {
                               for (const auto value : m.values(name))
                                   visit(value);
                           }}};
    }
};

} // namespace colimit::test
