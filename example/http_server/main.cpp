// SPDX-License-Identifier: BSL-1.0
//
// An HTTP API that limits its clients, and a page that shows what the limits do. Try it with
//
//     http_server --policies example/http_server/policies.json
//
// and open http://127.0.0.1:8080/. Read first: `session::run`, which asks the middleware;
// policies.json; `server`, which makes a limiter and ends in an orderly way.

#include "server.hpp"

#include <CLI/CLI.hpp>
#include <boost/asio/ip/address.hpp>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/resource.h>

namespace {

/// Each open page needs a descriptor, and the usual soft limit is 1024.
std::size_t raise_descriptor_limit() {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
}

constexpr auto in_words = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

std::string address_of(const std::string& option) {
    constexpr std::string_view mark = "env:";
    if (!option.starts_with(mark))
        return option;
    const auto name = option.substr(mark.size());
    if (name.find_first_not_of(in_words) != std::string::npos) // perhaps with a password
        throw std::runtime_error{"--server: after env: there is no name of a variable"};
    const auto* const value =
        std::getenv(name.c_str()); // NOLINT(concurrency-mt-unsafe): no threads
    if (value == nullptr)
        throw std::runtime_error{"--server: no variable " + name + " in the environment"};
    return value;
}

/// Other names would have no effect: those without a dot, and addresses, need no option.
std::string problem_of_host(const std::string& name) {
    boost::system::error_code is_name;
    (void)boost::asio::ip::make_address(name, is_name);
    const auto is_domain =
        is_name && !name.starts_with('.') && name.find('.') != std::string::npos &&
        name.find_first_not_of(in_words + std::string{"-."}) == std::string::npos;
    return is_domain ? "" : "expected a name with a dot, such as api.example.org, without a port";
}

} // namespace

int main(int argc, char** argv) {
    http_server::settings s;
    CLI::App app{"An HTTP API that limits its clients, and a page that shows what the limits do.",
                 "http_server"};
    app.add_option("--policies", s.policies,
                   "The document of policies; read again when it changes, and on SIGHUP")
        ->type_name("FILE")
        ->required();
    app.add_flag(
        "--policies-from-redis", s.reads_policies_from_redis,
        "Use the document in the hash colimit:policies of --server; FILE is in force until "
        "it exists");
    constexpr auto max_port = 65535;
    app.add_option("--port", s.port, "Where to listen; 0 for any free port")
        ->check(CLI::Range(0, max_port))
        ->capture_default_str();
    app.add_option("--address", s.address, "The address to listen on; :: for all networks")
        ->capture_default_str();
    app.add_option("--host", s.hosts,
                   "A name of this server, such as api.example.org; requests for other names with "
                   "a dot are refused")
        ->type_name("NAME")
        ->check(CLI::Validator{problem_of_host, ""});
    app.add_option("--server", s.store,
                   "Where to count: memory:, redis://host:port, unix:/path, or env:NAME for the "
                   "address in a variable, which other users do not see in the list of processes")
        ->type_name("ADDRESS")
        ->capture_default_str();
    app.add_flag_callback(
        "--unlimited", [&s] { s.is_limiting = false; },
        "Limit nothing, to measure what limits cost");
    CLI11_PARSE(app, argc, argv);

    try {
        s.store = address_of(s.store);
        constexpr std::size_t spare = 64; // descriptors for all else
        s.max_connections =
            std::min(s.max_connections, std::max(raise_descriptor_limit(), 2 * spare) - spare);
        boost::asio::io_context context{1};
        http_server::server server{context, s};
        server.start();
        std::cout << "listening on http://" << server.endpoint() << '/' << std::endl;
        context.run();
    } catch (const std::exception& e) {
        std::cerr << "http_server: " << e.what() << '\n';
        return 1;
    }
}
