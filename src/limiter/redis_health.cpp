// SPDX-License-Identifier: BSL-1.0
//
// What the engine tells its breaker, and the probes that it sends for it. A probe is a PING with
// nothing before it that is owed a reply and nothing after it until it is answered, so the next
// reply is its own.

#include <limiter/redis_engine.hpp>

#include <string_view>

namespace colimit::detail {
namespace {

/// Microseconds after which a silent connection is no longer known to be alive.
constexpr std::int64_t doubtful_idleness = 500'000;

} // namespace

/// The next reply to calls, and what it asks for.
redis::remedy redis_engine::read_answer(std::string_view bytes) {
    const auto needs = calls_->read_reply(decoder_, bytes);
    if (!needs)
        note_timeout("a reply that belongs to another request");
    // Not what only begins a transaction: a server that refuses its writes says OK to that.
    if (needs == redis::remedy::keep && !calls_->done.empty()) { // in time, as it found its callers
        session_.served();
        breaker_.hit();
        if (!calls_->done.front()->ec) {
            decided_at_ = now_;
            falling_back_.note_server();
        }
    }
    if (needs == redis::remedy::hold_off)
        breaker_.miss(now_);
    if (breaker_.is_open())
        breaker_.heard(now_);
    return needs.value_or(redis::remedy::reconnect);
}

/// Asks a server that is not asked otherwise how it is, if that is due.
void redis_engine::probe() {
    if (probe_due() > now_)
        return;
    breaker_.begin_probe(now_);
    heard_ = now_;
    is_doubted_ = false;
    out_.clear();
    redis::resp::append_command(out_, {"PING"});
    start_write();
}

/// The reply to a probe. A server that is busy with itself is alive, but not well. One that refuses
/// PING alone, as its user or its configuration says, has answered as well as by PONG.
redis::remedy redis_engine::end_probe(std::string_view bytes) {
    const auto& first = decoder_.nodes().front();
    if (first.kind == redis::resp::kind::push)
        return redis::remedy::keep;
    const auto is_error = first.kind == redis::resp::kind::error;
    const auto text = is_error ? decoder_.text(first, bytes) : std::string_view{};
    const auto meaning =
        is_error ? redis::classify(text) : redis::reply_error{{}, redis::remedy::keep};
    const auto is_well = meaning.remedy == redis::remedy::keep;
    breaker_.end_probe(is_well, now_);
    if (!is_well)
        problems_.note({meaning.code, phase::reply, text});
    return meaning.remedy;
}

/// A server that owes replies needs no probe: when they come, they are one.
std::int64_t redis_engine::probe_due() const noexcept {
    const auto may_probe =
        session_.state() == redis::session_state::ready && !writing_ && !owes_reply();
    return may_probe ? breaker_.probe_at().value_or(no_time) : no_time;
}

bool redis_engine::owes_reply() const noexcept {
    return calls_->expects_reply() || ping_is_owed_ || breaker_.is_probing();
}

/// The server begins to owe a reply. A connection that was idle before may have been dropped
/// silently, so the server has less time to prove the contrary.
void redis_engine::await_reply() noexcept {
    is_doubted_ = now_ - heard_ >= doubtful_idleness;
    heard_ = now_;
}

/// Checks an idle connection. Calls that come meanwhile are sent behind the PING; nothing was owed
/// before it, so the next reply is its own.
void redis_engine::ping() {
    heard_ = now_;
    is_doubted_ = ping_is_owed_ = true;
    out_.clear();
    redis::resp::append_command(out_, {"PING"});
    start_write();
}

redis::remedy redis_engine::end_ping(std::string_view bytes) {
    const auto& first = decoder_.nodes().front();
    if (first.kind == redis::resp::kind::push)
        return redis::remedy::keep;
    ping_is_owed_ = false;
    if (first.kind != redis::resp::kind::error) {
        breaker_.hit();
        return redis::remedy::keep;
    }
    const auto text = decoder_.text(first, bytes);
    const auto meaning = redis::classify(text);
    may_ping_ = meaning.remedy != redis::remedy::keep; // PING alone is refused
    if (may_ping_)
        problems_.note({meaning.code, phase::reply, text});
    return meaning.remedy;
}

std::int64_t redis_engine::ping_due() const noexcept {
    const auto is_idle = session_.state() == redis::session_state::ready && !writing_ &&
                         !owes_reply() && !breaker_.is_open();
    return is_idle && may_ping_ && ping_interval_ != 0 ? heard_ + ping_interval_ : no_time;
}

} // namespace colimit::detail
