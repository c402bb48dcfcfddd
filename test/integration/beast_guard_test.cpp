// SPDX-License-Identifier: BSL-1.0
//
// The middleware in a server on Boost.Beast, with clients that send any bytes: over memory and over
// Redis, while documents are replaced and while the server fails.

#include <colimit/beast.hpp>
#include <colimit/http_guard.hpp>
#include <support/coroutine_run.hpp>
#include <support/redis_server.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(beast_guard)

namespace {

using namespace colimit;
using namespace std::chrono_literals;
namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;
using response = beast::http::response<beast::http::string_body>;

constexpr auto tuple = asio::as_tuple(asio::use_awaitable);

/// An HTTP server that says hello to whatever the guard lets through.
class http_server {
  public:
    http_server(asio::io_context& context, http::guard guard)
        : guard_(std::move(guard)), acceptor_(context, {asio::ip::address_v4::loopback(), 0}) {
        asio::co_spawn(context, accept(), asio::detached);
    }

    [[nodiscard]] tcp::endpoint endpoint() const { return acceptor_.local_endpoint(); }

  private:
    asio::awaitable<void> accept() {
        while (true) {
            auto [ec, socket] = co_await acceptor_.async_accept(tuple);
            if (ec)
                co_return;
            asio::co_spawn(acceptor_.get_executor(), serve(std::move(socket)), asio::detached);
        }
    }

    asio::awaitable<void> serve(tcp::socket socket) {
        const auto peer = socket.remote_endpoint().address();
        auto buffer = beast::flat_buffer{};
        auto keeps = true;
        while (keeps) {
            auto message = beast::http::request<beast::http::string_body>{};
            const auto [failed, size] =
                co_await beast::http::async_read(socket, buffer, message, tuple);
            if (failed)
                co_return;
            auto verdict = co_await guard_.check(http::view_of(message, peer));
            auto answer = verdict.allowed ? hello(message, verdict)
                                          : http::denial_of(message, std::move(verdict));
            keeps = answer.keep_alive();
            co_await beast::http::async_write(socket, answer, tuple);
        }
    }

    [[nodiscard]] static response
    hello(const beast::http::request<beast::http::string_body>& message,
          const http::verdict& verdict) {
        auto answer = response{beast::http::status::ok, message.version()};
        answer.set("RateLimit", "replaced");
        http::add_fields(answer, verdict);
        answer.keep_alive(message.keep_alive());
        answer.body() = "hello";
        answer.prepare_payload();
        return answer;
    }

    http::guard guard_;
    tcp::acceptor acceptor_;
};

/// One connection to it.
class client {
  public:
    client(asio::io_context& context, const http_server& server) : socket_(context) {
        socket_.connect(server.endpoint());
    }

    /// Sends these bytes, and returns the next response; status 0 if the connection was closed.
    asio::awaitable<response> send(std::string_view bytes, bool is_head = false) {
        co_await asio::async_write(socket_, asio::buffer(bytes), tuple);
        auto parser = beast::http::response_parser<beast::http::string_body>{};
        parser.skip(is_head);
        const auto [failed, size] =
            co_await beast::http::async_read(socket_, buffer_, parser, tuple);
        auto received = parser.release();
        if (failed)
            received.result(0U);
        co_return received;
    }

    asio::awaitable<response> get(std::string_view target, std::string_view fields = {}) {
        const auto bytes = "GET " + std::string{target} + " HTTP/1.1\r\nHost: h\r\n" +
                           std::string{fields} + "\r\n";
        co_return co_await send(bytes);
    }

  private:
    tcp::socket socket_;
    beast::flat_buffer buffer_;
};

/// A server with its limiter and its clients on one context.
struct bench {
    explicit bench(const std::string& document, http::guard_options options = {},
                   const config& settings = {})
        : current(parsed(document)), limiter(context.get_executor(), settings),
          server(context, http::guard{limiter, [this] { return current; }, std::move(options)}) {}

    [[nodiscard]] static std::shared_ptr<const policy_document> parsed(const std::string& text) {
        return std::make_shared<const policy_document>(parse_policy_document(text));
    }

    /// Runs it with a connection.
    void operator()(std::function<asio::awaitable<void>(client&)> talk) {
        auto one = client{context, server};
        test::run(context, [&] { return talk(one); });
    }

    asio::io_context context{1};
    std::shared_ptr<const policy_document> current;
    colimit::limiter limiter;
    http_server server;
};

[[nodiscard]] std::string limited(std::string_view rules, std::string_view key,
                                  std::string_view more = "") {
    return "{" + std::string{more} + R"("policies": {"p": {"rules": ")" + std::string{rules} +
           R"(", "key": ")" + std::string{key} + R"("}},
            "routes": [{"path": "/free/*", "policies": []}, {"path": "/*", "policy": "p"}]})";
}

