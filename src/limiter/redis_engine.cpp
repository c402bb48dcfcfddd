// SPDX-License-Identifier: BSL-1.0
//
// The shell around the state machines. It decides nothing that they can decide, so that it can be
// thin enough to be right by reading.

#include <async/soon.hpp>
#include <core/evaluate.hpp>
#include <limiter/kept_checks.hpp>
#include <limiter/redis_engine.hpp>
#include <limiter/redis_settings.hpp>
#include <limiter/reservation.hpp>

#include <boost/asio/post.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

namespace colimit::detail {
namespace {

/// What is read at once at least: a reply to a full batch is about 6 KiB.
constexpr std::size_t read_bytes = std::size_t{64} * 1024;

/// A server that owes a reply and says nothing for five timeouts, and at least this long, is not
/// worth waiting for on the same connection.
constexpr std::int64_t least_silence = 2'000'000;

/// Calls of one turn share a reading of the clock as long as that changes their deadlines by less
/// than this part of the timeout.
constexpr std::int64_t precision = 20;

} // namespace

redis_engine::redis_engine(const asio::any_io_executor& executor, const config& settings,
                           const redis::address& where)
    : engine(executor, settings), problems_(where.password, steady_now),
      events_(own_executor(), settings.on_event),
      silence_limit_(std::max(5 * in_us(settings.timeout), least_silence)),
      doubt_limit_(in_us(std::max(settings.timeout, limits::ping_timeout))),
      ping_interval_(in_us(settings.ping_interval)), fallback_(settings),
      session_(session_settings_of(settings, where)), breaker_(breaker_settings_of(settings)),
      calls_(make_queue(settings)),
      stream_(own_executor(), where, tls_context_of(settings, where), tcp_options_of(settings)),
      decoder_(long_bulks_of(settings)), in_(read_bytes),
      alarm_(own_executor(), lock(), [this] { on_time(); }),
      ticks_(in_us(settings.timeout) / precision) {
    session_.report_to(problems_);
    calls_->report_to(problems_);
    timeout_ = in_us(settings.timeout);
    if (settings.deny_cache != 0 && settings.mode == mode::script)
        denials_.emplace(settings.deny_cache, in_us(settings.deny_cache_max_age), steady_now);
}

redis::stream::listener redis_engine::self() {
    return {shared_from_this(), static_cast<redis::stream_events*>(this)};
}

void redis_engine::open() {
    engine::open();
    const std::lock_guard guard{lock()};
    now_ = steady_now();
    attempt([this] { obey(session_.start(now_)); });
    set_alarm();
}

// Calls

/// False when the call would wait in vain, and was told so.
bool redis_engine::begin_turn(operation& op) {
    schedule_turn();
    // An earlier handler of this turn may have run for long.
    const auto has_moved_on = ticks_.has_moved_on();
    if (!std::exchange(clock_is_read_, true) || has_moved_on)
        now_ = steady_now();
    op.deadline = now_ + timeout_;
    if (!breaker_.is_open() && session_.not_ready_before() < op.deadline)
        return true;
    complete(op, session_.trouble());
    return false;
}

void redis_engine::begin(operation& op, const call& c) {
    const auto may_be_denied = denials_ && !(*c.policy)->filter;
    const auto is_asked_for = may_be_denied || fallback_.keeps_key(op.asked.verb, **c.policy);
    const auto key = is_asked_for ? (*c.policy)->digest(c.key) : hash::digest{};
    if (may_be_denied && denials_->answer(op, key, **c.policy))
        return complete(op);
    fallback_.keep(op, key, *c.policy);
    if (!begin_turn(op))
        return;
    if (const auto ec = calls_->submit(op, c.key, *c.policy); ec)
        complete(op, ec);
    else if (calls_->is_full() && !lock().is_needed())
        pump();
}

void redis_engine::begin_together(operation& op) {
    fallback_.keep_checks(op, denials_.has_value());
    if (denials_)
        begin_checks(op);
    if (!begin_turn(op))
        return;
    if (const auto ec = calls_->submit_checks(op); ec)
        complete(op, ec);
}

void redis_engine::begin_checks(operation& op) noexcept {
    const auto kept = static_cast<kept_checks&>(*op.attached).all();
    for (std::size_t i = 0; i < kept.size(); ++i) {
        const auto& c = op.checks[i];
        kept[i].denied_at = denials_->begin_check(kept[i].key, *c.policy.data(), c.options);
    }
}

/// The deny cache hears of every call that was taken by the queue, however it ended.
void redis_engine::note_done() noexcept {
    for (const auto* op = calls_->done.front(); denials_ && op != nullptr; op = op->next) {
        if (op->checks.empty()) {
            denials_->note(*op, now_);
            continue;
        }
        const auto kept = static_cast<kept_checks&>(*op->attached).all();
        for (std::size_t i = 0; i < kept.size(); ++i)
            denials_->note_check(*op, op->checks[i], kept[i].denied_at, now_);
    }
}

operation_list& redis_engine::noted() {
    note_done();
    return calls_->done;
}

void redis_engine::begin_ready(operation& op) {
    if (session_.state() == redis::session_state::ready)
        return complete(op, {});
    if (session_.is_refused())
        return complete(op, session_.trouble());
    op.place = &ready_waiters_;
    ready_waiters_.push_back(op);
}

void redis_engine::withdraw(operation& op, error_code why) {
    if (op.place == &ready_waiters_) {
        ready_waiters_.remove(op);
        op.place = nullptr;
        return complete(op, why);
    }
    if (op.asked.verb == verb::reserve && calls_->is_sent(op) && leave_place_behind(op))
        return complete(op, why);
    calls_->withdraw(op, why);
    complete_all(noted());
}

namespace {

/// Who gets the answer to a reservation that was cancelled on its way, and gives the place back.
struct unwanted_place final : operation {
    unwanted_place(engine& e, const reservation& from, const question& q)
        : operation(e, &finish_call), place(from.key, from.policy) {
        asked = q;
    }

