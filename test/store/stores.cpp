// SPDX-License-Identifier: BSL-1.0
//
// The stores of the suite. A limiter is asked one call at a time, and its context runs until it has
// answered.

#include "stores.hpp"

#include <colimit/config.hpp>
#include <colimit/limiter.hpp>
#include <colimit/local_limiter.hpp>
#include <redis/key.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>
#include <stdexcept>

namespace colimit::test {
namespace {

class local_store final : public open_limiter {
  public:
    answer ask(asked_verb verb, std::string_view key, const policy& p,
               const check_options& o) override {
        try {
            return {{}, decide(verb, key, p, o)};
        } catch (const error& e) {
            return {e.code(), {}};
        }
    }

  private:
    decision decide(asked_verb verb, std::string_view key, const policy& p,
                    const check_options& o) {
        const auto charged = charge_options{.cost = o.cost, .now = o.now};
        switch (verb) {
        case asked_verb::allow:
            return limiter_.allow(key, p, o);
        case asked_verb::peek:
            return limiter_.peek(key, p, o);
        case asked_verb::charge:
            return limiter_.charge(key, p, charged);
        case asked_verb::refund:
            return limiter_.refund(key, p, charged);
        case asked_verb::reset:
            break;
        }
        return limiter_.reset(key, p, {.now = o.now});
    }

    local_limiter limiter_{4096};
};

class asked_limiter final : public open_limiter {
  public:
    explicit asked_limiter(const config& settings) : limiter_(context_.get_executor(), settings) {}

    answer ask(asked_verb verb, std::string_view key, const policy& p,
               const check_options& o) override {
        auto got = std::optional<answer>{};
        start(verb, key, p, o, [&got](error_code ec, const decision& d) { got = answer{ec, d}; });
        while (!got) {
            context_.restart();
            if (context_.run_one() == 0)
                throw std::runtime_error{"the call never completed"};
        }
        return *got;
    }

  private:
    template<class Handler>
    void start(asked_verb verb, std::string_view key, const policy& p, const check_options& o,
               Handler handler) {
        const auto charged = charge_options{.cost = o.cost, .now = o.now};
        switch (verb) {
        case asked_verb::allow:
            return limiter_.allow(key, p, o, handler);
        case asked_verb::peek:
            return limiter_.peek(key, p, o, handler);
        case asked_verb::charge:
            return limiter_.charge(key, p, charged, handler);
        case asked_verb::refund:
            return limiter_.refund(key, p, charged, handler);
        case asked_verb::reset:
            return limiter_.reset(key, p, reset_options{.now = o.now}, handler);
        }
    }

    boost::asio::io_context context_{1};
    limiter limiter_;
};

[[nodiscard]] config settings_of(store_kind kind, std::chrono::milliseconds least_ttl) {
    auto settings = config{};
    settings.timeout = std::chrono::seconds{10}; // deadlines are the subject of other tests
    settings.connect_timeout = std::chrono::seconds{10};
    settings.minimum_ttl = least_ttl;
    settings.resp = kind == store_kind::redis_resp2 ? 2 : 3;
    if (kind == store_kind::redis_tcp)
        settings.server = server().address();
    else if (kind != store_kind::memory)
        settings.server = server().unix_address();
    return settings;
}

} // namespace

std::ostream& operator<<(std::ostream& out, store_kind k) {
    constexpr std::string_view names[] = {"local_limiter", "memory:", "redis, RESP3",
                                          "redis, RESP2", "redis, TCP"};
    return out << names[static_cast<std::size_t>(k)];
}

std::vector<store_kind> every_store() {
    return {store_kind::local, store_kind::memory, store_kind::redis_resp3, store_kind::redis_resp2,
            store_kind::redis_tcp};
}

std::vector<store_kind> every_redis() {
    return {store_kind::redis_resp3, store_kind::redis_resp2, store_kind::redis_tcp};
}

decision open_limiter::must(asked_verb verb, std::string_view key, const policy& p,
                            const check_options& options) {
    auto got = ask(verb, key, p, options);
    BOOST_REQUIRE_MESSAGE(!got.ec, "the call failed: " << got.ec.message());
    return got.result;
}

std::unique_ptr<open_limiter> open_store(store_kind kind, std::chrono::milliseconds least_ttl) {
    if (kind == store_kind::local)
        return std::make_unique<local_store>();
    if (kind != store_kind::memory)
        look().must({"FLUSHALL"});
    return std::make_unique<asked_limiter>(settings_of(kind, least_ttl));
}

redis_server& server() {
    static redis_server one{{.tcp = true}};
    return one;
}

raw_client& look() {
    static auto one = server().connect();
    return one;
}

std::string name_of(const policy& p, std::string_view key) {
    std::string name;
    redis::append_key(name, {config{}.prefix, p.name(), key, redis::key_hash(key)});
    return name;
}

} // namespace colimit::test
