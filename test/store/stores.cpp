// SPDX-License-Identifier: BSL-1.0
//
// The stores of the suite. A limiter gets one call at a time, and its context runs until the call
// completes.

#include "stores.hpp"

#include <colimit/config.hpp>
#include <colimit/limiter.hpp>
#include <colimit/local_limiter.hpp>
#include <core/compiled_policy.hpp>
#include <core/log_value.hpp>
#include <policy/policy_data.hpp>
#include <redis/protocol/key.hpp>
#include <support/function_library.hpp>
#include <support/readme_acl.hpp>
#include <support/redis_cluster.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <ostream>
#include <ranges>
#include <stdexcept>

namespace colimit::test {
namespace {

class local_store final : public open_limiter {
  public:
    answer ask(asked_verb verb, std::string_view key, const policy& p,
               const check_options& o) override {
        return answer_of([&] { return decide(verb, key, p, o); });
    }
    answer ask_block(std::string_view key, const policy& p, std::chrono::microseconds length,
                     const reset_options& o) override {
        return answer_of([&] { return limiter_.block(key, p, length, o); });
    }
    answer ask_once(std::string_view id, std::chrono::microseconds ttl,
                    const reset_options& o) override {
        return answer_of([&] { return limiter_.once(id, ttl, o); });
    }
    answer allow_all(std::span<check_item> /*checks*/) override { return {errc::closed, {}}; }
    error_code allow_many(std::span<check_item> /*checks*/) override { return errc::closed; }
    counted count_distinct(std::string_view key, const policy& p, const count_options& o) override {
        auto number = std::int64_t{0};
        const auto ec = code_of([&] { number = limiter_.count_distinct(key, p, o); });
        return {ec, number};
    }
    answer charge_members(std::string_view key, const policy& p,
                          std::span<const std::string_view> members,
                          const charge_options& o) override {
        return answer_of([&] { return limiter_.charge_members(key, p, members, o); });
    }
    inspected inspect(const bloom_filter& f, const reset_options& o) override {
        auto got = inspected{};
        got.ec = code_of([&] { got.status = limiter_.filter_status(f, o); });
        return got;
    }
    error_code look_up(std::span<seen_item> ids, const bloom_filter& f, bool records,
                       const reset_options& o) override {
        return code_of([&] {
            records ? limiter_.seen_many(ids, f, o) : limiter_.probably_seen_many(ids, f, o);
        });
    }

  private:
    template<class Ask>
    static error_code code_of(Ask ask) {
        try {
            ask();
            return {};
        } catch (const error& e) {
            return e.code();
        }
    }
    template<class Ask>
    static answer answer_of(Ask ask) {
        auto d = decision{};
        const auto ec = code_of([&] { d = ask(); });
        return {ec, d};
    }

