// SPDX-License-Identifier: BSL-1.0
//
// What all batches have in common.

#include <core/bloom.hpp>
#include <hash/fnv1a.hpp>
#include <redis/script/script_batch.hpp>
#include <redis/script/wire.hpp>

#include <algorithm>

namespace colimit::redis {
namespace {

/// The largest number of calls per batch, however many of them are on the same key: more would
/// block the server's other clients for milliseconds.
constexpr std::size_t calls_per_batch = 1024;

/// The largest size of the facts in a reply: half of what the decoder accepts in one string.
constexpr std::size_t most_fact_bytes = std::size_t{32} * 1024;

} // namespace

script_batch::script_batch(std::size_t most_keys, key_tags tags, bool is_lasting)
    : keyed_calls(most_keys, tags, is_lasting), most_keys_(most_keys), shards_(*this, is_lasting) {
    if (is_lasting)
        calls_.reserve(std::max(most_keys_, calls_per_batch));
}

void script_batch::start(const policy_pointer& policy, std::int64_t clock, std::uint64_t nonce,
                         std::size_t group, bool has_ids) {
    keyed_calls::start(policy, has_ids);
    joint_.clear();
    group_ = group;
    clock_ = clock;
    nonce_ = nonce;
    most_calls_ = std::max(most_keys_, calls_per_batch);
    if (const auto facts = fact_bytes(policy->compiled); facts != 0)
        most_calls_ = std::min(most_calls_, most_fact_bytes / facts);
    if (policy->filter) // each id costs the server as much as a key of a policy
        most_calls_ = most_keys_;
    writer_ = policy->filter            ? static_cast<batch_writer*>(&filter_)
              : policy->compiled.packed ? &shards_
                                        : &keys_;
    encoded = false;
    sending = {};
}

bool script_batch::is_for(const policy_pointer& policy, std::int64_t clock) const noexcept {
    const auto& own = this->policy();
    return (own == policy || own->identity == policy->identity) && clock_ == clock && !encoded &&
           !is_joint();
}

void script_batch::add(detail::operation& op, std::string_view prefix, std::string_view key,
                       std::uint64_t hash) {
    BOOST_ASSERT(!encoded);
    const auto& p = *policy();
    if (p.filter)
        filter_.add(op, prefix, key);
    else
        hold(op, keyed_calls::add(op.request, p, prefix, key, hash, make_member(p, op.request),
                                  op.lease.further_calls));
}

void script_batch::add(detail::operation& op, std::string_view prefix, std::string_view key) {
    add(op, prefix, key, hash::fnv1a_64(key));
}

bool script_batch::add_checks(detail::operation& op, std::string_view prefix) {
    BOOST_ASSERT(calls_.empty());
    writer_ = &joint_;
    return joint_.add(op, prefix);
}

std::size_t script_batch::group_of(const key_tags& tags, const detail::policy_data& p,
                                   std::string_view key, detail::verb v) {
    if (p.filter && v != detail::verb::inspect)
        return tags.of(std::to_string(core::bits_of(*p.filter, key).block));
    return group_of_tag(tags, p, tags.of(key));
}

void script_batch::drop(std::uint32_t index) noexcept {
    if (!is_joint())
        return keyed_calls::drop(index);
    calls_[index].op = nullptr; // the checks are made together, or not at all
    --live_;
}

void script_batch::take_back() noexcept {
    encoded = false;
    for (auto& c : calls_)
        if (c.op != nullptr) { // a reply may have been discarded
            c.op->ec = {};
            c.op->result = {};
            c.op->lease.granted = 0;
            c.op->fencing_token = 0;
        } else if (!c.withdrawn && !is_joint()) {
            withdraw(c);
        }
}

void script_batch::encode(std::string& out, std::string_view ttls, script_command how) {
    encoded = true;
    sending.form = how;
    const auto& run = policy()->filter ? seen_script : check_script;
    if (how == script_command::eval)
        resp::append_command(out, {"SCRIPT", "LOAD", run.body});
    if (sending.asking)
        resp::append_command(out, {"ASKING"});
    sent_ = writer_->encode({out, words_of(how, run), nonce_, clock_, ttls});
}

std::optional<recovery> script_batch::read_reply(const resp::decoder& reply,
                                                 std::string_view bytes) {
    auto from = batch_reply{reply, bytes, nonce_, clock_};
    if (!writer_->read(from))
        return std::nullopt;
    failure = from.failure;
    if (!from.agrees()) {
        failure = {errc::corrupt_state, "the script and this process decided differently"};
        fail_all(errc::corrupt_state);
    }
    if (from.lacks_memory && !failure)
        failure = {errc::server_error, "OOM: the server has no memory for what an acquire may add"};
    return from.needs;
}

} // namespace colimit::redis
