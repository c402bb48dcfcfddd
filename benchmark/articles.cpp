// SPDX-License-Identifier: BSL-1.0
//
// What does it give to replace the limiter that most articles show? Three of them, with the names
// of keys and the limits of redis_sliding_log and redis_fixed_window: one check per call, 256 in
// flight on one connection. Each admits what it should not: README.md says what.

#include <redis/protocol/key.hpp>
#include <redis/protocol/resp.hpp>
#include <scenarios.hpp>
#include <support/meter.hpp>
#include <support/random_key.hpp>
#include <support/rules.hpp>
#include <support/server.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace colimit::benchmark {
namespace {

namespace asio = boost::asio;
namespace resp = redis::resp;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// The checks in flight, as many as redis_sliding_log has callers.
constexpr std::uint64_t in_flight = 256;

/// One check, as texts for commands.
struct check {
    std::string_view key;
    std::string_view sha1; ///< of the script
    std::string_view now_ms;
    std::string_view begin_ms; ///< of the window
    std::string_view window_ms;
    std::string_view window_s;
    std::string_view limit;
};

/// The limiter of an article.
struct article {
    std::string_view script; ///< empty: it needs none
    void (*append)(std::string& request, const check& of);
    unsigned replies; ///< to one check; the last one decides
    bool (*allows)(std::span<const resp::node> reply, std::int64_t limit);
};

[[nodiscard]] bool is_one(std::span<const resp::node> reply, std::int64_t /*limit*/) {
    return reply.front().kind == resp::kind::integer && reply.front().integer == 1;
}

constexpr auto log_by_script =
    article{.script = "redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, ARGV[1] - ARGV[2])\n"
                      "local n = redis.call('ZCARD', KEYS[1])\n"
                      "if n >= tonumber(ARGV[3]) then return 0 end\n"
                      "redis.call('ZADD', KEYS[1], ARGV[1], ARGV[4])\n"
                      "redis.call('PEXPIRE', KEYS[1], ARGV[2])\n"
                      "return 1\n",
            .append =
                [](std::string& request, const check& c) {
                    resp::append_command(request, {"EVALSHA", c.sha1, "1", c.key, c.now_ms,
                                                   c.window_ms, c.limit, c.now_ms});
                },
            .replies = 1,
            .allows = is_one};

constexpr auto log_by_transaction =
    article{.script = "",
            .append =
                [](std::string& request, const check& c) {
                    resp::append_command(request, {"MULTI"});
                    resp::append_command(request, {"ZADD", c.key, c.now_ms, c.now_ms});
                    resp::append_command(request, {"ZREMRANGEBYSCORE", c.key, "0", c.begin_ms});
                    resp::append_command(request, {"ZCARD", c.key});
                    resp::append_command(request, {"EXPIRE", c.key, c.window_s});
                    resp::append_command(request, {"EXEC"});
                },
            .replies = 6,
            .allows =
                [](std::span<const resp::node> reply, std::int64_t limit) {
                    return reply.size() == 5 && reply[3].integer <= limit; // that to ZCARD
                }};

constexpr auto counter_by_script = article{
    .script = "local n = redis.call('INCR', KEYS[1])\n"
              "if n == 1 then redis.call('EXPIRE', KEYS[1], ARGV[1]) end\n"
              "if n > tonumber(ARGV[2]) then return 0 end\n"
              "return 1\n",
    .append =
        [](std::string& request, const check& c) {
            resp::append_command(request, {"EVALSHA", c.sha1, "1", c.key, c.window_s, c.limit});
        },
    .replies = 1,
    .allows = is_one};

enum class order : std::uint8_t { random, in_turn };

/// A client that sends a new check for each one that is complete.
class pipeline {
  public:
    pipeline(const article& a, policy p, std::uint32_t keys, order drawn, const conditions& c)
        : article_(a), policy_(std::move(p)), keys_(keys), in_turn_(drawn == order::in_turn),
          random_(keys, 1) {
        if (!a.script.empty())
            sha1_ = server{c.socket}.load_script(a.script);
        socket_.connect(asio::local::stream_protocol::endpoint{c.socket});
    }

