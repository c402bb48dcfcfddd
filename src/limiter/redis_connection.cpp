// SPDX-License-Identifier: BSL-1.0
//
// The shell around the state machines, second part: what the session wants done with the
// connection, and the one timer.

#include <async/soon.hpp>
#include <limiter/redis_engine.hpp>
#include <limiter/redis_settings.hpp>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

namespace colimit::detail {
namespace {

/// Looks for what has arrived before something that is due happens. A look reads up to 64 KiB, so
/// this covers every reply that a full limiter may have missed; and a server that sends without end
/// cannot keep calls from their deadlines.
constexpr int most_looks = 256;

} // namespace

// The connection

void redis_engine::obey(redis::action what) {
    switch (what) {
    case redis::action::nothing:
        return;
    case redis::action::connect:
        silence_checked_ = false;
        return stream_.connect(self(), time_at(*session_.wake_at()));
    case redis::action::send:
        return greet();
    case redis::action::serve:
        return serve();
    case redis::action::disconnect:
        return disconnect();
    }
}

void redis_engine::on_connect(std::uint64_t connection, error_code ec) {
    const std::lock_guard guard{lock()};
    if (connection != stream_.connection() || is_closed())
        return;
    now_ = steady_now();
    if (ec) {
        note_connect_failure(ec);
        return lose_connection(ec);
    }
    handed_ = confirmed_ = 0;
    greeting_due_ = false;
    begin_ = end_ = 0;
    decoder_.reset();
    may_ping_ = true;
    session_.came_further(now_);
    attempt([this] { obey(session_.connected()); });
    if (connection == stream_.connection())
        attempt([this] { start_read(); });
    set_alarm();
}

void redis_engine::greet() {
    // The answer to a first greeting may come before the news that it was sent.
    greeting_due_ = writing_;
    if (writing_)
        return;
    out_.clear();
    session_.greeting(out_);
    start_write();
}

void redis_engine::serve() {
    ++served_;
    problems_.name_denied(session_.denied_commands());
    problems_.note_permitted(0);
    is_serving_ = true;
    send_event(event_kind::connected);
    breaker_.greeted();
    stream_.keep_address();
    calls_->begin_connection(session_.facts());
    end_ready_waiters({});
    pump();
}

void redis_engine::lose_connection(redis::remedy why, errc trouble) {
    stream_.leave_address();
    obey(session_.lost(now_, why, trouble));
}

void redis_engine::lose_connection(error_code why) {
    obey(session_.lost(now_, why));
}

void redis_engine::disconnect() {
    stream_.close();
    if (std::exchange(is_serving_, false))
        send_event(event_kind::disconnected, [this] { return problems_.last(); });
    writing_ = ping_is_owed_ = is_doubted_ = false;
    breaker_.lose_connection();
    breaker_.miss(now_);
    calls_->lose_connection(handed_);
    // Who would wait in vain for the next attempt is told now.
    calls_->expire(session_.not_ready_before(), session_.trouble());
    complete_all(noted());
    if (session_.is_refused())
        end_ready_waiters(session_.trouble());
    set_alarm();
}

// Time

std::int64_t redis_engine::silence_ends() const noexcept {
    if (!owes_reply())
        return no_time;
    return heard_ + (is_doubted_ ? doubt_limit_ : silence_limit_);
}

std::int64_t redis_engine::next_event() const noexcept {
    return std::min({calls_->next_deadline().value_or(no_time),
                     session_.wake_at().value_or(no_time), silence_ends(), probe_due(),
                     breaker_.probe_late_at().value_or(no_time), ping_due(), provoke_at(),
                     event_due()});
}

void redis_engine::set_alarm() noexcept {
    if (is_closed() || is_looking_)
        return;
    track_state();
    if (events_)
        send_events();
    const auto at = next_event();
    if (at != no_time && !alarm_.rings_by(at))
        alarm_.set(at, shared_from_this());
}

/// A reply is not missing because this process was too busy to read it. So what has arrived is read
/// before a deadline ends a call, or the connection.
void redis_engine::on_time() {
    const std::lock_guard guard{lock()};
    if (is_closed() || is_looking_)
        return;
    if (next_event() > steady_now())
        return set_alarm();
    is_looking_ = true;
    looks_ = quiet_looks_ = 0;
    look_again();
}

void redis_engine::look_again() {
    seen_completions_ = stream_.completions();
    try {
        post_soon(own_executor(), look_memory_, [to = shared_from_this(), this] { look(); });
    } catch (const std::bad_alloc&) { // only a strand takes memory of its own
        act_on_time();
    }
}

/// One iteration of the event loop later. What had been received when the last look was posted has
/// ended an operation since, or can be read now, or waits as a handler behind this one and ends an
/// operation before the next look. So two looks that find nothing have seen everything.
void redis_engine::look() {
    const std::lock_guard guard{lock()};
    if (is_closed())
        return;
    const auto is_quiet = stream_.completions() == seen_completions_ && !stream_.has_unread();
    quiet_looks_ = is_quiet ? quiet_looks_ + 1 : 0;
    if (quiet_looks_ < 2 && ++looks_ < most_looks)
        return look_again();
    act_on_time();
}

/// Whether calls that expired now are a miss of the server. A call that this process itself sent
/// late, or not at all, says nothing about the server.
bool redis_engine::is_server_late() const noexcept {
    if (session_.state() != redis::session_state::ready)
        return true;
    return calls_->expects_reply() && now_ - calls_->oldest_sent_at() >= timeout_ / 2;
}

void redis_engine::act_on_time() {
    is_looking_ = false;
    now_ = steady_now();
    const auto is_ready = session_.state() == redis::session_state::ready;
    calls_->expire(now_, is_ready ? errc::deadline_exceeded : session_.trouble());
    if (!calls_->done.empty() && is_server_late()) {
        if (is_ready)
            note_timeout("the server did not reply within config::timeout");
        breaker_.miss(now_);
    }
    if (now_ >= breaker_.probe_late_at().value_or(no_time))
        breaker_.miss_probe();
    if (session_.is_too_late(now_))
        note_late_connection();
    if (now_ >= provoke_at())
        attempt([this] { check_silence(); });
    attempt([this] { obey(session_.wake(now_)); });
    if (now_ >= silence_ends()) {
        note_timeout("the server is silent although it owes replies; the connection was closed");
        lose_connection(redis::remedy::reconnect);
    }
    if (now_ >= ping_due())
        attempt([this] { ping(); });
    run_within_turn(noted());
}

/// Takes what has arrived of a string that is longer than any that a reply may have out of the
/// buffer. Returns false if there is nothing of it.
bool redis_engine::drop_surplus() noexcept {
    const auto at = begin_ + decoder_.consumed();
    const auto count = std::min(decoder_.surplus(), end_ - at);
    std::memmove(in_.data() + at, in_.data() + at + count, end_ - at - count);
    end_ -= count;
    decoder_.cut(count);
    return count != 0;
}

} // namespace colimit::detail
