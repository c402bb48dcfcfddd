// SPDX-License-Identifier: BSL-1.0
//
// Prints the header fields of many decisions, a JSON object per line with what they should contain,
// for parse_fields.mjs.

#include <colimit/http.hpp>
#include <colimit/local_limiter.hpp>
#include <support/rules_of_every_kind.hpp>

#include <boost/json.hpp>

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>

namespace {

using namespace colimit;
using namespace std::chrono_literals;

[[nodiscard]] boost::json::array expected_items(const policy& p, const decision& d) {
    auto items = boost::json::array{};
    for (std::size_t i = 0; i < d.rules.size(); ++i)
        if (!p[i].is_shadow())
            items.push_back({{"name", p[i].name()},
                             {"limit", d.rules[i].limit},
                             {"remaining", d.rules[i].remaining()}});
    return items;
}

void print(const policy& p, const decision& d) {
    auto fields = boost::json::object{};
    for (const auto& f : http::draft_11::fields(p, d, {.x_ratelimit = true}))
        fields[f.name] = f.value;
    std::cout << boost::json::object{{"fields", fields},
                                     {"items", expected_items(p, d)},
                                     {"allowed", d.allowed()},
                                     {"retry_after_us", d.retry_after.count()}}
              << '\n';
}

/// Prints fields until two calls have been denied, and after a recovery.
void run(const policy& p) {
    auto store = local_limiter{1'000};
    auto now = time_point{1'700'000'000s};
    for (int denied = 0, i = 0; denied < 3; ++i) {
        const auto member = std::to_string(i);
        const auto d = store.allow("k", p, {.member = member, .now = now});
        print(p, d);
        if (!d.allowed())
            now += ++denied % 2 == 0 ? d.retry_after : 1ms;
    }
}

} // namespace

int main() {
    for (const auto limit : {1, 3})
        for (const auto period :
             {std::chrono::microseconds{1'234'567}, std::chrono::microseconds{24h}}) {
            for (const auto& r : test::rules_of_every_kind(limit, period)) {
                run(policy{"p", r});
                run(policy{"p", r.named("A-z_0.9"), gcra(5, 1h).named("b"),
                           gcra(1, 1h).named("planned").shadow()});
            }
            run(policy{"p", distinct(limit, period), sliding_log(limit, period)});
        }
    auto store = local_limiter{1'000};
    const auto huge = policy{"p", fixed_window(limits::max_exact_integer, 24h)};
    print(huge, store.allow("k", huge));
}
