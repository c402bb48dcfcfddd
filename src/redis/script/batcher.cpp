// SPDX-License-Identifier: BSL-1.0
//
// Moves calls through batches. Each call is in exactly one batch until it is done, and each batch
// in exactly one of waiting_, in_flight_ and spare_.

#include <core/call_fault.hpp>
#include <hash/fnv1a.hpp>
#include <redis/script/batcher.hpp>

#include <algorithm>
#include <new>
#include <span>
#include <utility>

namespace colimit::redis {
namespace {

/// The number of waiting batches that are searched for a call's key. A thousand callers fill two or
/// three behind those in flight; with many more, searching all of them would be expensive.
constexpr std::size_t most_searched = 8;

/// Returns the key by which the newest batch of a policy and a group is found.
[[nodiscard]] std::uint64_t open_key(const detail::policy_data& p, std::size_t group) noexcept {
    return p.fingerprint + group * 0x9e3779b97f4a7c15U;
}

/// Returns whether keys of checks are in several hash slots.
[[nodiscard]] bool have_several_groups(std::span<const check_item> checks) {
    return std::ranges::any_of(
        checks, [first = tag_of(hash::fnv1a_64(checks.front().key))](const check_item& c) {
            return tag_of(hash::fnv1a_64(c.key)) != first;
        });
}

} // namespace

batcher::batcher(batcher_settings settings)
    : settings_(std::move(settings)), minimum_ttl_(std::to_string(settings_.minimum_ttl_ms)),
      nonce_(settings_.first_nonce) {
    for (std::size_t i = 0; i <= settings_.batches_in_flight; ++i) // and one more, which fills
        spare_.emplace_back(settings_.batch_size);
}

/// Returns the newest of the last waiting batches that has the key, if it takes a call: popular
/// keys are requested again long before their batch is sent. Never an earlier one, as that would
/// change the order of calls.
batch* batcher::waiting_with(const policy_pointer& policy, std::int64_t clock,
                             std::string_view key) {
    if (waiting_.size() < 2 || policy->filter)
        return nullptr; // a single batch is found anyway
    const auto hash = hash::fnv1a_64(key);
    auto last = waiting_.rbegin();
    for (std::size_t n = std::min(waiting_.size(), most_searched); n != 0; --n, ++last)
        if (last->has(policy, clock, key, hash))
            return last->takes_calls() ? &*last : nullptr;
    return nullptr;
}

batch& batcher::batch_for(const policy_pointer& policy, std::int64_t clock, std::string_view key) {
    if (auto* with = waiting_with(policy, clock, key); with != nullptr)
        return *with;
    return open_batch(policy, clock,
                      is_cluster_ ? batch::group_of(*policy, key) : batch::any_group);
}

batch& batcher::open_batch(const policy_pointer& policy, std::int64_t clock, std::size_t group) {
    auto& open = open_[open_key(*policy, group)];
    if (open != nullptr && open->fits(policy, clock))
        return *open;
    if (spare_.empty())
        spare_.emplace_back(settings_.batch_size);
    waiting_.splice(waiting_.end(), spare_, spare_.begin());
    open = &waiting_.back();
    open->start(policy, clock, nonce_++, group);
    return *open;
}

void batcher::close_to_calls(const batch& b) {
    const auto found = open_.find(open_key(*b.policy(), b.group()));
    if (found != open_.end() && found->second == &b)
        open_.erase(found);
}

/// Retires a batch of a list.
void batcher::retire(batches& from, batches::iterator which) {
    calls_ -= which->size();
    spare_.splice(spare_.begin(), from, which);
}

/// Retires the first one.
void batcher::retire(batches& from) {
    retire(from, from.begin());
}

error_code batcher::submit(detail::operation& op, std::string_view key,
                           const policy_pointer& policy) {
    if (calls_ >= settings_.max_in_flight)
        drop_abandoned();
    if (calls_ >= settings_.max_in_flight)
        return errc::too_many_in_flight;
    try {
        auto& joined = batch_for(policy, op.request.now, key);
        joined.add(op, settings_.prefix, key);
        is_full_ = is_full_ || joined.is_full();
    } catch (const std::bad_alloc&) {
        return make_error_code(boost::system::errc::not_enough_memory);
    }
    ++calls_;
    by_deadline_.push_back(op);
    return {};
}

/// A node of a cluster accepts only keys of one hash slot per script call. Batches that waited
/// before that was known are divided.
void batcher::begin_connection(const server_facts& server) {
    is_cluster_ = server.is_cluster;
    if (is_cluster_)
        regroup();
}

void batcher::regroup() {
    open_.clear();
    auto old = std::exchange(waiting_, {});
    try {
        while (!old.empty()) {
            if (auto& b = old.front(); !b.common_group()) {
                b.is_joint() ? end_batch(b, detail::error_of(detail::fault::checks_slots))
                             : regroup(b);
                retire(old);
            } else {
                waiting_.splice(waiting_.end(), old, old.begin());
            }
        }
    } catch (...) {
        waiting_.splice(waiting_.end(), old);
        throw;
    }
}

void batcher::regroup(batch& b) {
    b.move_calls(
        [&](std::size_t group) -> batch& { return open_batch(b.policy(), b.clock(), group); },
        [this] { ++calls_; });
}

error_code batcher::submit_checks(detail::operation& op) {
    if (is_cluster_ && have_several_groups(op.checks))
        return detail::error_of(detail::fault::checks_slots);
    if (calls_ + op.checks.size() > settings_.max_in_flight)
        drop_abandoned();
    if (calls_ + op.checks.size() > settings_.max_in_flight)
        return errc::too_many_in_flight;
    try {
        auto made = batches{};
        spare_.empty() ? (void)made.emplace_back(settings_.batch_size)
                       : made.splice(made.end(), spare_, spare_.begin());
        auto& b = made.front();
        b.start(op.checks.front().policy.data(), op.request.now, nonce_++);
        if (!b.add_checks(op, settings_.prefix)) {
            b.start(op.checks.front().policy.data(), op.request.now, 0);
            spare_.splice(spare_.begin(), made);
            return detail::error_of(detail::fault::checks_same_state);
        }
        waiting_.splice(waiting_.end(), made);
    } catch (const std::bad_alloc&) {
        return make_error_code(boost::system::errc::not_enough_memory);
    }
    calls_ += op.checks.size();
    by_deadline_.push_back(op);
    return {};
}

/// Retires waiting batches without callers.
void batcher::drop_abandoned() {
    retire_abandoned(waiting_, [this](batches::iterator b) {
        close_to_calls(*b);
        retire(waiting_, b);
    });
}

bool batcher::wants_to_write() const noexcept {
    return !waiting_.empty() && in_flight_.size() < settings_.batches_in_flight;
}

void batcher::write(std::string& out, std::uint64_t stream_position, std::int64_t now) {
    const auto begin = out.size();
    is_full_ = false;
    drop_abandoned();
    while (wants_to_write()) {
        auto& b = waiting_.front();
        close_to_calls(b);
        b.sent_from = stream_position + (out.size() - begin);
        b.sent_at = now;
        b.replies_before = b.with_script ? 1 : 0;
        try {
            b.encode(out, minimum_ttl_);
        } catch (...) {
            b.take_back();
            throw;
        }
        count(b);
        in_flight_.splice(in_flight_.end(), waiting_, waiting_.begin());
        drop_abandoned();
    }
}

void batcher::count(const batch& b) noexcept {
    const auto sent = b.sent();
    counted.add(sent.keys, sent.calls);
    counted.merged += sent.calls - sent.entries;
    counted.script_loads += b.with_script ? 1U : 0U;
}

/// Handles an error that only a node of a cluster sends, as not every handshake can detect a
/// cluster. Returns whether the first batch in flight is divided: the server executed nothing of
/// it, as its keys are in several hash slots. It is queued before the waiting batches; calls for
/// one key that were in several batches in flight may change their order.
bool batcher::learn_of_cluster(std::string_view text) {
    const auto was_known = std::exchange(is_cluster_, true);
    auto& b = in_flight_.front();
    const auto is_divided = text.starts_with("CROSSSLOT") && !b.common_group();
    if (is_divided) {
        b.take_back();
        waiting_.splice(waiting_.begin(), in_flight_, in_flight_.begin());
    }
    if (is_divided || !was_known)
        regroup();
    return is_divided;
}

recovery batcher::fail_head(const resp::decoder& reply, std::string_view bytes) {
    const auto text = reply.text(reply.nodes().front(), bytes);
    const auto meaning = classify(text);
    auto& b = in_flight_.front();
    if (meaning.code == errc::wrong_node && learn_of_cluster(text))
        return recovery::keep;
    if (meaning.recovery == recovery::resend_with_script && !b.with_script) {
        b.with_script = true;
        b.take_back();
        // After those that were returned before it, and before those that were never sent.
        const auto place = std::ranges::find_if_not(waiting_, &batch::with_script);
        waiting_.splice(place, in_flight_, in_flight_.begin());
        return recovery::resend_with_script;
    }
    note({.code = meaning.code,
          .phase = phase::script,
          .text = text,
          .policy = b.policy()->fingerprint});
    end_batch(b, meaning.code);
    retire(in_flight_);
    return meaning.recovery;
}

std::optional<recovery> batcher::read_reply(const resp::decoder& reply, std::string_view bytes) {
    const auto kind = reply.nodes().front().kind;
    if (kind == resp::kind::push)
        return recovery::keep;
    if (in_flight_.empty())
        return std::nullopt;
    auto& head = in_flight_.front();
    if (head.replies_before != 0) {
        --head.replies_before;
        counted.scripts_loaded +=
            kind == resp::kind::error || kind == resp::kind::blob_error ? 0U : 1U;
        return recovery::keep;
    }
    if (kind == resp::kind::error || kind == resp::kind::blob_error)
        return fail_head(reply, bytes);
    const auto needs = head.read_reply(reply, bytes);
    if (!needs)
        return std::nullopt;
    const auto& failure = head.failure;
    if (failure)
        note({.code = failure->code,
              .phase = phase::script,
              .text = failure->text,
              .policy = head.policy()->fingerprint});
    if (!failure || failure->code != errc::auth_failed)
        note_permitted(*head.policy());
    head.release([this, at = head.sent_at](detail::operation& op) {
        op.sent_at = at;
        finish(op);
    });
    retire(in_flight_);
    return needs;
}

void batcher::end_batch(batch& b, error_code why) {
    b.release([this, why](detail::operation& op) { finish(op, why); });
}

/// Ends a batch some of whose bytes were sent, so that its outcome is unknown.
void batcher::end_lost_batch(batch& b) {
    b.release([this](detail::operation& op) { finish_lost(op); });
}

void batcher::lose_connection(std::uint64_t sent) {
    while (!in_flight_.empty() && in_flight_.front().sent_from < sent) {
        end_lost_batch(in_flight_.front());
        retire(in_flight_);
    }
    for (auto& b : in_flight_) {
        b.take_back();
        b.with_script = false; // the next connection's handshake loads it
    }
    waiting_.splice(waiting_.begin(), in_flight_);
}

void batcher::fail_waiting(error_code why) {
    for (auto& b : waiting_)
        end_batch(b, why);
    drop_abandoned();
}

void batcher::fail_all(error_code why) {
    for (auto& b : in_flight_)
        end_batch(b, why);
    fail_waiting(why);
}

} // namespace colimit::redis
