// SPDX-License-Identifier: BSL-1.0
//
// Unique visitors, and ids that come twice: three ways to know what was seen before.
//
//     unique_visitors [ADDRESS]
//
//     question                  verb              errors                    memory in Redis
//     how many are different?   count_distinct    standard error of 0.8 %   at most 14.6 KB per key
//     was this id seen before?  seen              up to 1 % of new ids      3.1 bytes per id
//     the same, exactly         once              none                      from 120 bytes per id
//
// `distinct` counts the different members of a key in a window, with a HyperLogLog as PFADD and
// PFCOUNT do, and limits them: here an account logs in from at most three addresses per day. It
// cannot say whether a certain member was counted.
//
// `seen` can, with a Bloom filter: an id that was recorded is never reported as new within the TTL,
// but a new id may be reported as seen. The filter's size follows from its capacity and its error
// rate (above: 1 %), not from the ids that it has. `probably_seen` looks an id up without recording
// it.
//
// `once` stores a key per id and is exact: use it if a wrong answer would lose an order.

#include <colimit.hpp>
#include <support/run.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

constexpr auto many = 10'000;

const colimit::policy addresses{"addresses", colimit::distinct(3, 24h)};
const colimit::policy visitors{"visitors", colimit::distinct(1'000'000, 24h)};

std::vector<std::string> numbered(std::string_view what) {
    std::vector<std::string> all;
    all.reserve(many);
    for (int i = 0; i < many; ++i)
        all.push_back(std::string{what} + ' ' + std::to_string(i));
    return all;
}

asio::awaitable<void> limit_addresses(colimit::limiter& limiter) {
    const auto ann = colimit::key::user("ann");
    for (const auto* address : {"192.0.2.1", "192.0.2.2", "192.0.2.1", "192.0.2.3", "192.0.2.4"}) {
        const auto d = co_await limiter.allow(ann, addresses, {.member = address});
        std::cout << "ann from " << address << ": " << to_string(d.outcome) << '\n';
    }
    const auto counted = co_await limiter.count_distinct(ann, addresses);
    std::cout << "ann's addresses today: " << counted << '\n';
    co_await limiter.reset(ann, addresses);
}

asio::awaitable<void> count_visitors(colimit::limiter& limiter) {
    const auto names = numbered("visitor");
    std::vector<std::string_view> members{names.begin(), names.end()};
    members.insert(members.end(), names.begin(), names.end()); // each of them visits twice
    co_await limiter.charge_members("/index.html", visitors, members);
    const auto counted = co_await limiter.count_distinct("/index.html", visitors);
    std::cout << members.size() << " visits of " << many << " visitors, counted as " << counted
              << '\n';
    co_await limiter.reset("/index.html", visitors);
}

/// Returns the items for calls with many ids, which must outlive them.
std::vector<colimit::seen_item> items_of(const std::vector<std::string>& ids) {
    std::vector<colimit::seen_item> items;
    items.reserve(ids.size());
    for (const auto& id : ids)
        items.push_back({.id = id});
    return items;
}

std::int64_t count_seen(const std::vector<colimit::seen_item>& items) {
    return std::ranges::count_if(items, [](const auto& i) { return i.seen; });
}

asio::awaitable<void> filter_articles(colimit::limiter& limiter, const std::string& run) {
    const colimit::bloom_filter shown{"shown-" + run,
                                      {.capacity = many, .error_rate = 0.01, .ttl = 1min}};
    std::cout << "a filter of " << many << " ids: two bitmaps of " << shown.bytes() << " bytes\n";
    const auto before = co_await limiter.probably_seen("article 1", shown);
    const auto first = co_await limiter.seen("article 1", shown);
    const auto second = co_await limiter.seen("article 1", shown);
    std::cout << "article 1 was seen: " << before << ' ' << first << ' ' << second << '\n';

    const auto articles = numbered("article");
    auto items = items_of(articles);
    co_await limiter.seen_many(items, shown);
    co_await limiter.probably_seen_many(items, shown);
    std::cout << "recorded ids that are seen: " << count_seen(items) << " of " << many << '\n';

    const auto others = numbered("another article");
    items = items_of(others);
    co_await limiter.probably_seen_many(items, shown);
    std::cout << "new ids that are seen: " << count_seen(items) << " of " << many << '\n';
}

asio::awaitable<void> take_orders(colimit::limiter& limiter, const std::string& run) {
    for (const auto* form : {"form 1", "form 1", "form 2"}) {
        const auto id = form + (" of run " + run);
        const auto d = co_await limiter.once(id, 1min);
        std::cout << form << ": " << (d ? "an order" : "a duplicate") << '\n';
    }
}

asio::awaitable<void> show(colimit::limiter& limiter) {
    co_await limit_addresses(limiter);
    co_await count_visitors(limiter);
    // Filters and ids cannot be reset: they expire, here within two minutes. Each run of this
    // program has its own.
    const auto run = std::to_string(std::chrono::system_clock::now().time_since_epoch().count());
    co_await filter_articles(limiter, run);
    co_await take_orders(limiter, run);
}

int main(int argc, char** argv) {
    colimit::config settings;
    settings.advanced.clock = [] {
        return colimit::time_point{1'700'000'000s};
    }; // so the day does not end
    return example::run(argc, argv, show, settings);
}
