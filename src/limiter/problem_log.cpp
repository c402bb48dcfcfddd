// SPDX-License-Identifier: BSL-1.0
//
// How problems are recorded.

#include <limiter/problem_log.hpp>

namespace colimit::detail {
namespace {

constexpr auto npos = std::string_view::npos;
constexpr std::string_view list_begins = "; commands denied in the handshake: ";

/// Returns whether a command or a key was denied, rather than a password.
[[nodiscard]] bool is_denial(const redis::error_report& what) noexcept {
    return what.code == errc::auth_failed && !what.is_own &&
           (what.phase == phase::script || what.text.find("NOPERM") != npos);
}

void append_name(problem_text& out, const redis::named_server& server) noexcept {
    append_whole(out, server.is_sentinel ? "Sentinel " : "node ");
    if (server.port == 0) {
        append_whole(out, server.host);
    } else {
        const auto is_ipv6 = server.host.find(':') != npos;
        append_whole(out, is_ipv6 ? "[" : "");
        append_whole(out, server.host);
        append_whole(out, is_ipv6 ? "]:" : ":");
        append_whole(out, std::to_string(server.port));
    }
    append_whole(out, ": ");
}

} // namespace

/// The list of commands is kept complete: the server's message is shortened instead.
void problem_log::note(const redis::error_report& what) noexcept {
    using enum text_filter::origin;
    const auto now = problem_record::clock::now();
    auto made = problem_record{what.code, what.phase, {}, now, now, 1};
    auto& text = made.text;
    if (what.server != nullptr)
        append_name(text, *what.server);
    const auto filter = text_filter{what.password.value_or(password_)};
    const auto is_helper = what.server != nullptr && what.server->is_sentinel;
    // Redis before 7.2 does not say which command a script was not allowed to run.
    const auto is_unnamed =
        !what.is_own && !denied_.empty() && what.text.find("can't run this command") != npos;
    const auto is_quote = !what.received.empty();
    filter.append(text, what.text, what.is_own || is_quote ? own : words,
                  is_unnamed ? list_begins.size() + denied_.size() : 0);
    if (is_unnamed && append_whole(text, list_begins))
        filter.append(text, denied_, own);
    if (!what.detail.empty() && append_whole(text, " "))
        filter.append(text, what.detail, own);
    if (is_quote && append_whole(text, " "))
        filter.append(text, what.received, received);

    if (!is_helper)
        state_ = server_state::failed;
    auto& last = is_helper ? of_helpers_ : of_server_;
    last.at = clock_();
    if (last.what.count != 0 && last.what.is_same(made)) {
        last.what.repeat(now);
    } else {
        last.what = made;
        log_.write(log_level::warning, to_string(made.phase), ": ",
                   std::string_view{made.text.data(), made.text.size()});
    }
    if (is_denial(what))
        denials_.note(made, what.policy, last.at);
}

std::optional<problem> problem_log::last() const {
    const auto is_helper_last = of_helpers_.at > of_server_.at;
    return state_ != server_state::failed && is_helper_last ? of_helpers_.as_problem()
                                                            : of_server_.as_problem();
}

std::optional<problem> problem_log::unsolved() const {
    return state_ == server_state::failed ? of_server_.as_problem() : std::nullopt;
}

} // namespace colimit::detail