    /// Each returns the number of complete checks, and throws if one was refused.
    std::uint64_t call(std::uint64_t checks) {
        const auto enough = checks_ + checks;
        return call_until([&] { return checks_ >= enough; });
    }
    std::uint64_t call_for(double seconds) {
        const auto end = steady_clock::now() + std::chrono::duration<double>{seconds};
        return call_until([&] { return steady_clock::now() >= end; });
    }

  private:
    template<class IsEnough>
    std::uint64_t call_until(IsEnough is_enough) {
        const auto before = checks_;
        while (!is_enough()) {
            send();
            receive();
        }
        return checks_ - before;
    }

    void send() {
        const auto now = std::chrono::floor<milliseconds>(std::chrono::system_clock::now());
        const auto window = std::chrono::floor<milliseconds>(policy_[0].period());
        const auto begin_ms = std::to_string((now - window).time_since_epoch().count());
        const auto now_ms = std::to_string(now.time_since_epoch().count());
        const auto window_ms = std::to_string(window.count());
        const auto window_s = std::to_string(window / std::chrono::seconds{1});
        const auto limit = std::to_string(policy_[0].count());
        request_.clear();
        for (; sent_ < checks_ + in_flight; ++sent_) {
            const auto number = static_cast<std::uint32_t>(sent_ % keys_);
            key_.clear();
            redis::append_key(key_, "colimit", policy_.name(),
                              in_turn_ ? random_.text_of(number) : random_.next());
            article_.append(request_, {.key = key_,
                                       .sha1 = sha1_,
                                       .now_ms = now_ms,
                                       .begin_ms = begin_ms,
                                       .window_ms = window_ms,
                                       .window_s = window_s,
                                       .limit = limit});
        }
        asio::write(socket_, asio::buffer(request_));
    }

    void receive() {
        const auto size = socket_.read_some(asio::buffer(chunk_));
        received_.append(chunk_.data(), size);
        auto bytes = std::string_view{received_};
        for (; reply_.feed(bytes) == resp::progress::complete; reply_.next()) {
            if (++replies_ % article_.replies == 0)
                must_allow(bytes);
            bytes.remove_prefix(reply_.consumed());
        }
        received_.erase(0, received_.size() - bytes.size());
    }

    void must_allow(std::string_view bytes) {
        if (resp::is_error(reply_.first().kind))
            throw std::runtime_error{std::string{reply_.text(reply_.first(), bytes)}};
        if (!article_.allows(reply_.nodes(), policy_[0].count()))
            throw std::runtime_error{"a check was refused"};
        ++checks_;
    }

    const article& article_;
    policy policy_;
    std::uint32_t keys_;
    bool in_turn_;
    random_key random_;
    std::string sha1_;
    asio::io_context context_{1};
    asio::local::stream_protocol::socket socket_{context_};
    std::uint64_t sent_ = 0;
    std::uint64_t checks_ = 0; ///< complete ones
    std::uint64_t replies_ = 0;
    std::string key_;
    std::string request_;
    std::array<char, std::size_t{16} * 1024> chunk_{};
    std::string received_;
    resp::decoder reply_;
};

[[nodiscard]] measurement measure(const article& a, const policy& p, const conditions& c) {
    server{c.socket}.forget_keys();
    auto asking = pipeline{a, p, server_keys, order::random, c};
    asking.call(c.warm_up);
    const auto spent = meter{c.socket};
    return spent.read(asking.call_for(c.seconds));
}

[[nodiscard]] measurement measure_log(const article& a, const conditions& c) {
    auto m = measure(a, hundred_in_any_second(), c);
    server{c.socket}.forget_keys();
    // Two events of a key in one millisecond would be one.
    auto asking = pipeline{a, thousand_in_any_hour(), weighed_logs, order::in_turn, c};
    asking.call(std::uint64_t{events_of_weighed_log} * weighed_logs);
    m.bytes_per_key = server{c.socket}.bytes_of_each_key();
    return m;
}

} // namespace

measurement article_log(const conditions& c) {
    return measure_log(log_by_script, c);
}

measurement article_multi(const conditions& c) {
    return measure_log(log_by_transaction, c);
}

measurement article_incr(const conditions& c) {
    auto m = measure(counter_by_script, thousand_in_an_hour_from_first(), c);
    m.bytes_per_key = server{c.socket}.bytes_of_each_key();
    return m;
}

} // namespace colimit::benchmark
