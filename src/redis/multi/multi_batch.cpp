// SPDX-License-Identifier: BSL-1.0
//
// Writes a batch of transactions, and reads its replies.

#include <base/bytes.hpp>
#include <core/verb_traits.hpp>
#include <redis/multi/log_commands.hpp>
#include <redis/multi/multi_batch.hpp>
#include <redis/protocol/key.hpp>
#include <redis/protocol/known_replies.hpp>

#include <algorithm>
#include <utility>

namespace colimit::redis {
namespace {

/// The largest number of events per write, unless a single call has more: as many as keep a server
/// busy for a millisecond.
constexpr std::size_t events_per_write = 1024;

/// The usual size of a key's whole name: a longer one costs an allocation, once.
constexpr std::size_t usual_name_bytes = 128;

[[nodiscard]] bool is_error(const resp::decoder& reply) noexcept {
    return resp::is_error(reply.first().kind);
}

[[nodiscard]] reply_error error_in(const resp::decoder& reply, std::string_view bytes) noexcept {
    return classify(reply.text(reply.first(), bytes));
}

} // namespace

multi_batch::multi_batch(std::size_t most_calls, key_tags tags, bool is_lasting)
    : tags_(tags), most_calls_(most_calls) {
    if (!is_lasting)
        return;
    calls_.reserve(most_calls_);
    keys_.reserve(most_calls_ * usual_name_bytes);
}

void multi_batch::start(std::uint64_t nonce) {
    nonce_ = nonce;
    keys_.clear();
    calls_.clear();
    events_ = live_ = 0;
    encoded = has_refused_ = false;
}

bool multi_batch::takes_calls() const noexcept {
    return !encoded && calls_.size() < most_calls_ && events_ < events_per_write;
}

void multi_batch::add(detail::operation& op, std::string_view prefix, std::string_view key,
                      const policy_pointer& policy) {
    BOOST_ASSERT(takes_calls());
    const auto begin = keys_.size();
    const auto family_at = append_key(keys_, policy->prefix(prefix), policy->name, key, tags_);
    const auto tokens = tokens_of(policy->compiled, op.request);
    calls_.push_back({.op = nullptr,
                      .request = op.request,
                      .policy = policy,
                      .key_offset = begin,
                      .key_size = keys_.size() - begin,
                      .family_at = family_at,
                      .tokens = tokens});
    if (policy->compiled.has_log)
        events_ += static_cast<std::size_t>(tokens);
    hold(op, static_cast<std::uint32_t>(calls_.size() - 1));
}

void multi_batch::drop(std::uint32_t index) noexcept {
    auto& c = calls_[index];
    c.op = nullptr;
    c.withdrawn = !encoded;
    --live_;
}

void multi_batch::take_back() noexcept {
    encoded = false;
    for (auto& c : calls_)
        c.withdrawn = c.op == nullptr;
}

transaction_call multi_batch::view_of(const multi_call& c,
                                      const multi_context& with) const noexcept {
    const auto name = std::string_view{keys_}.substr(c.key_offset, c.key_size);
    return {.policy = *c.policy,
            .request = c.request,
            .key = {name.substr(0, c.family_at), name.substr(c.family_at)},
            .earliest = c.earliest,
            .latest = c.latest,
            .origin = with.origin,
            .member = c.member,
            .tokens = c.tokens,
            .grace = with.grace,
            .min_ttl = with.least_ttl};
}

void multi_batch::encode_call(std::string& out, multi_call& c, multi_context& with) {
    const auto own = c.request.now != detail::store_clock;
    c.earliest = own ? c.request.now : with.clock.earliest(with.here);
    c.latest = own ? c.request.now : with.clock.latest(with.here);
    c.member = with.member;
    const auto call = view_of(c, with);
    with.member += static_cast<std::uint64_t>(events_of(call));
    resp::append_command(out, {"MULTI"});
    c.commands = static_cast<std::uint32_t>(append_transaction(out, call));
    resp::append_command(out, {"EXEC"});
}

void multi_batch::encode(std::string& out, multi_context& with) {
    encoded = true;
    has_nonce_ = has_refused_ = false;
    now_.reset();
    progress_ = {};
    worst_ = recovery::keep;
    head_ = 2;
    resp::append_command(out, {"ECHO", detail::decimal{nonce_}});
    resp::append_command(out, {"TIME"});
    for (auto& c : calls_)
        if (!c.withdrawn)
            encode_call(out, c, with);
    current_ = 0;
    skip_withdrawn();
}

void multi_batch::encode_cleanup(std::string& out, multi_context& with) {
    encoded = true;
    current_ = 0;
    worst_ = recovery::keep;
    out.append(with.log_cleanup.bytes).append(with.window_cleanup.bytes);
    head_ = with.log_cleanup.replies + with.window_cleanup.replies;
    with.log_cleanup.clear();
    with.window_cleanup.clear();
}

void multi_batch::skip_withdrawn() noexcept {
    while (current_ < calls_.size() && calls_[current_].withdrawn)
        ++current_;
}

/// Returns false if the reply belongs to another batch.
bool multi_batch::read_head(const resp::decoder& reply, std::string_view bytes,
                            multi_context& with) {
    --head_;
    if (is_error(reply)) {
        worst_ = std::max(worst_, error_in(reply, bytes).recovery);
        return true;
    }
    if (calls_.empty()) // a reply to a cleanup command
        return true;
    if (head_ == 1) {
        has_nonce_ = reply.text(reply.first(), bytes) == std::string_view{detail::decimal{nonce_}};
        return has_nonce_;
    }
    now_ = read_time(reply, bytes);
    if (now_)
        with.clock.observe(sent_at, with.here, *now_);
    return now_.has_value();
}

std::optional<multi_batch::progress>
multi_batch::read_reply(const resp::decoder& reply, std::string_view bytes, multi_context& with) {
    auto made = progress{};
    if (is_error(reply) && !follows_from_errors(reply.text(reply.first(), bytes)))
        made.failure = error_in(reply, bytes).code;
    if (head_ != 0) {
        if (!read_head(reply, bytes, with))
            return std::nullopt;
    } else {
        auto& c = calls_[current_];
        made.policy = c.policy.get();
        if (progress_.replies == c.commands + 1) {
            if (!read_exec(c, reply, bytes, with, made.answered))
                return std::nullopt;
            progress_ = {};
            ++current_;
            skip_withdrawn();
        } else {
            const auto line = reply.first().kind == resp::kind::simple
                                  ? reply.text(reply.first(), bytes)
                                  : std::string_view{};
            if (is_error(reply) && !progress_.error)
                progress_.error = error_in(reply, bytes);
            else if (!is_error(reply) && line != (progress_.replies == 0 ? "OK" : "QUEUED"))
                progress_.ran_alone = true; // MULTI itself was refused
            ++progress_.replies;
        }
    }
    made.is_over = head_ == 0 && current_ == calls_.size();
    made.needs = made.is_over ? worst_ : recovery::keep;
    return made;
}

/// Reads the reply to EXEC, which ends a call.
bool multi_batch::read_exec(multi_call& c, const resp::decoder& reply, std::string_view bytes,
                            multi_context& with, detail::operation*& answered) {
    auto failure = std::optional<errc>{};
    if (is_error(reply)) {
        // EXECABORT: nothing was executed, and the error before it is the reason.
        const auto meaning = progress_.error.value_or(error_in(reply, bytes));
        worst_ = std::max(worst_, meaning.recovery);
        if (meaning.recovery == recovery::leave_read_only && with.keeps_read_only &&
            !progress_.ran_alone) {
            has_refused_ = has_refused_ || c.op != nullptr;
            return true;
        }
        failure = progress_.ran_alone && !core::traits_of(c.request.verb).only_asks
                      ? errc::outcome_unknown
                      : meaning.code;
    } else {
        if (progress_.error || progress_.ran_alone)
            return false;
        decision withdrawn;
        const auto after = read_transaction(view_of(c, with), reply, bytes,
                                            c.op != nullptr ? c.op->result : withdrawn);
        if (!after)
            return false;
        failure = has_nonce_ ? after->failure : errc::outcome_unknown;
        clean_up(c, *after, with);
    }
    answered = std::exchange(c.op, nullptr);
    if (answered == nullptr)
        return true;
    --live_;
    if (failure)
        answered->ec = *failure;
    return true;
}

void multi_batch::clean_up(const multi_call& c, const cleanup& after, multi_context& with) const {
    const auto now = c.request.now == detail::store_clock ? now_.value_or(limits::max_exact_integer)
                                                          : c.request.now;
    const auto call = view_of(c, with);
    with.log_cleanup.add([&](auto& out) { return append_log_cleanup(out, call, after, now); });
    const auto latest = with.clock.latest(with.here);
    with.window_cleanup.add(
        [&](auto& out) { return append_window_cleanup(out, call, after, latest); });
}

} // namespace colimit::redis
