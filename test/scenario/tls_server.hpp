// SPDX-License-Identifier: BSL-1.0
//
// A simulated server that is reached over TLS, with a private CA.
//
//     auto s = tls_server{*this, {.names = "DNS:cache.example.org"}};
//     auto l = live{context, s.address(), s.trusted("cache.example.org")};

#pragma once

#include <colimit/config.hpp>
#include <scenario/fake_redis.hpp>
#include <scenario/tls_front.hpp>
#include <scenario/world.hpp>
#include <support/certificates.hpp>

#include <functional>
#include <string>

namespace colimit::scenario {

struct tls_server {
    /// @param wishes of its certificate
    /// @param demanding clients must have a certificate of the same CA
    explicit tls_server(world& in, const test::certificate_wishes& wishes = {},
                        bool demanding = false, simulation::place where = {0x0a000001, 6379})
        : own(authority.sign("server", wishes)), server(in.net, where),
          front(in.context, {.own = own, .clients = demanding ? authority.file() : std::string{}},
                server) {}

    [[nodiscard]] std::string address(const std::string& host = "127.0.0.1") const {
        return "rediss://" + host + ":" + std::to_string(front.port());
    }
    /// Returns the options with which a limiter trusts it, with `name` if that is not its host.
    [[nodiscard]] std::function<void(config&)> trusted(const std::string& name = {}) const {
        return [file = authority.file(), name](config& c) {
            c.tls.ca_file = file;
            c.tls.server_name = name;
        };
    }

    test::certificate_authority authority;
    test::identity own;
    fake_redis server;
    tls_front front;
};

} // namespace colimit::scenario
