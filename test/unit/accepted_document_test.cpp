// SPDX-License-Identifier: BSL-1.0
//
// A document that the parser accepts decides every request, whatever rules and options its
// policies have and however routes combine them.

#include <colimit/json.hpp>
#include <core/algorithms.hpp>
#include <support/decided_document.hpp>
#include <support/refusal.hpp>
#include <support/rules_of_every_kind.hpp>
#include <support/unit_test.hpp>

#include <array>
#include <chrono>
#include <random>
#include <set>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(accepted_documents)

namespace {

using namespace colimit;
using namespace std::chrono_literals;

[[nodiscard]] std::vector<rule> every_rule() {
    auto all = test::rules_of_every_kind(5, 1h);
    for (const auto& r : {sliding_log(5, 1h), sliding_log(5, 1h).count_denied(), distinct(5, 1h),
                          concurrent(5), gcra(0, 1s), sliding_window(5, 1h).shadow()})
        all.push_back(r);
    return all;
}

/// Draws documents as text, since the parser is what may accept too much.
class drawn_document {
  public:
    explicit drawn_document(std::uint64_t seed) : random_(seed) {}

    [[nodiscard]] std::string text() {
        auto policies = std::string{};
        for (std::size_t i = 0; i < policy_count; ++i)
            policies.append(i == 0 ? "" : ", ").append(policy_text(i));
        auto routes = std::string{};
        for (std::size_t i = 0; i < 3; ++i)
            routes.append(i == 0 ? "" : ", ").append(route_text(i));
        return R"({"ipv6_prefix": )" + std::to_string(draw(128) + 1) + R"(, "trusted_proxies": )" +
               std::to_string(draw(3)) + R"(, "policies": {)" + policies + R"(}, "routes": [)" +
               routes + "]}";
    }

  private:
    static constexpr std::size_t policy_count = 4;

    [[nodiscard]] std::size_t draw(std::size_t below) {
        return std::uniform_int_distribution<std::size_t>{0, below - 1}(random_);
    }
    [[nodiscard]] bool rarely() { return draw(5) == 0; }
    template<std::size_t Size>
    [[nodiscard]] std::string one_of(const std::array<const char*, Size>& all) {
        return std::string{'"'} + all.at(draw(Size)) + '"';
    }

    [[nodiscard]] std::string policy_text(std::size_t i) {
        static const auto all = every_rule();
        auto out = "\"p" + std::to_string(i) + "\": {\"rules\": [";
        const auto count = rarely() ? draw(8) + 1 : 1;
        for (std::size_t j = 0; j < count; ++j) {
            auto r = all[draw(all.size())];
            out.append(j == 0 ? "\"" : ", \"")
                .append(to_string(r.named("r" + std::to_string(j))))
                .append("\"");
        }
        out += "], \"key\": ";
        out += one_of(std::array{"ip", "ip+route", "global", "method+user|ip", "header:x|ip",
                                 "query:q+tag:t"});
        if (rarely())
            out += R"(, "prevent_duplicate": "5s")";
        if (rarely())
            out += R"(, "shadow": true)";
        if (rarely())
            out += R"(, "on_failure": )" + one_of(std::array{"local", "allow", "deny", "error"});
        if (rarely())
            out += R"(, "storage": )" + one_of(std::array{"per_key", "shared_hash"});
        if (rarely())
            out += R"(, "leases": "1s")";
        if (rarely())
            out += R"(, "prefix": "x")";
        return out + "}";
    }

    [[nodiscard]] std::string route_text(std::size_t i) {
        auto out = R"({"path": "/)" + std::to_string(i) +
                   std::array{"", "/{id}", "/*"}.at(draw(3)) + R"(", "policies": [)";
        auto is_first = true;
        for (std::size_t j = 0; j < policy_count; ++j)
            if (draw(2) == 0) {
                out.append(is_first ? "\"p" : ", \"p").append(std::to_string(j)).append("\"");
                is_first = false;
            }
        return out + (rarely() ? R"(], "methods": ["POST"]})" : "]}");
    }

    std::mt19937_64 random_;
};

} // namespace

BOOST_AUTO_TEST_CASE(each_drawn_document_decides_every_request_or_is_refused) {
    auto seen = std::set<algorithm>{};
    auto accepted = 0;
    for (std::uint64_t seed = 0; seed < 3'000; ++seed) {
        const auto text = drawn_document{seed}.text();
        try {
            const auto d = parse_policy_document(text);
            const auto wrong = test::undecided_route(d);
            BOOST_TEST(!wrong, wrong.value_or("") << "\n" << text);
            ++accepted;
            for (std::size_t i = 0; i < d.routes().size(); ++i)
                for (const auto& p : d.policies_of(i))
                    for (const auto& r : p.limit.rules())
                        seen.insert(r.kind());
        } catch (const error& e) {
            BOOST_TEST((e.code() == errc::invalid_policy));
        }
    }
    BOOST_TEST(accepted > 300);
    for (const auto& a : core::algorithms)
        BOOST_TEST(seen.contains(a.algorithm) ==
                       (a.algorithm != algorithm::distinct && a.algorithm != algorithm::concurrent),
                   to_string(a.algorithm));
}

/// Policies that a route cannot use may be there for the program.
BOOST_AUTO_TEST_CASE(rules_that_a_request_cannot_be_checked_with_are_refused_on_routes_only) {
    const auto document = [](const std::string& rules, const std::string& routes) {
        return R"({"policies": {"a": "1/s", "b": ")" + rules + R"("}, "routes": [)" + routes + "]}";
    };
    const auto on_route = R"({"path": "/", "policies": ["a", "b"]})";
    const auto reason = [&](const std::string& rules) {
        return test::refusal(errc::invalid_policy,
                             [&] { (void)parse_policy_document(document(rules, on_route)); });
    };
    BOOST_TEST(reason("3 per 1d distinct") == "routes[0].policies[1]: has a distinct rule, whose "
                                              "members a route does not name");
    BOOST_TEST(reason("1/s; 3 per 1d distinct shadow") ==
               "routes[0].policies[1]: has a distinct rule, whose members a route does not name");
    BOOST_TEST(reason("3/30s concurrent") == "routes[0].policies[1]: has a concurrent rule, whose "
                                             "slots a route does not hold");
    for (const auto* const rules : {"3 per 1d distinct", "3/30s concurrent"})
        BOOST_TEST(parse_policy_document(document(rules, "")).policies().size() == 2U);
}

BOOST_AUTO_TEST_SUITE_END()
