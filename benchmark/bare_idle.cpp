// SPDX-License-Identifier: BSL-1.0
//
// How long is a round trip without colimit? A dozen lines of Asio that send the script call which
// colimit sends for one check, and wait until the reply is complete. The difference to redis_idle
// is the cost of the limiter.

#include <policy/policy_data.hpp>
#include <redis/protocol/key.hpp>
#include <redis/protocol/resp.hpp>
#include <redis/protocol/script.hpp>
#include <scenarios.hpp>
#include <support/histogram.hpp>
#include <support/meter.hpp>
#include <support/random_key.hpp>
#include <support/rules.hpp>
#include <support/server.hpp>
#include <support/time_limit.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <chrono>
#include <exception>
#include <stdexcept>

namespace colimit::benchmark {
namespace {

namespace asio = boost::asio;
namespace resp = redis::resp;
using std::chrono::steady_clock;

struct bare_client {
    explicit bare_client(asio::io_context& c) : context(c), socket(c) {}

    asio::io_context& context;
    asio::local::stream_protocol::socket socket;
    policy limit = thousand_an_hour();
    std::string request;
    std::string key_text;
    std::array<char, 4096> received{};
    resp::decoder reply;
    std::uint64_t checks = 0;
    std::uint64_t stop_at = 0;
    histogram latencies;
    std::exception_ptr failure;
};

void write_request(bare_client& b, std::string_view key) {
    b.key_text.clear();
    redis::append_key(b.key_text, "bare", b.limit.name(), key);
    b.request.clear();
    resp::append_command(b.request, {"EVALSHA", redis::check_script.sha1, "1", b.key_text,
                                     detail::access::data(b.limit)->wire, "7", "", "0", ""});
}

/// Checks for the value found, and a line that begins with the nonce and ends with "granted -".
void check_reply(const bare_client& b, std::string_view bytes) {
    const auto nodes = b.reply.nodes();
    const auto text = nodes.size() == 3 ? b.reply.text(nodes[2], bytes) : std::string_view{};
    if (!text.starts_with("7 ") || !text.ends_with(" 1 -"))
        throw std::runtime_error{"not a reply to bare_idle's call: " + std::string{bytes}};
}

asio::awaitable<void> call_again_and_again(bare_client& b) {
    auto keys = random_key{server_keys, 1};
    for (;;) {
        const auto begin = steady_clock::now();
        write_request(b, keys.next());
        co_await asio::async_write(b.socket, asio::buffer(b.request), asio::deferred);
        auto size = std::size_t{0};
        auto bytes = std::string_view{};
        do {
            size +=
                co_await b.socket.async_read_some(asio::buffer(b.received) + size, asio::deferred);
            bytes = {b.received.data(), size};
        } while (b.reply.feed(bytes) == resp::progress::need_more);
        check_reply(b, bytes);
        b.reply.next();
        b.latencies.add(steady_clock::now() - begin);
        if (++b.checks == b.stop_at)
            b.context.stop();
    }
}

} // namespace

measurement bare_idle(const conditions& c) {
    server{c.socket}.forget_keys();
    (void)server{c.socket}.load_script(redis::check_script.body);
    auto context = asio::io_context{1};
    auto b = bare_client{context};
    b.socket.connect(asio::local::stream_protocol::endpoint{c.socket});
    b.stop_at = brief(c).warm_up;
    asio::co_spawn(context, call_again_and_again(b), [&b](const std::exception_ptr& failure) {
        b.failure = failure; // it only ends in this way
        b.context.stop();
    });
    context.run();

    b.latencies = {};
    const auto before = b.checks;
    const auto limit = time_limit{context, c.seconds};
    const auto spent = meter{c.socket};
    if (!b.failure)
        context.run();
    if (b.failure)
        std::rethrow_exception(b.failure);
    auto m = spent.read(b.checks - before);
    add_percentiles(m, b.latencies);
    return m;
}

} // namespace colimit::benchmark
