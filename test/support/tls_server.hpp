// SPDX-License-Identifier: BSL-1.0
//
// A redis-server that only uses TLS, with a private CA.
//
//     auto s = tls_server{{.names = "DNS:cache.example.org"}};
//     auto l = live{s.address(), s.trusted("cache.example.org")};

#pragma once

#include <colimit/config.hpp>
#include <support/certificates.hpp>
#include <support/redis_server.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace colimit::test {

struct tls_server {
    /// @param wishes of its certificate
    /// @param demanding clients must have a certificate of the same CA
    explicit tls_server(const certificate_wishes& wishes = {},
                        std::vector<std::string> arguments = {}, bool demanding = false)
        : own(authority.sign("server", wishes)),
          server({.tcp = true,
                  .tls = own,
                  .tls_clients = demanding ? authority.file() : std::string{},
                  .arguments = std::move(arguments)}) {}

    [[nodiscard]] std::string address() const { return server.address(); }
    /// @param host and what stands before it
    [[nodiscard]] std::string address(const std::string& host) const {
        return "rediss://" + host + ":" + std::to_string(server.port());
    }
    /// Returns the options with which a limiter trusts it, with `name` if that is not its host.
    [[nodiscard]] std::function<void(config&)> trusted(const std::string& name = {}) const {
        return [file = authority.file(), name](config& c) {
            c.tls.ca_file = file;
            c.tls.server_name = name;
            c.advanced.connect_timeout =
                std::chrono::seconds{10}; // of a machine that others use too
        };
    }

    certificate_authority authority;
    identity own;
    redis_server server;
};

} // namespace colimit::test
