// SPDX-License-Identifier: BSL-1.0
//
// How problems are recorded.

#include <limiter/problem_log.hpp>

namespace colimit::detail {
namespace {

constexpr auto npos = std::string_view::npos;
constexpr std::string_view list_begins = "; commands denied in the handshake: ";

[[nodiscard]] problem_record record_of(errc code, phase where) noexcept {
    const auto now = problem_record::clock::now();
    return {.code = code, .phase = where, .text = {}, .first = now, .last = now, .count = 1};
}

/// Returns whether a command or a key was denied, rather than a password.
[[nodiscard]] bool is_denial(const redis::error_report& what) noexcept {
    return what.code == errc::auth_failed &&
           (what.phase == phase::script || what.text.find("NOPERM") != npos);
}

/// A name that does not fit is omitted.
void append_name(problem_text& out, std::string_view name) noexcept {
    if (!name.empty() && out.append(name))
        (void)out.append(": ");
}

} // namespace

std::int64_t problem_log::record(const problem_record& made, bool is_of_helper) noexcept {
    if (!is_of_helper)
        state_ = server_state::failed;
    auto& [what, at] = is_of_helper ? of_helpers_ : of_server_;
    at = clock_();
    if (what.count != 0 && what.is_same(made))
        what.repeat(made.last);
    else
        what = made;
    return at;
}

/// The list of commands is kept complete: the server's message is shortened instead.
void problem_log::note(const redis::error_report& what, const text_filter& filter,
                       const source& of) noexcept {
    auto made = record_of(what.code, what.phase);
    append_name(made.text, of.name);
    // Redis before 7.2 does not say which command a script was not allowed to run.
    const auto is_quote = !what.received.empty();
    const auto is_unnamed = what.text.find("can't run this command") != npos && !denied_.empty();
    const auto list = is_unnamed ? list_begins.size() + denied_.size() : 0;
    auto& text = made.text;
    const auto room = text.room() > list ? text.room() - list : 0;
    is_quote ? filter.append_own(text, what.text, room)
             : filter.append_words(text, what.text, room);
    if (is_unnamed && text.append(list_begins))
        filter.append_own(text, denied_, text.room());
    if (is_quote && text.append(" "))
        filter.append_received(text, what.received, text.room());
    const auto at = record(made, of.is_helper);
    if (is_denial(what))
        denials_.note(made, what.policy, at);
}

void problem_log::note_own(errc code, phase where, std::string_view text, std::string_view detail,
                           const text_filter& filter, const source& of) noexcept {
    auto made = record_of(code, where);
    append_name(made.text, of.name);
    filter.append_own(made.text, text, made.text.room());
    if (!detail.empty() && made.text.append(" "))
        filter.append_own(made.text, detail, made.text.room());
    record(made, of.is_helper);
}

std::optional<problem> problem_log::entry::as_problem() const {
    if (what.count == 0)
        return std::nullopt;
    return what.as_problem();
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
