// SPDX-License-Identifier: BSL-1.0
//
// Second part of a connection: its timing. PING, deadlines, silence, and their one timer.

#include <async/post_preallocated.hpp>
#include <redis/connection/connection.hpp>

#include <algorithm>
#include <mutex>
#include <new>

namespace colimit::redis {

// PING. It is sent when no reply is outstanding, and as a probe of the breaker nothing is sent
// after it until it is answered: so the next reply is its own.

bool connection::owes_reply() const noexcept {
    return requests_.expects_reply() || liveness_.is_ping_owed() || breaker_.is_probing();
}

bool connection::is_idle() const noexcept {
    return is_ready() && !is_writing_ && !is_draining_ && !owes_reply();
}

/// Probes the server, if that is due and no reply is outstanding, which would be a probe itself.
void connection::probe() {
    if (probe_due() > now_)
        return;
    breaker_.begin_probe(now_);
    liveness_.on_data(now_);
    send_ping();
}

void connection::send_ping() {
    log(log_level::debug, "PING");
    out_.clear();
    resp::append_command(out_, {"PING"});
    start_write();
}

/// Reads the reply to PING. A busy server is alive, but cannot serve calls. An error reply that
/// denies only PING, because of the user's permissions or the configuration, counts like PONG, but
/// an idle connection is not checked again.
recovery connection::read_pong(std::string_view bytes) {
    const auto& first = decoder_.first();
    const auto is_error = first.kind == resp::kind::error;
    const auto text = is_error ? decoder_.text(first, bytes) : std::string_view{};
    const auto meaning = is_error ? classify(text) : reply_error{{}, recovery::keep};
    const auto is_well = meaning.recovery == recovery::keep;
    if (liveness_.is_ping_owed()) {
        liveness_.end_ping(!is_error || !is_well);
        if (!is_error)
            breaker_.on_success();
    } else {
        breaker_.end_probe(is_well, now_);
    }
    if (!is_well)
        problems_.report_error(meaning.code, text);
    return meaning.recovery;
}

std::int64_t connection::silence_ends() const noexcept {
    return owes_reply() ? liveness_.silence_ends() : never;
}

std::int64_t connection::probe_due() const noexcept {
    return is_idle() ? breaker_.probe_at().value_or(never) : never;
}

std::int64_t connection::ping_due() const noexcept {
    return is_idle() && !breaker_.is_open() ? liveness_.ping_due() : never;
}

/// Returns when to test whether a server at a `rediss://` address is silent for lack of TLS.
std::int64_t connection::plaintext_probe_due() const noexcept {
    const auto may_probe = session_.state() == session_state::connecting && stream_.where().tls &&
                           !is_plaintext_probed_;
    return may_probe ? session_.plaintext_probe_at() : never;
}

std::int64_t connection::next_event() const noexcept {
    return std::min({requests_.next_deadline().value_or(never), session_.wake_at().value_or(never),
                     silence_ends(), probe_due(), breaker_.probe_late_at().value_or(never),
                     ping_due(), plaintext_probe_due(), is_draining_ ? drain_until_ : never,
                     user_event_});
}

void connection::log_disconnected() const noexcept {
    if (const auto at = session_.wake_at())
        log(log_level::info, "no connection; the next attempt comes in ", (*at - now_) / 1000,
            " ms");
}

void connection::log_breaker() noexcept {
    is_breaker_logged_ = breaker_.is_open();
    log(log_level::info, is_breaker_logged_ ? "circuit breaker open" : "circuit breaker closed");
}

void connection::wait(std::int64_t also_at) noexcept {
    user_event_ = also_at;
    set_timer();
}

void connection::set_timer() noexcept {
    if (breaker_.is_open() != is_breaker_logged_)
        log_breaker();
    if (is_closed() || arrivals_.is_running())
        return;
    const auto at = next_event();
    if (at != never && !timer_.expires_by(at))
        timer_.set(at, life_.lock());
}

void connection::on_time() {
    const std::lock_guard guard{lock_};
    if (is_closed() || arrivals_.is_running())
        return;
    if (next_event() > detail::steady_now())
        return set_timer();
    arrivals_.begin();
    check_arrivals_later();
}

void connection::check_arrivals_later() {
    try {
        detail::post_preallocated(own_executor_, check_memory_,
                                  [to = life_.lock(), this] { check_arrivals(); });
    } catch (const std::bad_alloc&) { // only a strand allocates memory
        act_on_time();
    }
}

void connection::check_arrivals() {
    const std::lock_guard guard{lock_};
    if (is_closed())
        return;
    if (arrivals_.check())
        return check_arrivals_later();
    act_on_time();
}

/// Returns whether calls that expired now are a miss of the server. A call that this process sent
/// late, or not at all, says nothing about the server.
bool connection::is_server_late() const noexcept {
    if (!is_ready())
        return true;
    return requests_.expects_reply() && now_ - requests_.oldest_sent_at() >= timeout_ / 2;
}

void connection::act_on_time() {
    arrivals_.end();
    read_clock();
    const auto unsent = is_ready() ? errc::deadline_exceeded : session_.error();
    if (requests_.expire(now_, unsent) && is_server_late()) {
        if (is_ready())
            problems_.report_reply("the server did not reply within config::timeout");
        if (counts_misses_)
            breaker_.on_failure(now_);
    }
    if (now_ >= breaker_.probe_late_at().value_or(never))
        breaker_.miss_probe();
    if (session_.is_too_late(now_))
        problems_.report_late();
    if (now_ >= plaintext_probe_due())
        attempt([this] {
            is_plaintext_probed_ = true;
            stream_.send_plaintext_probe(self());
        });
    attempt([this] { perform(session_.wake(now_)); });
    if (now_ >= silence_ends()) {
        problems_.report_reply(
            "the server is silent although it owes replies; the connection was closed");
        lose(recovery::reconnect);
    }
    if (is_draining_ && now_ >= drain_until_)
        finish_draining();
    if (now_ >= ping_due())
        attempt([this] {
            liveness_.begin_ping(now_);
            send_ping();
        });
    user_.on_events();
}

} // namespace colimit::redis
