// SPDX-License-Identifier: BSL-1.0
//
// Executes the actions of a connection's state machines, which make the decisions.

#include <redis/connection/connection.hpp>

#include <boost/asio/post.hpp>
#include <boost/assert.hpp>

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

namespace colimit::redis {
namespace {

/// If a server owes a reply and sends nothing for five timeouts, and at least this long, the
/// connection is replaced.
constexpr std::int64_t min_silence = 2'000'000;

/// The longest time for which a connection that is drained awaits its replies.
constexpr std::int64_t max_drain_time = 50'000;

} // namespace

connection::connection(const executor& own, detail::thread_lock& lock, connection_settings settings,
                       requests& calls, error_sink& problems, connection_user& user,
                       const std::weak_ptr<void>& life)
    : own_executor_(own), lock_(lock), log_(settings.log), requests_(calls), user_(user),
      life_(life), session_(std::move(settings.session)), breaker_(settings.breaker),
      stream_(own, std::move(settings.where), std::move(settings.tls), settings.tcp,
              std::move(settings.log)),
      problems_(problems, session_, stream_, next_address_, settings.names),
      may_move_(settings.may_move), timeout_(settings.timeout),
      decoder_(settings.long_bulks, settings.reply_bounds),
      liveness_({.silence_limit = std::max(5 * settings.timeout, min_silence),
                 .doubt_limit = std::max(settings.timeout, settings.ping_timeout),
                 .ping_interval = settings.ping_interval}),
      timer_(own, lock, [this] { on_time(); }), arrivals_(stream_) {
    session_.report_to(problems_);
    requests_.report_to(problems_);
}

health_state connection::state() const noexcept {
    if (session_.is_refused())
        return health_state::refused;
    if (breaker_.is_open())
        return health_state::degraded;
    return is_ready() ? health_state::ready : health_state::connecting;
}

void connection::open() {
    read_clock();
    session_.open(now_);
    set_timer();
}

void connection::close(bool now) noexcept {
    session_.close();
    timer_.clear();
    if (now)
        return stream_.shut_down();
    try {
        boost::asio::post(own_executor_, [to = life_.lock(), this] { stream_.shut_down(); });
    } catch (const std::bad_alloc&) { // the connection ends when the server or the context ends it
    }
}

void connection::perform(action what) {
    switch (what) {
    case action::nothing:
        return;
    case action::connect:
        is_plaintext_probed_ = false;
        if (next_address_) {
            stream_.set_address(*next_address_);
            breaker_.forget();
        }
        next_address_.reset();
        return stream_.connect(self(), detail::time_at(*session_.wake_at()));
    case action::send:
        return send_handshake();
    case action::serve:
        return serve();
    case action::disconnect:
        return disconnect();
    }
}

void connection::on_connect(std::uint64_t connection, error_code ec) {
    const std::lock_guard guard{lock_};
    if (!is_current(connection) || is_closed())
        return;
    read_clock();
    if (ec) {
        problems_.report_failure(ec);
        lose(ec);
        return user_.on_events();
    }
    log(log_level::debug, stream_.where().tls ? "connected over TLS" : "connected");
    handed_ = confirmed_ = 0;
    owes_handshake_ = false;
    in_.clear();
    decoder_.reset();
    liveness_.connected();
    session_.note_progress(now_);
    attempt([this] { perform(session_.connected()); });
    if (is_current(connection))
        attempt([this] { start_read(); });
    user_.on_events();
}

void connection::send_handshake() {
    // The reply to its first part may come before the completion of its write.
    owes_handshake_ = is_writing_;
    if (is_writing_)
        return;
    out_.clear();
    session_.append_handshake(out_);
    start_write();
}

void connection::serve() {
    ++connections_;
    is_serving_ = true;
    breaker_.on_handshake();
    stream_.keep_address();
    requests_.begin_connection(session_.facts());
    log(log_level::info, "ready",
        session_.facts().server_module == module_state::usable ? ", with the server module" : "");
    events_.ready = true;
}

void connection::lose(recovery why, errc error) {
    stream_.demote_address();
    perform(is_moving() ? session_.moved(now_) : session_.lost(now_, why, error));
}

void connection::lose(error_code why) {
    perform(is_moving() ? session_.moved(now_) : session_.lost(now_, why));
}

void connection::disconnect() {
    events_.lost = true;
    events_.was_ready = std::exchange(is_serving_, false) || events_.was_ready;
    stream_.close();
    is_writing_ = false;
    liveness_.disconnected();
    breaker_.lose_connection();
    if (!std::exchange(is_draining_, false))
        breaker_.on_failure(now_);
    requests_.lose_connection(handed_);
    log_disconnected();
    // Calls whose deadline is before the next attempt end now.
    (void)requests_.expire(session_.earliest_ready_at(), session_.error());
    set_timer();
}

void connection::move_to(address where) {
    BOOST_ASSERT(may_move_);
    if (is_closed())
        return;
    read_clock();
    next_address_ = std::move(where);
    if (session_.state() == session_state::idle) {
        session_.set_error(errc::unavailable);
        breaker_.forget(); // of the former server; calls come before the connection begins
        return open();
    }
    if (!is_draining_)
        start_draining(recovery::reconnect);
    if (!is_ready() || !owes_reply())
        finish_draining();
    set_timer();
}

void connection::suspend() {
    read_clock();
    is_draining_ = true; // its end says nothing about the server
    perform(session_.suspend());
    is_draining_ = false; // there was no connection
    set_timer();
}

void connection::await_address(errc why) {
    if (is_closed())
        return;
    session_.set_error(why);
    if (session_.is_refused())
        (void)requests_.expire(never, why);
    events_.lost = true;
    set_timer();
}

void connection::stop_counting() {
    counts_misses_ = false;
    breaker_.forget();
    if (is_closed())
        return;
    session_.set_error(errc::unavailable);
    set_timer();
}

/// Sends nothing more. The replies that the server owes are awaited for a moment, as calls whose
/// replies are lost have an unknown outcome.
void connection::start_draining(recovery why) {
    is_draining_ = true;
    drain_reason_ = why;
    drain_until_ = now_ + std::min(timeout_ / 4, max_drain_time);
}

void connection::finish_draining() {
    attempt([this] {
        if (!next_address_)
            return lose(drain_reason_);
        perform(session_.moved(now_));
        is_draining_ = false; // there was no connection
    });
}

void connection::flush() {
    if (!may_write())
        return;
    if (!breaker_.is_open() && !requests_.wants_to_write())
        return;
    read_clock();
    if (breaker_.is_open())
        return attempt([this] { probe(); });
    // Handlers may have run for a long time since the clock was read: a call whose deadline has
    // passed meanwhile is not sent.
    (void)requests_.expire_unsent(now_);
    attempt([this] {
        out_.clear();
        const auto is_first = !owes_reply();
        requests_.write(out_, handed_, now_);
        if (is_first && !out_.empty())
            liveness_.await_reply(now_);
        start_write();
    });
}

void connection::flush_last(bool now) noexcept {
    if (!may_write() || breaker_.is_open() || !requests_.wants_to_write())
        return;
    attempt([&] {
        out_.clear();
        requests_.write(out_, handed_, now_);
        if (now)
            return start_write();
        boost::asio::post(own_executor_, [to = life_.lock(), this] {
            const std::lock_guard guard{lock_};
            start_write();
        });
    });
}

void connection::start_write() {
    if (out_.empty())
        return;
    log(log_level::debug, "sending ", out_.size(), " bytes");
    stream_.write(self(), out_);
    is_writing_ = true;
    handed_ += out_.size();
    bytes_out_ += out_.size();
}

void connection::on_write(std::uint64_t connection, error_code ec, std::size_t bytes) {
    const std::lock_guard guard{lock_};
    if (!is_current(connection) || is_closed())
        return;
    is_writing_ = false;
    confirmed_ += bytes;
    if (ec) {
        read_clock();
        handed_ = confirmed_;
        problems_.report_loss(ec);
        lose(ec);
        return user_.on_events();
    }
    if (owes_handshake_)
        attempt([this] { send_handshake(); });
    user_.on_events();
}

void connection::on_read(std::uint64_t connection, error_code ec, std::size_t bytes) {
    const std::lock_guard guard{lock_};
    if (!is_current(connection) || is_closed())
        return;
    read_clock();
    if (ec) {
        problems_.report_loss(ec);
        lose(ec);
        return user_.on_events();
    }
    log(log_level::debug, "received ", bytes, " bytes");
    liveness_.on_data(now_);
    in_.commit(bytes);
    bytes_in_ += bytes;
    attempt([this] { read_replies(); });
    flush();
    if (is_current(connection))
        attempt([this] { start_read(); });
    user_.on_events();
}

/// Reads all complete replies, as long as the connection exists. If many calls wait, the first
/// reply makes room for a batch, which is sent at once: the server works on it while the other
/// replies are read and their handlers run.
void connection::read_replies() {
    using resp::progress;
    const auto connection = stream_.connection();
    for (auto bytes = in_.unread(); !bytes.empty(); bytes = in_.unread()) {
        const auto fed = decoder_.feed(bytes);
        if (fed == progress::malformed && !is_ready())
            return perform(session_.read_garbage(now_, bytes));
        if (fed == progress::malformed) {
            problems_.report_reply("a malformed reply");
            return lose(recovery::reconnect);
        }
        if (fed == progress::need_more) {
            // A string that is longer than any valid one is not kept.
            const auto dropped = in_.erase(decoder_.consumed(), decoder_.surplus());
            decoder_.cut(dropped);
            if (dropped == 0)
                return;
            continue;
        }
        const auto size = decoder_.consumed();
        if (!read_reply(bytes.substr(0, size)))
            return;
        in_.consume(size);
        decoder_.next();
        if (requests_.has_backlog() && !breaker_.is_open())
            flush();
        if (!is_current(connection))
            return;
    }
}

/// Returns false if the connection is lost afterwards.
bool connection::read_reply(std::string_view bytes) {
    if (!is_ready()) {
        const auto connection = stream_.connection();
        log(log_level::debug, session_.expected_reply(),
            resp::is_error(decoder_.first().kind) ? ": an error" : ": accepted");
        perform(session_.read_reply(decoder_, bytes, now_));
        if (!is_current(connection))
            return false;
        if (session_.state() == session_state::waiting)
            breaker_.on_failure(now_); // the server is loading its dataset
        return true;
    }
    if (decoder_.first().kind == resp::kind::push) {
        requests_.read_push(decoder_, bytes);
        return true;
    }
    const auto is_pong = liveness_.is_ping_owed() || breaker_.is_probing();
    const auto needs = is_pong ? read_pong(bytes) : read_answer(bytes);
    const auto may_wait = needs == recovery::leave_read_only || needs == recovery::leave_unloaded;
    if (!is_draining_ && may_wait && (may_move_ || needs == recovery::leave_unloaded))
        start_draining(needs);
    const auto is_usable = needs < recovery::reconnect;
    if (is_draining_ && (is_usable || may_wait)) {
        if (!owes_reply())
            finish_draining();
        return is_draining_;
    }
    if (is_usable)
        return true;
    const auto& first = decoder_.first();
    const auto is_refusal = first.kind == resp::kind::error &&
                            classify(decoder_.text(first, bytes)).code == errc::auth_failed;
    lose(needs, is_refusal ? errc::auth_failed : errc::unavailable);
    return false;
}

/// Reads the next reply to requests, and returns the recovery that it needs.
recovery connection::read_answer(std::string_view bytes) {
    const auto needs = requests_.read_reply(decoder_, bytes);
    if (!needs)
        problems_.report_reply("a reply that belongs to another request");
    // Not replies that only begin a transaction: a server that refuses writes replies OK to these.
    // A reply whose callers still wait came in time.
    if (needs == recovery::keep && requests_.has_ended()) {
        session_.served();
        breaker_.on_success();
        events_.answered = true;
    }
    if (needs == recovery::server_busy)
        breaker_.on_failure(now_);
    else if (breaker_.is_open())
        breaker_.on_late_reply(now_);
    return needs.value_or(recovery::reconnect);
}

} // namespace colimit::redis
