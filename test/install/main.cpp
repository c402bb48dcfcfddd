// SPDX-License-Identifier: BSL-1.0
//
// The smallest user of an installed colimit. It compiles, links and ends with 0 if the package is
// complete, and if the library and the program agree about exceptions and Asio's data per thread.
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <chrono>
#include <colimit.hpp>
#include <iostream>
#include <string>

namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

bool decides_in_process() {
    colimit::local_limiter limiter;
    const auto decision = limiter.allow("client", colimit::gcra(5, 1s));
    return bool{decision};
}

bool catches_exceptions() {
    try {
        (void)colimit::parse_rules("no rule");
    } catch (const colimit::error& e) {
        return e.code() == colimit::errc::invalid_policy;
    }
    return false;
}

// The server accepts a connection and never replies, so the local store decides. The program runs
// the loop, and the library makes the connection on it.
bool outlives_a_silent_server() {
    asio::io_context context;
    const asio::ip::tcp::acceptor server{context, {asio::ip::address_v4::loopback(), 0}};
    colimit::limiter limiter{context.get_executor(),
                             "redis://127.0.0.1:" + std::to_string(server.local_endpoint().port())};
    bool is_local = false;
    limiter.allow("client", colimit::gcra(5, 1s),
                  [&](colimit::error_code ec, const colimit::decision& d) {
                      is_local = !ec && d && d.source == colimit::decision_source::fallback;
                      limiter.close();
                  });
    context.run();
    return is_local;
}

} // namespace

int main() {
    const bool results[] = {decides_in_process(), catches_exceptions(), outlives_a_silent_server()};
    for (const bool r : results)
        std::cout << r << '\n';
    return results[0] && results[1] && results[2] ? 0 : 1;
}
