// SPDX-License-Identifier: BSL-1.0
//
// Encodes, decodes and compares records of calls.

#include <base/bytes.hpp>
#include <core/request_record.hpp>
#include <core/verb_traits.hpp>

namespace colimit::core {
namespace {

using detail::fault;

constexpr char mark = 'r';

} // namespace

void append_record(std::string& out, const request_record& r) {
    out.push_back(mark);
    detail::append_number(out, static_cast<std::uint8_t>(r.verb));
    detail::append_number(out, static_cast<std::uint8_t>(r.value ? 1 : 0));
    detail::append_double(out, r.cost);
    detail::append_double(out, r.at_least);
    detail::append_number(out, r.digests.policy);
    detail::append_number(out, r.digests.member);
    detail::append_double(out, r.now);
    out.append(r.value.value_or("")).append(r.facts);
}

std::optional<request_record> decode_record(std::string_view bytes, std::uint64_t policy,
                                            std::size_t fact_bytes) noexcept {
    if (!is_like_record(bytes))
        return std::nullopt;
    const auto* at = bytes.data();
    const auto verb = detail::read_number<std::uint8_t>(at + 1);
    const auto found = detail::read_number<std::uint8_t>(at + 2);
    auto r = request_record{.verb = static_cast<detail::verb>(verb),
                            .digests = {.policy = detail::read_number<std::uint64_t>(at + 19),
                                        .member = detail::read_number<std::uint64_t>(at + 27)}};
    if (verb >= verbs.size() || !traits_of(r.verb).may_have_id || found > 1 ||
        !read_whole(at + 3, 0, r.cost) || !read_whole(at + 11, 0, r.at_least) ||
        r.at_least > r.cost || !read_whole(at + 35, 0, r.now) || r.now > limits::max_time)
        return std::nullopt;
    if (r.digests.policy != policy)
        return r;
    bytes.remove_prefix(record_head_bytes);
    if (bytes.size() < fact_bytes || (found == 0 && bytes.size() != fact_bytes))
        return std::nullopt;
    const auto value_bytes = bytes.size() - fact_bytes;
    if (found != 0)
        r.value = bytes.substr(0, value_bytes);
    r.facts = bytes.substr(value_bytes);
    return r;
}

fault difference(const request_record& r, const call_request& request,
                 const call_digests& digests) noexcept {
    if (r.digests.policy != digests.policy)
        return fault::other_policy;
    if (r.verb != request.verb)
        return fault::other_verb;
    if (r.cost != request.cost)
        return fault::other_cost;
    if (r.at_least != request.at_least)
        return fault::other_at_least;
    return r.digests.member == digests.member ? fault::none : fault::other_member;
}

} // namespace colimit::core
