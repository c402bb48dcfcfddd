// SPDX-License-Identifier: BSL-1.0
//
// An HTTP server on RESTinio, a framework that colimit does not know. The adapter to `http::guard`
// is `view_of`, which gives views of a request, and the two functions after it, which use the
// verdict.

#include <CLI/CLI.hpp>
#include <colimit.hpp>
#include <colimit/http_guard.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/system/system_error.hpp>
#include <restinio/all.hpp>

#include <csignal>
#include <cstdint>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>

namespace {

namespace asio = boost::asio;
namespace http = colimit::http;
using asio::ip::tcp;
using server_type = restinio::http_server_t<restinio::default_single_thread_traits_t>;

/// Any client may send five requests at once, and then five per minute; for `/health` at any time.
constexpr std::string_view document = R"({
    "policies": {"hello": {"rules": "5/m burst 5 named minute", "key": "ip"}},
    "routes": [{"path": "/health", "policies": []},
               {"path": "/*", "policy": "hello"}]
})";

http::request view_of(const restinio::request_t& message) {
    const auto read = [](const restinio::http_request_header_t& header, std::string_view name,
                         http::field_visitor visit) {
        header.for_each_value_of(restinio::string_view_t{name.data(), name.size()},
                                 [&](restinio::string_view_t value) {
                                     visit({value.data(), value.size()});
                                     return restinio::http_header_fields_t::continue_enumeration();
                                 });
    };
    const auto& header = message.header();
    return {.method = header.method().c_str(),
            .target = header.request_target(),
            .peer = message.remote_endpoint().address(),
            .fields = {header, read}};
}

template<class Response>
void send(const restinio::request_t& message, Response response, const http::verdict& verdict,
          std::string body) {
    for (const auto& [name, value] : verdict.fields)
        response.append_header(std::string{name}, value);
    if (message.header().method() != restinio::http_method_head())
        response.set_body(std::move(body));
    response.done();
}

void deny(restinio::request_t& message, const http::verdict& verdict) {
    const auto code = restinio::http_status_code_t{static_cast<std::uint16_t>(verdict.status)};
    send(message, message.create_response({code, "Denied"}), verdict, verdict.body);
}

void say_hello(restinio::request_t& message, const http::verdict& verdict) {
    send(message, message.create_response(), verdict, "hello\n");
}

} // namespace

int main(int argc, char** argv) {
    std::uint16_t port = 7080;
    std::string store = "memory:";
    CLI::App app{"Says hello to clients that do not ask too often.", "restinio_server"};
    app.add_option("--port", port, "Where to listen; 0 for any free port")
        ->check(CLI::Range(0, 65535))
        ->capture_default_str();
    app.add_option("--server", store, "Where to count: memory:, redis://host:port, unix:/path")
        ->type_name("ADDRESS")
        ->capture_default_str();
    CLI11_PARSE(app, argc, argv);

    try {
        asio::io_context context{1};
        colimit::config settings;
        settings.server = store;
        settings.on_event = [](const colimit::event& e) { std::cerr << "limiter: " << e << '\n'; };
        colimit::limiter limiter{context.get_executor(), settings};
        const http::guard guard{limiter, colimit::parse_policy_document(document)};
        // A message lives until its response is made, and so do the views of it.
        const auto handle = [&guard](restinio::request_handle_t message) {
            const auto view = view_of(*message);
            guard.check(view, [message](colimit::error_code, const http::verdict& verdict) {
                if (verdict.allowed)
                    say_hello(*message, verdict);
                else
                    deny(*message, verdict);
            });
            return restinio::request_accepted();
        };
        const auto tell_port = [](tcp::acceptor& acceptor) {
            std::cout << "listening on port " << acceptor.local_endpoint().port() << std::endl;
        };
        server_type server{restinio::external_io_context(context), [&](auto& settings) {
                               settings.address("localhost").port(port);
                               settings.request_handler(handle).acceptor_post_bind_hook(tell_port);
                           }};
        server.open_sync();
        asio::signal_set signals{context, SIGINT, SIGTERM};
        signals.async_wait([&context](colimit::error_code, int) { context.stop(); });
        context.run();
    } catch (const colimit::error& e) {
        std::cerr << "restinio_server: " << e.what() << '\n';
        return 1;
    } catch (const boost::system::system_error& e) {
        std::cerr << "restinio_server: port " << port << ": " << e.code().message() << '\n';
        return 1;
    } catch (const std::exception& e) {
        std::cerr << "restinio_server: " << e.what() << '\n';
        return 1;
    }
}
