// SPDX-License-Identifier: BSL-1.0
//
// Checks of the problems and events that a limiter reports.

#pragma once

#include <colimit/limiter.hpp>
#include <support/coroutine_run.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <string_view>
#include <vector>

namespace colimit::test {

[[nodiscard]] inline bool has(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

/// The last problem, or one that no test expects.
[[nodiscard]] inline problem last_of(const limiter& l) {
    return l.last_error().value_or(problem{.code = errc::closed, .text = "no problem at all"});
}

inline void check_last(const limiter& l, errc code, phase where, std::string_view part) {
    const auto p = last_of(l);
    BOOST_TEST((p.code == code), to_string(p));
    BOOST_TEST(p.phase == where, to_string(p));
    BOOST_TEST(has(p.text, part), to_string(p));
    BOOST_TEST((p.first <= p.last));
    BOOST_TEST(p.count >= 1U);
}

/// Returns whether a denial names SETRANGE: in the words of servers since 7.2, or in what the
/// handshake found.
[[nodiscard]] inline bool names_setrange(std::string_view text) {
    return has(text, "the 'setrange' command") ||
           has(text, "; commands denied in the handshake: SETRANGE");
}

/// Waits until a problem with this text has been reported.
inline asio::awaitable<void> until_reported(const limiter& l, std::string_view part) {
    co_await until([&] { return has(last_of(l).text, part); });
}

[[nodiscard]] inline int count(const std::vector<event>& all, event_kind kind) {
    return static_cast<int>(std::ranges::count(all, kind, &event::kind));
}

[[nodiscard]] inline const event& first(const std::vector<event>& all, event_kind kind) {
    const auto found = std::ranges::find(all, kind, &event::kind);
    BOOST_REQUIRE((found != all.end()));
    return *found;
}

} // namespace colimit::test