    static void finish_call(operation* base, bool invoke) {
        const auto self = std::unique_ptr<unwanted_place>{static_cast<unwanted_place*>(base)};
        if (invoke && !self->ec && self->result.allowed())
            self->owner->give_back(self->place, self->asked.cost, core::recovers_at(self->result));
    }

    reservation place;
};

} // namespace

bool redis_engine::leave_place_behind(operation& op) noexcept {
    try {
        auto heir = std::make_unique<unwanted_place>(*this, static_cast<reservation&>(*op.attached),
                                                     op.asked);
        heir->denied_at = op.denied_at;
        calls_->substitute(op, *heir.release());
        return true;
    } catch (const std::bad_alloc&) { // the place lapses
        return false;
    }
}

void redis_engine::shut(error_code why) {
    session_.close();
    alarm_.clear();
    close_stream();
    calls_->fail_all(why);
    complete_all(calls_->done);
    end_ready_waiters(why);
}

/// The socket belongs to the strand, if there is one.
void redis_engine::close_stream() noexcept {
    if (!lock().is_needed() || is_abandoned())
        return stream_.shut_down();
    try {
        asio::post(own_executor(), [to = shared_from_this(), this] { stream_.shut_down(); });
    } catch (const std::bad_alloc&) { // it ends when the server ends it, or the context
    }
}

void redis_engine::end_ready_waiters(error_code ec) {
    while (auto* op = ready_waiters_.pop_front()) {
        op->place = nullptr;
        complete(*op, ec);
    }
}

// Turns: what is asked in one turn of the loop leaves in one write. Only a full batch leaves at
// once, so that the server works on it while the callers fill the next one; otherwise all callers
// would wait for the server, and then it for all of them.

void redis_engine::schedule_turn() noexcept {
    if (std::exchange(turn_scheduled_, true))
        return;
    try {
        post_soon(own_executor(), turn_memory_, [to = shared_from_this(), this] { end_turn(); });
    } catch (const std::bad_alloc&) {
        turn_scheduled_ = false; // the next call tries again
    }
}

void redis_engine::end_turn() {
    const std::lock_guard guard{lock()};
    turn_scheduled_ = clock_is_read_ = false;
    pump();
    set_alarm();
}

/// What the handlers ask leaves when they have all run, without another round of the loop; threads
/// do not wait for each other's handlers.
void redis_engine::run_within_turn(operation_list& row) {
    if (lock().is_needed()) {
        complete_all(row);
        pump();
        return set_alarm();
    }
    const auto posted = std::exchange(turn_scheduled_, true);
    clock_is_read_ = false;
    try {
        run(std::move(row));
    } catch (...) {
        turn_scheduled_ = posted;
        schedule_turn();
        throw;
    }
    turn_scheduled_ = posted;
    clock_is_read_ = false;
    pump();
    set_alarm();
}

/// Handlers may have run for long since the clock was read: a call whose deadline has passed
/// meanwhile is not sent.
void redis_engine::pump() {
    if (writing_ || session_.state() != redis::session_state::ready)
        return;
    if (!breaker_.is_open() && !calls_->wants_to_write())
        return;
    now_ = steady_now();
    if (breaker_.is_open())
        return attempt([this] { probe(); });
    const auto is_reading = !calls_->done.empty(); // what is done is seen to by on_read then
    if (calls_->expire_unsent(now_) && !is_reading)
        complete_all(calls_->done);
    attempt([this] {
        out_.clear();
        const auto is_first = !owes_reply();
        calls_->write(out_, handed_, now_);
        if (is_first && !out_.empty())
            await_reply();
        start_write();
    });
}

void redis_engine::start_write() {
    if (out_.empty())
        return;
    stream_.write(self(), out_);
    writing_ = true;
    handed_ += out_.size();
    bytes_out_ += out_.size();
}

void redis_engine::on_write(std::uint64_t connection, error_code ec, std::size_t bytes) {
    const std::lock_guard guard{lock()};
    if (connection != stream_.connection() || is_closed())
        return;
    writing_ = false;
    confirmed_ += bytes;
    if (ec) {
        now_ = steady_now();
        handed_ = confirmed_;
        note_lost_connection(ec);
        return lose_connection(ec);
    }
    if (greeting_due_)
        attempt([this] { greet(); });
    pump();
    set_alarm();
}

// Replies

void redis_engine::start_read() {
    if (begin_ == end_)
        begin_ = end_ = 0;
    if (in_.size() - end_ < read_bytes / 2) {
        std::memmove(in_.data(), in_.data() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
    if (in_.size() - end_ < read_bytes / 2)
        in_.resize(2 * in_.size()); // at most twice the largest reply that the decoder accepts
    stream_.read_some(self(), {in_.data() + end_, in_.size() - end_});
}

void redis_engine::on_read(std::uint64_t connection, error_code ec, std::size_t bytes) {
    const std::lock_guard guard{lock()};
    if (connection != stream_.connection() || is_closed())
        return;
    now_ = steady_now();
    if (ec) {
        note_lost_connection(ec);
        return lose_connection(ec);
    }
    heard_ = now_;
    is_doubted_ = false;
    end_ += bytes;
    bytes_in_ += bytes;
    attempt([this] { read_replies(); });
    if (connection != stream_.connection())
        return;
    note_done();
    pump();
    if (connection == stream_.connection())
        attempt([this] { start_read(); });
    run_within_turn(calls_->done);
}

/// Reads all complete replies, as long as the connection is there. If many calls wait, the first
/// reply makes room for a batch, which leaves at once: the server works on it while the other
/// replies are read and their handlers run.
void redis_engine::read_replies() {
    const auto connection = stream_.connection();
    while (begin_ != end_) {
        const auto bytes = std::string_view{in_.data() + begin_, end_ - begin_};
        const auto progress = decoder_.feed(bytes);
        if (progress == redis::resp::progress::need_more && !drop_surplus())
            return;
        if (progress == redis::resp::progress::need_more)
            continue;
        if (progress == redis::resp::progress::malformed)
            return lose_to_malformed_reply(bytes);
        const auto size = decoder_.consumed();
        if (!read_reply(bytes.substr(0, size)))
            return;
        begin_ += size;
        decoder_.next();
        if (calls_->has_backlog() && !breaker_.is_open())
            pump();
        if (connection != stream_.connection())
            return;
    }
}

/// False when the connection is gone afterwards.
bool redis_engine::read_reply(std::string_view bytes) {
    if (session_.state() != redis::session_state::ready) {
        const auto connection = stream_.connection();
        obey(session_.read_reply(decoder_, bytes, now_));
        if (connection != stream_.connection())
            return false;
        if (session_.state() == redis::session_state::waiting)
            breaker_.miss(now_); // it is there and loads its data
        return true;
    }
    const auto needs = ping_is_owed_           ? end_ping(bytes)
                       : breaker_.is_probing() ? end_probe(bytes)
                                               : read_answer(bytes);
    if (needs < redis::remedy::reconnect)
        return true;
    const auto& first = decoder_.nodes().front();
    const auto is_refusal = first.kind == redis::resp::kind::error &&
                            redis::classify(decoder_.text(first, bytes)).code == errc::auth_failed;
    lose_connection(needs, is_refusal ? errc::auth_failed : errc::unavailable);
    return false;
}

} // namespace colimit::detail
