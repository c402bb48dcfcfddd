// SPDX-License-Identifier: BSL-1.0
//
// The text for Prometheus: which number is in which line, labels, and errors.

#include <colimit/metrics.hpp>
#include <colimit/slot.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(metrics_text)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;

/// The samples of a text, and its comments.
struct parsed {
    explicit parsed(const std::string& text) {
        auto in = std::istringstream{text};
        for (auto line = std::string{}; std::getline(in, line);) {
            if (line.starts_with('#')) {
                comments.push_back(line);
                continue;
            }
            const auto end = line.rfind(' ');
            BOOST_TEST(samples.emplace(line.substr(0, end), line.substr(end + 1)).second, line);
        }
    }

    /// Takes a sample out.
    [[nodiscard]] std::string take(const std::string& name) {
        const auto found = samples.find(name);
        if (found == samples.end())
            return "missing";
        const auto value = found->second;
        samples.erase(found);
        return value;
    }

    std::map<std::string, std::string> samples;
    std::vector<std::string> comments;
};

[[nodiscard]] limiter_metrics numbered() {
    auto m = limiter_metrics{};
    auto n = std::uint64_t{100};
    auto& s = m.statistics;
    for (auto* counter : {&s.allowed,
                          &s.denied,
                          &s.never,
                          &s.failed,
                          &s.cancelled,
                          &s.sources[0],
                          &s.sources[1],
                          &s.sources[2],
                          &s.sources[3],
                          &s.sources[4],
                          &s.sources[5],
                          &s.batches,
                          &s.batch_calls,
                          &s.batch_keys,
                          &s.module_calls,
                          &s.module_connections,
                          &s.largest_batch,
                          &s.merged,
                          &s.script_loads,
                          &s.bytes_out,
                          &s.bytes_in,
                          &s.reconnects,
                          &s.breaker_openings,
                          &s.cached_denials,
                          &s.leases,
                          &s.lease_tokens_taken,
                          &s.lease_tokens_spent,
                          &s.lease_tokens_lapsed,
                          &s.slots_held,
                          &s.slots_acquired,
                          &s.slots_renewed,
                          &s.slots_released,
                          &s.slots_lost})
        *counter = ++n;
    for (auto& counter : s.errors)
        counter = ++n;
    s.checks = s.ended() + 7;
    m.health.state = health_state::degraded;
    m.health.since = std::chrono::system_clock::time_point{1'700'000'000'012'345us};
    return m;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_number_is_in_the_line_that_says_what_it_is) {
    auto m = numbered();
    m.health.last_problem = problem{};
    m.health.last_problem->last = std::chrono::system_clock::time_point{1'700'000'100'000'001us};
    m.policies.resize(2);
    m.policies[0].policy = "login";
    m.policies[0].allowed = 11;
    m.policies[0].denied = 12;
    m.policies[0].never = 13;
    m.policies[0].failed = 14;
    m.policies[0].cancelled = 15;
    m.policies[0].sources = {16, 17, 18, 19, 20, 21};
    m.policies[0].shadow_denied = 22;
    m.policies[1].policy = "(other)";
    auto p = parsed{to_prometheus(m)};

    auto n = 100;
    for (const auto* name : {"checks_total{outcome=\"allowed\"}",
                             "checks_total{outcome=\"denied\"}",
                             "checks_total{outcome=\"never\"}",
                             "checks_total{outcome=\"failed\"}",
                             "checks_total{outcome=\"cancelled\"}",
                             "decisions_total{source=\"store\"}",
                             "decisions_total{source=\"deny_cache\"}",
                             "decisions_total{source=\"lease\"}",
                             "decisions_total{source=\"fallback\"}",
                             "decisions_total{source=\"fail_open\"}",
                             "decisions_total{source=\"fail_closed\"}",
                             "batches_total",
                             "batch_checks_total",
                             "batch_keys_total",
                             "module_checks_total",
                             "module_connections",
                             "largest_batch_keys",
                             "merged_checks_total",
                             "script_loads_total",
                             "sent_bytes_total",
                             "received_bytes_total",
                             "reconnects_total",
                             "breaker_openings_total",
                             "cached_denials",
                             "leases_total",
                             "lease_tokens_taken_total",
                             "lease_tokens_spent_total",
                             "lease_tokens_lapsed_total",
                             "slots_held",
                             "slots_acquired_total",
                             "slots_renewed_total",
                             "slots_released_total",
                             "slots_lost_total",
                             "errors_total{code=\"other\"}",
                             "errors_total{code=\"unavailable\"}",
                             "errors_total{code=\"deadline_exceeded\"}",
                             "errors_total{code=\"outcome_unknown\"}",
                             "errors_total{code=\"too_many_in_flight\"}",
                             "errors_total{code=\"server_error\"}",
                             "errors_total{code=\"bad_reply\"}",
                             "errors_total{code=\"key_conflict\"}",
                             "errors_total{code=\"corrupt_state\"}",
                             "errors_total{code=\"auth_failed\"}",
                             "errors_total{code=\"untrusted_server\"}",
                             "errors_total{code=\"closed\"}",
                             "errors_total{code=\"invalid_argument\"}",
                             "errors_total{code=\"invalid_policy\"}",
                             "errors_total{code=\"invalid_key\"}",
                             "errors_total{code=\"invalid_config\"}",
                             "errors_total{code=\"wrong_node\"}"})
        BOOST_TEST(p.take(std::string{"colimit_"} + name) == std::to_string(++n), name);
    BOOST_TEST(static_cast<int>(errc::wrong_node) == 16); // the last of the codes
    BOOST_TEST(p.take("colimit_checks_in_flight") == "7");

    n = 10;
    for (const auto* name : {"policy_checks_total{policy=\"login\",outcome=\"allowed\"}",
                             "policy_checks_total{policy=\"login\",outcome=\"denied\"}",
                             "policy_checks_total{policy=\"login\",outcome=\"never\"}",
                             "policy_checks_total{policy=\"login\",outcome=\"failed\"}",
                             "policy_checks_total{policy=\"login\",outcome=\"cancelled\"}",
                             "policy_decisions_total{policy=\"login\",source=\"store\"}",
                             "policy_decisions_total{policy=\"login\",source=\"deny_cache\"}",
                             "policy_decisions_total{policy=\"login\",source=\"lease\"}",
                             "policy_decisions_total{policy=\"login\",source=\"fallback\"}",
                             "policy_decisions_total{policy=\"login\",source=\"fail_open\"}",
                             "policy_decisions_total{policy=\"login\",source=\"fail_closed\"}",
                             "policy_shadow_denials_total{policy=\"login\"}"})
        BOOST_TEST(p.take(std::string{"colimit_"} + name) == std::to_string(++n), name);
    BOOST_TEST(p.take("colimit_policy_shadow_denials_total{policy=\"(other)\"}") == "0");

    for (const auto* state : {"connecting", "ready", "degraded", "refused", "closed"})
        BOOST_TEST(p.take("colimit_state{state=\"" + std::string{state} + "\"}") ==
                   (state == std::string_view{"degraded"} ? "1" : "0"));
    BOOST_TEST(p.take("colimit_state_changed_timestamp_seconds") == "1700000000.012345");
    BOOST_TEST(p.take("colimit_problem_timestamp_seconds") == "1700000100.000001");

    for (const auto& [name, value] : p.samples) // of the histogram, and the other policy
        BOOST_TEST((name.starts_with("colimit_check_duration_seconds") ||
                    (name.find("(other)") != std::string::npos && value == "0")),
                   name);
}

BOOST_AUTO_TEST_CASE(buckets_count_the_times_up_to_their_end) {
    auto m = limiter_metrics{};
    for (const auto us : {0, 63, 64, 127, 128, 999, 1'023, 1'024, 99'999, 2'097'151, 2'097'152})
        m.statistics.latency.add(std::chrono::microseconds{us});
    m.statistics.latency.add(1h);
    auto p = parsed{to_prometheus(m)};
    const auto bucket = [&](const std::string& le) {
        return p.take("colimit_check_duration_seconds_bucket{le=\"" + le + "\"}");
    };
    BOOST_TEST(bucket("0.000064") == "2");
    BOOST_TEST(bucket("0.000128") == "4");
    BOOST_TEST(bucket("0.000256") == "5");
    BOOST_TEST(bucket("0.000512") == "5");
    BOOST_TEST(bucket("0.001024") == "7");
    BOOST_TEST(bucket("0.002048") == "8");
    for (const auto* le : {"0.004096", "0.008192", "0.016384", "0.032768", "0.065536"})
        BOOST_TEST(bucket(le) == "8");
    for (const auto* le : {"0.131072", "0.262144", "0.524288", "1.048576"})
        BOOST_TEST(bucket(le) == "9");
    BOOST_TEST(bucket("2.097152") == "10");
    BOOST_TEST(bucket("+Inf") == "12");
    BOOST_TEST(p.take("colimit_check_duration_seconds_count") == "12");
    BOOST_TEST(p.take("colimit_check_duration_seconds_sum") == "3604.297730");
    for (const auto& [name, value] : p.samples)
        BOOST_TEST(!name.starts_with("colimit_check_duration"), name);
}

BOOST_AUTO_TEST_CASE(a_limiter_reports_its_calls_and_policies) {
    auto context = asio::io_context{1};
    auto settings = config{};
    settings.counted_policies = 10;
    auto limiter = colimit::limiter{context.get_executor(), settings};
    const policy two{"two", gcra(2, 1h).burst(2)};
    for (int i = 0; i < 5; ++i)
        limiter.allow("a user's key", two, asio::detached);
    BOOST_TEST(parsed{to_prometheus(metrics_of(limiter))}.take("colimit_checks_in_flight") == "5");
    context.run();
    const auto text = to_prometheus(metrics_of(limiter, {{"limiter", "api"}}));
    auto p = parsed{text};
    BOOST_TEST(p.take("colimit_checks_total{limiter=\"api\",outcome=\"allowed\"}") == "2");
    BOOST_TEST(p.take("colimit_checks_total{limiter=\"api\",outcome=\"denied\"}") == "3");
    BOOST_TEST(p.take("colimit_checks_in_flight{limiter=\"api\"}") == "0");
    BOOST_TEST(p.take("colimit_policy_checks_total{limiter=\"api\",policy=\"two\",outcome="
                      "\"denied\"}") == "3");
    BOOST_TEST(p.take("colimit_state{limiter=\"api\",state=\"ready\"}") == "1");
    BOOST_TEST(text.find("a user's key") == std::string::npos);
    BOOST_TEST(text.ends_with('\n'));
}

BOOST_AUTO_TEST_CASE(counters_never_decrease) {
    auto context = asio::io_context{1};
    auto settings = config{};
    settings.counted_policies = 1; // the second one is counted with others
    auto limiter = colimit::limiter{context.get_executor(), settings};
    const policy two{"two", gcra(2, 1h).burst(2)};
    const policy places{"places", concurrent(1).lease(1h)};
    const std::vector<std::function<void()>> calls = {
        [&] { limiter.allow("k", two, asio::detached); },
        [&] { limiter.refund("k", two, asio::detached); },
        [&] { limiter.charge("k", two, {.cost = 5}, asio::detached); },
        [&] { limiter.peek("k", two, asio::detached); },
        [&] { limiter.block("k", two, 1h, asio::detached); },
        [&] { limiter.reset("k", two, asio::detached); },
        [&] { limiter.acquire("k", places, [](error_code, const slot&) {}); },
        [&] { limiter.allow("k", places, asio::detached); }}; // an error
    const auto is_counter = [](const std::string& name) {
        const auto base = name.substr(0, name.find('{'));
        return base.ends_with("_total") || base.ends_with("_count") || base.ends_with("_bucket") ||
               base.ends_with("_sum");
    };
    auto before = parsed{to_prometheus(metrics_of(limiter))}.samples;
    auto counters = std::size_t{0};
    for (auto round = 0; round < 3; ++round)
        for (const auto& call : calls)
            for (const auto ends : {false, true}) {
                call();
                context.restart();
                if (ends)
                    context.poll();
                auto now = parsed{to_prometheus(metrics_of(limiter))}.samples;
                for (const auto& [name, value] : before)
                    if (is_counter(name)) {
                        ++counters;
                        BOOST_TEST((now.contains(name) && std::stod(now[name]) >= std::stod(value)),
                                   name << " was " << value);
                    }
                before = std::move(now);
            }
    BOOST_TEST(counters > 1'000U);
    limiter.close();
    context.restart();
    context.run();
}

BOOST_AUTO_TEST_CASE(samples_of_a_metric_are_together_for_all_limiters) {
    auto both = std::vector{numbered(), numbered()};
    both[0].labels = {{"thread", "0"}, {"limiter", "api"}};
    both[1].labels = {{"thread", "1"}, {"limiter", "api"}};
    both[1].statistics.batches = 5;
    const auto text = to_prometheus(both);
    auto p = parsed{text};
    BOOST_TEST(p.take("colimit_batches_total{limiter=\"api\",thread=\"0\"}") == "112");
    BOOST_TEST(p.take("colimit_batches_total{limiter=\"api\",thread=\"1\"}") == "5");
    BOOST_TEST(p.comments == parsed{to_prometheus(numbered())}.comments,
               boost::test_tools::per_element());

    auto metric = std::string{};
    auto done = std::vector<std::string>{};
    auto in = std::istringstream{text};
    for (auto line = std::string{}; std::getline(in, line);) {
        if (line.starts_with("# HELP ")) {
            metric = line.substr(7, line.find(' ', 7) - 7);
            BOOST_TEST(std::ranges::count(done, metric) == 0);
            done.push_back(metric);
        } else if (line.starts_with('#')) {
            BOOST_TEST(line.starts_with("# TYPE " + metric + " "));
        } else {
            BOOST_TEST(line.starts_with(metric));
        }
    }
}

BOOST_AUTO_TEST_CASE(values_of_labels_are_escaped) {
    auto m = limiter_metrics{};
    m.labels = {{"limiter", "a\"b\\c\nd} e=\"f\", \xc3\xa9"}};
    auto p = parsed{to_prometheus(m)};
    BOOST_TEST(
        p.take("colimit_batches_total{limiter=\"a\\\"b\\\\c\\nd} e=\\\"f\\\", \xc3\xa9\"}") == "0");
    m.labels = {{"limiter", ""}};
    BOOST_TEST(parsed{to_prometheus(m)}.take("colimit_batches_total") == "0");
}

BOOST_AUTO_TEST_CASE(labels_that_prometheus_would_reject_are_errors) {
    const auto reason_for = [](std::vector<metric_label> labels) {
        auto all = std::vector(2, limiter_metrics{});
        all[1].labels = std::move(labels);
        try {
            (void)to_prometheus(all);
        } catch (const error& e) {
            BOOST_TEST((e.code() == errc::invalid_argument));
            return e.reason();
        }
        return std::string{};
    };
    BOOST_TEST(reason_for({{"a", "1"}, {"B_2", "1"}, {"_c", "1"}}) == "");
    for (const auto* name : {"", "1a", "a-b", "a b", "__a", "\xc3\xa9", "a:b"})
        BOOST_TEST(reason_for({{"a", "1"}, {name, "1"}}) ==
                   "limiters[1].labels[1].name: not a name of a label (got \"" + std::string{name} +
                       "\", expected letters, digits and _, not beginning with a digit or __)");
    for (const auto* name : {"outcome", "source", "code", "state", "policy", "problem", "le"})
        BOOST_TEST(reason_for({{name, "1"}}) ==
                   "limiters[1].labels[0].name: the metrics use it themselves (got \"" +
                       std::string{name} + "\")");
    BOOST_TEST(reason_for({{"a", "1"}, {"b", "1"}, {"a", "2"}}) ==
               "limiters[1].labels[2].name: labels[0] has it, too (got \"a\")");
    for (const auto& same : {std::vector<metric_label>{}, std::vector<metric_label>{{"a", ""}}})
        BOOST_TEST(reason_for(same) == "limiters[1].labels: another element has the same (got {})");

    const auto valid = {"a\x7f",        "\xc2\x80",     "\xdf\xbf",         "\xe0\xa0\x80",
                        "\xed\x9f\xbf", "\xee\x80\x80", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"};
    for (const auto* value : valid)
        BOOST_TEST(reason_for({{"a", value}}) == "");
    const auto invalid = {"\x80",
                          "\xc1\xbf",
                          "\xc3",
                          "\xc3(",
                          "\xe0\x9f\xbf",
                          "\xe2\x82",
                          "\xed\xa0\x80",
                          "\xf0\x8f\xbf\xbf",
                          "\xf4\x90\x80\x80",
                          "\xf5\x80\x80\x80",
                          "\xf0\x90\x80",
                          "\xff",
                          "a\xe2(\xa1"};
    for (const auto* value : invalid)
        BOOST_TEST(reason_for({{"a", value}}) == "limiters[1].labels[0].value: not UTF-8");
}

BOOST_AUTO_TEST_CASE(a_source_reports_its_document_and_the_problem_that_lasts) {
    using enum policy_event_kind;
    auto m = policy_source_metrics{{{"name", "a"}}, {}};
    m.status.loads = 3;
    m.status.limiting_routes = 5;
    m.status.unlikely_routes = 2;
    m.status.since = std::chrono::system_clock::time_point{1'700'000'000'012'345us};
    auto p = parsed{to_prometheus(m)};
    BOOST_TEST(p.take("colimit_policies_loads_total{name=\"a\"}") == "3");
    BOOST_TEST(p.take("colimit_policies_loaded_timestamp_seconds{name=\"a\"}") ==
               "1700000000.012345");
    BOOST_TEST(p.take("colimit_policies_limiting_routes{name=\"a\"}") == "5");
    BOOST_TEST(p.take("colimit_policies_unlikely_routes{name=\"a\"}") == "2");
    for (const auto kind : {refused, older, unavailable, copy_failed})
        BOOST_TEST(p.take("colimit_policies_problem{name=\"a\",problem=\"" +
                          std::string{to_string(kind)} + "\"}") == "0");
    BOOST_TEST(p.samples.empty()); // the document has no version

    m.labels.clear();
    m.status.version = 7;
    for (const auto kind : {refused, older, unavailable}) {
        m.status.problem = policy_event{.kind = kind, .at = {}, .version = {}, .text = "x"};
        p = parsed{to_prometheus(m)};
        BOOST_TEST(p.take("colimit_policies_version") == "7");
        for (const auto other : {refused, older, unavailable})
            BOOST_TEST(p.take("colimit_policies_problem{problem=\"" +
                              std::string{to_string(other)} + "\"}") ==
                       (kind == other ? "1" : "0"));
        BOOST_TEST(p.take("colimit_policies_problem{problem=\"copy failed\"}") == "0");
    }
    m.status.copy_problem = policy_event{.kind = copy_failed, .at = {}, .version = {}, .text = "x"};
    BOOST_TEST(parsed{to_prometheus(m)}.take("colimit_policies_problem{problem=\"copy failed\"}") ==
               "1");
}

BOOST_AUTO_TEST_SUITE_END()