[[nodiscard]] config settings_for(const std::string& server) {
    auto c = config{};
    c.server = server;
    c.timeout = 10s;
    return c;
}

/// The same for every store.
void check_conversation(const config& settings) {
    auto b =
        bench{limited("2/h fixed_window from_first named w", "header:X-Api-Key|ip"), {}, settings};
    b([](client& c) -> asio::awaitable<void> {
        auto r = co_await c.get("/a");
        BOOST_TEST(r.result_int() == 200U);
        BOOST_TEST(r.body() == "hello");
        BOOST_TEST(r["RateLimit-Policy"] == R"("w";q=2;w=3600)");
        BOOST_TEST(r["RateLimit"].starts_with(R"("w";r=1;t=)"));
        BOOST_TEST(r.count("RateLimit") == 1U);
        r = co_await c.get("/b");
        BOOST_TEST(r["RateLimit"].starts_with(R"("w";r=0;t=)"));
        r = co_await c.get("/c");
        BOOST_TEST(r.result_int() == 429U);
        BOOST_TEST(r["Content-Type"] == "application/problem+json");
        BOOST_TEST(r["Cache-Control"] == "no-store");
        BOOST_TEST(r.count("Retry-After") == 1U);
        BOOST_TEST(r.body().find("\"violated-policies\":[\"w\"]") != std::string::npos);
        BOOST_TEST(r.keep_alive());
        // On the same connection: another key, and no limit.
        r = co_await c.get("/a", "x-api-key: k\r\n");
        BOOST_TEST(r.result_int() == 200U);
        r = co_await c.get("/free/x");
        BOOST_TEST(r.result_int() == 200U);
        BOOST_TEST(r["RateLimit"] == "replaced");
    });
}

} // namespace

BOOST_AUTO_TEST_CASE(a_client_over_the_limit_is_told_when_to_come_back) {
    check_conversation({});
}

BOOST_AUTO_TEST_CASE(the_same_with_redis) {
    const auto server = test::redis_server{};
    check_conversation(settings_for(server.address()));
}

BOOST_AUTO_TEST_CASE(a_denied_head_has_the_fields_and_no_body) {
    auto b = bench{limited("1/h fixed_window from_first", "ip")};
    b([](client& c) -> asio::awaitable<void> {
        auto r = co_await c.get("/a");
        BOOST_TEST(r.result_int() == 200U);
        const auto head = "HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n";
        r = co_await c.send(head, true);
        BOOST_TEST(r.result_int() == 429U);
        BOOST_TEST(r.count("Retry-After") == 1U);
        BOOST_TEST(r["Content-Length"] != "0");
        r = co_await c.get("/free/a"); // so no bytes of a body followed
        BOOST_TEST(r.result_int() == 200U);
        r = co_await c.send("GET /a HTTP/1.0\r\n\r\n");
        BOOST_TEST(r.result_int() == 429U);
        BOOST_TEST(!r.keep_alive());
    });
}

BOOST_AUTO_TEST_CASE(spoofed_addresses_and_other_spellings_of_a_path_escape_no_limit) {
    auto b = bench{
        limited("3/h fixed_window from_first named w", "ip+route", "\"trusted_proxies\": 1, ")};
    b([](client& c) -> asio::awaitable<void> {
        const std::string_view ways[] = {
            "X-Forwarded-For: 192.0.2.1\r\n", "x-forwarded-for: 6.6.6.6, 192.0.2.1:77\r\n",
            "X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-For: 192.0.2.1\r\n",
            "X-Forwarded-For: \", \xff,,192.0.2.1\r\n", "Forwarded: for=\", for=192.0.2.1\r\n"};
        auto statuses = std::vector<unsigned>{};
        for (const auto way : ways) {
            const auto r = co_await c.get("/a/../b//%63", way);
            statuses.push_back(r.result_int());
        }
        BOOST_TEST((statuses == std::vector<unsigned>{200, 200, 200, 429, 429}));
        // Another client has its own count; none is that of the proxy, and a conflict has its own.
        auto r = co_await c.get("/", "X-Forwarded-For: 192.0.2.2\r\n");
        BOOST_TEST(r["RateLimit"].starts_with("\"w\";r=2;"));
        r = co_await c.get("/", "X-Forwarded-For: 192.0.2.3\r\nForwarded: for=6.6.6.6\r\n");
        BOOST_TEST(r["RateLimit"].starts_with("\"w\";r=2;"));
        r = co_await c.get("/");
        BOOST_TEST(r["RateLimit"].starts_with("\"w\";r=2;"));
    });
}

