// SPDX-License-Identifier: BSL-1.0
//
// Decides calls with an id. The room for the record is taken before the call is decided, so a call
// that has charged something is always remembered.

#include <hash/process_secret.hpp>
#include <memory/store.hpp>
#include <policy/request_digest.hpp>

#include <boost/assert.hpp>

namespace colimit::memory {
namespace {

/// Returns the digest of an id that belongs to one key of one policy.
[[nodiscard]] hash::digest record_digest(const detail::policy_data& p, const hash::digest& key,
                                         std::string_view id) noexcept {
    auto hash = hash::begin_key_hash(hash::process_secret(), p.id);
    hash.add(key.low);
    hash.add(key.high);
    return hash::key_digest(hash, id);
}

} // namespace

detail::fault store::decide_once(const hash::digest& key, const detail::policy_data& p,
                                 const core::call_request& request, decision& result) noexcept {
    BOOST_ASSERT(request.has_id && request.now != detail::store_clock);
    const auto id = record_digest(p, key, request.id);
    const auto digests = detail::digests_of(p, request);
    chains_.evict_some(request.now);
    if (const auto known = chains_.find_record(id, request.now); known != no_cell)
        return answer_again(known, p, request, digests, result);
    const auto head = chains_.find(key, chains_.seek(key));
    record_ = chains_.insert_record(id, p.compiled, request, digests, head);
    if (record_ == no_cell)
        return detail::fault::request_room;
    (void)decide({key, head}, p, request, result);
    record_ = no_cell;
    return detail::fault::none;
}

/// Decides a call as before, from what its record has.
detail::fault store::answer_again(std::uint32_t record, const detail::policy_data& p,
                                  const core::call_request& request,
                                  const core::call_digests& digests,
                                  decision& result) const noexcept {
    const auto before = chains_.call_of_record(record);
    if (const auto other = core::difference(before, request, digests); other != detail::fault::none)
        return other;
    auto memory = call_states{p.compiled.state_count};
    auto c = contents{.states = memory.all()};
    auto same = request;
    same.now = before.now;
    if (chains_.read_record(record, p.compiled, c) != same.verb)
        same = shared_request(same);
    (void)core::evaluate(p.compiled, c.states, c.header, same, result);
    return detail::fault::none;
}

} // namespace colimit::memory