    decision decide(asked_verb verb, std::string_view key, const policy& p,
                    const check_options& o) {
        const auto charged =
            charge_options{.cost = o.cost, .member = o.member, .request = o.request, .now = o.now};
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
    explicit asked_limiter(const config& settings, bool packs = false)
        : limiter_(context_.get_executor(), settings), packs_(packs) {}

    answer ask(asked_verb verb, std::string_view key, const policy& p,
               const check_options& o) override {
        const auto& asked = packs_ ? packed(p) : p;
        return await([&](auto handler) { start(verb, key, asked, o, handler); });
    }
    answer ask_block(std::string_view key, const policy& p, std::chrono::microseconds length,
                     const reset_options& o) override {
        return await([&](auto handler) { limiter_.block(key, p, length, o, handler); });
    }
    answer ask_once(std::string_view id, std::chrono::microseconds ttl,
                    const reset_options& o) override {
        return await([&](auto handler) { limiter_.once(id, ttl, o, handler); });
    }
    answer allow_all(std::span<check_item> checks) override {
        return await([&](auto handler) { limiter_.allow_all(checks, handler); });
    }
    error_code allow_many(std::span<check_item> checks) override {
        const auto got = await([&](auto handler) {
            limiter_.allow_many(checks, [handler](error_code ec) { handler(ec, decision{}); });
        });
        return got.ec;
    }
    counted count_distinct(std::string_view key, const policy& p, const count_options& o) override {
        auto got = counted{};
        await([&](auto handler) {
            limiter_.count_distinct(key, p, o, [&got, handler](error_code ec, std::int64_t number) {
                got = {ec, number};
                handler(ec, decision{});
            });
        });
        return got;
    }
    answer charge_members(std::string_view key, const policy& p,
                          std::span<const std::string_view> members,
                          const charge_options& o) override {
        return await([&](auto handler) { limiter_.charge_members(key, p, members, o, handler); });
    }
    inspected inspect(const bloom_filter& f, const reset_options& o) override {
        auto got = inspected{};
        await([&](auto handler) {
            limiter_.filter_status(f, o, [&got, handler](error_code ec, const filter_status& s) {
                got = {ec, s};
                handler(ec, decision{});
            });
        });
        return got;
    }
    error_code look_up(std::span<seen_item> ids, const bloom_filter& f, bool records,
                       const reset_options& o) override {
        const auto got = await([&](auto handler) {
            const auto then = [handler](error_code ec) { handler(ec, decision{}); };
            records ? limiter_.seen_many(ids, f, o, then)
                    : limiter_.probably_seen_many(ids, f, o, then);
        });
        return got.ec;
    }

  private:
    /// Runs the context until the call that `begin(handler)` makes has completed.
    template<class Begin>
    answer await(Begin begin) {
        auto got = std::optional<answer>{};
        begin([&got](error_code ec, const decision& d) { got = answer{ec, d}; });
        while (!got) {
            context_.restart();
            if (context_.run_one() == 0)
                throw std::runtime_error{"the call never completed"};
        }
        return *got;
    }

    template<class Handler>
    void start(asked_verb verb, std::string_view key, const policy& p, const check_options& o,
               Handler handler) {
        const auto charged =
            charge_options{.cost = o.cost, .member = o.member, .request = o.request, .now = o.now};
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

    /// The same policy, packed if it can be.
    const policy& packed(const policy& p) {
        const auto [found, is_new] = packed_.try_emplace(detail::access::data(p), p);
        const auto& plan = detail::access::data(p)->compiled;
        if (is_new && !plan.has_log && !plan.has_distinct)
            found->second = p.with_storage(storage::shared_hash);
        return found->second;
    }

    boost::asio::io_context context_{1};
    limiter limiter_;
    bool packs_;
    std::map<std::shared_ptr<const detail::policy_data>, policy> packed_;
};

[[nodiscard]] redis_cluster& cluster() {
    static redis_cluster one;
    return one;
}

/// The address of a user of the server who may call functions, which are loaded.
[[nodiscard]] const std::string& address_for_functions() {
    static const auto address = [] {
        load_function_library(look());
        auto rules = readme_acl("function");
        rules.emplace_back("~elsewhere:*"); // some policies have this prefix
        set_user(look(), "function", rules);
        return "unix://function:pw@" + server().socket();
    }();
    return address;
}

[[nodiscard]] config settings_of(store_kind kind, std::chrono::milliseconds least_ttl) {
    auto settings = config{};
    settings.timeout = std::chrono::seconds{10}; // deadlines are the subject of other tests
    settings.advanced.connect_timeout = std::chrono::seconds{10};
    settings.on_failure = failure_mode::error; // another store's answer would hide this one's
    settings.advanced.min_key_ttl = least_ttl;
    settings.advanced.resp_version = kind == store_kind::redis_resp2 ? 2 : 3;
    if (kind == store_kind::redis_function)
        settings.advanced.mode = execution_mode::function;
    if (kind == store_kind::cluster)
        settings.server = "redis+cluster://" + cluster().endpoint(0);
    else if (kind == store_kind::redis_tcp)
        settings.server = server().address();
    else if (kind == store_kind::redis_function)
        settings.server = address_for_functions();
    else if (kind != store_kind::memory)
        settings.server = server().unix_address();
    return settings;
}

[[nodiscard]] store_kind store_named(std::string_view name) {
    constexpr std::string_view names[] = {"local",       "memory",    "redis_resp3",
                                          "redis_resp2", "redis_tcp", "redis_function",
                                          "packed",      "cluster"};
    const auto* const found = std::ranges::find(names, name);
    if (found == std::end(names))
        throw std::invalid_argument{"COLIMIT_TEST_STORES: no store is named '" + std::string{name} +
                                    "' (see store_kind in test/store/stores.hpp)"};
    return static_cast<store_kind>(found - std::begin(names));
}

/// Returns those that the environment chooses; all if it does not.
[[nodiscard]] std::vector<store_kind> chosen_of(std::vector<store_kind> kinds) {
    const auto* const text = std::getenv("COLIMIT_TEST_STORES");
    if (text == nullptr)
        return kinds;
    auto chosen = std::vector<store_kind>{};
    for (const auto name : std::views::split(std::string_view{text}, ','))
        chosen.push_back(store_named({name.begin(), name.end()}));
    std::erase_if(kinds, [&](auto k) { return std::ranges::find(chosen, k) == chosen.end(); });
    return kinds;
}

} // namespace

std::ostream& operator<<(std::ostream& out, store_kind k) {
    constexpr std::string_view names[] = {"local_limiter", "memory:",      "redis, RESP3",
                                          "redis, RESP2",  "redis, TCP",   "redis, FCALL",
                                          "redis, packed", "redis cluster"};
    return out << names[static_cast<std::size_t>(k)];
}

std::vector<store_kind> every_store() {
    return chosen_of({store_kind::local, store_kind::memory, store_kind::redis_resp3,
                      store_kind::redis_resp2, store_kind::redis_tcp, store_kind::redis_function,
                      store_kind::packed, store_kind::cluster});
}

std::vector<store_kind> every_unpacked() {
    auto all = every_store();
    std::erase(all, store_kind::packed);
    return all;
}

std::vector<store_kind> every_redis() {
    return chosen_of({store_kind::redis_resp3, store_kind::redis_resp2, store_kind::redis_tcp,
                      store_kind::redis_function});
}

std::vector<store_kind> every_limiter() {
    return chosen_of({store_kind::memory, store_kind::redis_resp3, store_kind::redis_resp2,
                      store_kind::redis_tcp, store_kind::redis_function});
}

decision open_limiter::must(const answer& got) {
    BOOST_REQUIRE_MESSAGE(!got.ec, "the call failed: " << got.ec.message());
    return got.result;
}

std::unique_ptr<open_limiter> open_store(store_kind kind, std::chrono::milliseconds least_ttl) {
    if (kind == store_kind::local)
        return std::make_unique<local_store>();
    if (kind == store_kind::cluster)
        for (std::size_t i = 0; i < cluster().size(); ++i)
            cluster().connect(i).must({"FLUSHALL", "SYNC"});
    else if (kind != store_kind::memory)
        look().must({"FLUSHALL", "SYNC"}); // Valkey would free the memory later
    return std::make_unique<asked_limiter>(settings_of(kind, least_ttl),
                                           kind == store_kind::packed);
}

std::unique_ptr<open_limiter> join_store(store_kind redis) {
    return std::make_unique<asked_limiter>(settings_of(redis, for_supplied_clocks));
}

redis_server& server() {
    static redis_server one{{.tcp = true}};
    return one;
}

raw_client& look() {
    static auto one = server().connect();
    return one;
}

std::int64_t stored_keys(store_kind k) {
    if (k == store_kind::local || k == store_kind::memory)
        return 0;
    if (k != store_kind::cluster)
        return look().dbsize();
    auto sum = std::int64_t{0};
    for (std::size_t i = 0; i < cluster().size(); ++i)
        sum += cluster().connect(i).dbsize();
    return sum;
}

namespace {

[[nodiscard]] std::string name_in_family(const policy& p, std::string_view key,
                                         std::string_view family) {
    std::string name;
    const auto at = redis::append_key(name, config{}.prefix, p.name(), key);
    return name.insert(at, family);
}

} // namespace

std::string name_of(const policy& p, std::string_view key) {
    return name_in_family(p, key, "");
}

std::string log_name_of(const policy& p, std::string_view key) {
    return name_in_family(p, key, redis::log_family);
}

std::size_t events_of(raw_client& look, const policy& p, std::string_view key) {
    const auto value = look.get(log_name_of(p, key)).value_or("");
    if (!core::read_log_head(value) || core::events_in(value.size()) == 0)
        throw std::runtime_error{"there is no log"};
    return core::kept_events(value).size();
}

std::string sketch_name_of(const policy& p, std::string_view key, std::string_view rule_name) {
    const auto family = redis::sketch_family(core::state_tag('d', rule_name));
    return name_in_family(p, key, {family.data(), family.size()});
}

server_picture take_picture() {
    auto all = server_picture{};
    for (const auto& name : look().keys())
        all[name] = {look().dump(name), look().must({"PEXPIRETIME", name}).integer};
    return all;
}

} // namespace colimit::test
