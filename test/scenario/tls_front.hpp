// SPDX-License-Identifier: BSL-1.0
//
// Ends TLS in front of a simulated server, on a free port of 127.0.0.1.
//
//     auto behind = fake_redis{net};
//     auto front = tls_front{context, {.own = identity}, behind};

#pragma once

#include <simulation/server.hpp>
#include <support/certificates.hpp>

#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace colimit::scenario {

class tls_front {
  public:
    struct options {
        test::identity own;
        std::string clients{}; ///< the CA of the certificates that clients must have; empty: none
        int version = 0;       ///< the only one that it accepts, TLS1_2_VERSION or so; 0: any
    };

    tls_front(boost::asio::io_context& context, options wanted, const simulation::server& behind);
    ~tls_front();
    tls_front(const tls_front&) = delete;
    tls_front& operator=(const tls_front&) = delete;

    [[nodiscard]] std::uint16_t port() const;
    /// It takes connections and bytes, as the system does for a stopped process, and does nothing
    /// with them until `cont`.
    void stop();
    void cont();
    /// New connections have this certificate, and existing ones end.
    void restart_as(const test::identity& own);

  private:
    struct state;
    std::shared_ptr<state> state_;
};

} // namespace colimit::scenario
