// SPDX-License-Identifier: BSL-1.0
//
// The names of enumerators are those that the headers document.

#include <colimit/decision.hpp>
#include <colimit/diagnostics.hpp>
#include <colimit/failure_mode.hpp>
#include <colimit/rule.hpp>
#include <colimit/storage.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <initializer_list>
#include <string_view>
#include <utility>

BOOST_AUTO_TEST_SUITE(names)

namespace {

using namespace colimit;

template<class Enum>
void check_names(std::initializer_list<std::pair<Enum, std::string_view>> all) {
    for (const auto& [value, name] : all)
        BOOST_TEST(to_string(value) == name);
}

} // namespace

BOOST_AUTO_TEST_CASE(each_enumerator_has_its_own) {
    check_names<phase>({{phase::resolve, "resolve"},
                        {phase::connect, "connect"},
                        {phase::tls, "TLS"},
                        {phase::handshake, "handshake"},
                        {phase::script, "script"},
                        {phase::reply, "reply"}});
    check_names<health_state>({{health_state::connecting, "connecting"},
                               {health_state::ready, "ready"},
                               {health_state::degraded, "degraded"},
                               {health_state::refused, "refused"},
                               {health_state::closed, "closed"}});
    check_names<event_kind>({{event_kind::connected, "connected"},
                             {event_kind::disconnected, "disconnected"},
                             {event_kind::breaker_opened, "breaker opened"},
                             {event_kind::breaker_closed, "breaker closed"},
                             {event_kind::fallback_started, "fallback started"},
                             {event_kind::fallback_ended, "fallback ended"},
                             {event_kind::script_loaded, "script loaded"},
                             {event_kind::permission_denied, "permission denied"},
                             {event_kind::filter_over_capacity, "filter over capacity"}});
    check_names<outcome>({{outcome::allowed, "allowed"},
                          {outcome::denied, "denied"},
                          {outcome::never, "never"},
                          {outcome{99}, "?"}});
    check_names<decision_source>({{decision_source::store, "store"},
                                  {decision_source::deny_cache, "deny_cache"},
                                  {decision_source::lease, "lease"},
                                  {decision_source::fallback, "fallback"},
                                  {decision_source::fail_open, "fail_open"},
                                  {decision_source::fail_closed, "fail_closed"}});
    check_names<denial_reason>({{denial_reason::rule, "rule"},
                                {denial_reason::duplicate, "duplicate"},
                                {denial_reason::block, "block"}});
    check_names<failure_mode>({{failure_mode::local, "local"},
                               {failure_mode::allow, "allow"},
                               {failure_mode::deny, "deny"},
                               {failure_mode::error, "error"}});
    check_names<storage>({{storage::per_key, "per_key"}, {storage::shared_hash, "shared_hash"}});
    check_names<calendar_unit>({{calendar_unit::day, "day"},
                                {calendar_unit::week, "week"},
                                {calendar_unit::month, "month"},
                                {calendar_unit::year, "year"}});
}

BOOST_AUTO_TEST_CASE(seconds_to_retry_are_rounded_up) {
    using namespace std::chrono_literals;
    const auto seconds = [](std::chrono::microseconds retry) {
        auto d = decision{};
        d.retry_after = retry;
        return d.retry_after_seconds();
    };
    BOOST_TEST(seconds(0us) == 0);
    BOOST_TEST(seconds(1us) == 1);
    BOOST_TEST(seconds(1s) == 1);
    BOOST_TEST(seconds(1s + 1us) == 2);
    BOOST_TEST(seconds(never_again) == 9'223'372'036'855);
}

BOOST_AUTO_TEST_SUITE_END()