BOOST_AUTO_TEST_CASE(bytes_of_a_client_are_data_in_keys_and_never_in_fields) {
    const auto server = test::redis_server{};
    auto b = bench{
        limited("1/h fixed_window from_first", "header:k"), {}, settings_for(server.address())};
    const std::string_view values[] = {"a", "\xff\xfe", "a\tb", "a;user=b%", "\"\\", "a b, c"};
    b([&](client& c) -> asio::awaitable<void> {
        for (const auto expected : {200U, 429U})
            for (const auto value : values) {
                const auto r = co_await c.get("/", "k: " + std::string{value} + "\r\n");
                BOOST_TEST(r.result_int() == expected);
                for (const auto& f : r)
                    BOOST_TEST(std::ranges::all_of(f.value(),
                                                   [](char x) { return x >= ' ' && x <= '~'; }));
            }
    });
    // What is no HTTP ends a connection, and no other one.
    for (const auto* bytes :
         {"GET / HTTP/1.1\r\nk: a\x01\r\n\r\n", "GET /\x01 HTTP/1.1\r\n\r\n", "k\r\n\r\n"})
        b([&](client& c) -> asio::awaitable<void> {
            const auto r = co_await c.send(bytes);
            BOOST_TEST(r.result_int() != 200U);
        });
    b([&](client& c) -> asio::awaitable<void> {
        const auto r = co_await c.get("/", "k: new\r\n");
        BOOST_TEST(r.result_int() == 200U);
    });
}

BOOST_AUTO_TEST_CASE(a_new_document_applies_to_the_next_request_of_a_connection) {
    auto b = bench{limited("1/h fixed_window from_first named w", "ip")};
    b([&](client& c) -> asio::awaitable<void> {
        auto r = co_await c.get("/a");
        r = co_await c.get("/a");
        BOOST_TEST(r.result_int() == 429U);
        b.current = bench::parsed(limited("4/h fixed_window from_first named w", "ip"));
        r = co_await c.get("/a");
        BOOST_TEST(r.result_int() == 200U);
        BOOST_TEST(r["RateLimit"].starts_with("\"w\";r=2;")); // what was used stays used
        b.current = bench::parsed(R"({"policies": {"p": "1/h"}})");
        r = co_await c.get("/a");
        BOOST_TEST(r["RateLimit"] == "replaced");
    });
}

BOOST_AUTO_TEST_CASE(while_the_limiter_fails_requests_pass_and_are_reported) {
    auto server = test::redis_server{};
    auto settings = settings_for(server.address());
    settings.on_failure = failure_mode::error;
    auto reports = std::vector<error_code>{};
    auto b = bench{limited("1/h fixed_window from_first", "ip"),
                   {.on_error = [&](const http::request&,
                                    const http::verdict& v) { reports.push_back(v.error); }},
                   settings};
    b([&](client& c) -> asio::awaitable<void> {
        auto r = co_await c.get("/a");
        BOOST_TEST(r.result_int() == 200U);
        r = co_await c.get("/a");
        BOOST_TEST(r.result_int() == 429U);
        server.kill();
        r = co_await c.get("/b");
        while (reports.empty()) // the denial may be cached
            r = co_await c.get("/b");
        BOOST_TEST(r.result_int() == 200U);
        BOOST_TEST(r["RateLimit"] == "replaced");
        server.start();
        co_await b.limiter.ready();
        while (r.result_int() == 200U) {
            r = co_await c.get("/b");
        }
        BOOST_TEST(r.result_int() == 429U); // limited again
    });
    BOOST_TEST(std::ranges::all_of(reports, [](error_code ec) {
        return ec == condition::transient || ec == condition::maybe_charged;
    }));
}

BOOST_AUTO_TEST_CASE(or_they_are_denied_with_503) {
    auto settings = settings_for("unix:/nonexistent/colimit");
    settings.timeout = 50ms;
    settings.on_failure = failure_mode::error;
    auto b = bench{limited("1/h", "ip"), {.allow_on_error = false}, settings};
    b([](client& c) -> asio::awaitable<void> {
        const auto r = co_await c.get("/a");
        BOOST_TEST(r.result_int() == 503U);
        BOOST_TEST(r["Retry-After"] == "1");
        BOOST_TEST(r.body().find("temporary-reduced-capacity") != std::string::npos);
        const auto free = co_await c.get("/free/a");
        BOOST_TEST(free.result_int() == 200U);
    });
}

BOOST_AUTO_TEST_SUITE_END()
