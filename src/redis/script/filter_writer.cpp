// SPDX-License-Identifier: BSL-1.0
//
// Batches of ids of a Bloom filter. An id belongs to the key of its block, whose name is the
// block's number; the facts of the reply are sufficient, as a new id is granted.

#include <core/bloom.hpp>
#include <hash/fnv1a.hpp>
#include <redis/script/batch_writers.hpp>
#include <redis/script/wire.hpp>

#include <array>

namespace colimit::redis {
namespace {

/// Decides the ids of a block. Returns false if the facts are not valid.
[[nodiscard]] bool decide(keyed_calls& of, const keyed_calls::entry& e, batch_reply& from) {
    for (auto* c = of.first(e); c != nullptr; c = of.after(*c)) {
        if (c->verb == detail::verb::inspect) {
            auto set = std::array<std::int64_t, 2>{};
            if (!take_bits(from.facts.bytes, *of.policy()->filter, set))
                return false;
            if (c->op != nullptr)
                static_cast<detail::block_bits&>(*c->op->attached).set = set;
            continue;
        }
        auto seen = false;
        if (!take_seen(from.facts.bytes, seen))
            return false;
        from.granted += seen ? 0 : 1;
        if (c->op != nullptr)
            c->op->result.outcome = seen ? outcome::denied : outcome::allowed;
    }
    return true;
}

} // namespace

void filter_writer::add(detail::operation& op, std::string_view prefix, std::string_view key) {
    const auto& p = *of_.policy();
    auto block = std::string{};
    mark_.clear();
    if (op.request.verb == detail::verb::inspect) { // its key is a block
        append_sample(mark_, *p.filter);
    } else {
        const auto mark = core::bits_of(*p.filter, key);
        append_mark(mark_, *p.filter, mark);
        block = std::to_string(mark.block);
        key = block;
    }
    of_.hold(op, of_.add(op.request, p, prefix, key, hash::fnv1a_64(key), mark_));
}

batch_contents filter_writer::encode(const batch_command& to) {
    const auto& p = *of_.policy();
    const auto& order = of_.list_entries();
    auto& calls = of_.reserve_calls(of_.scratch());
    auto sent = batch_contents{};
    for (const auto i : order) {
        const auto& e = of_.entries()[i];
        for (const auto* c = of_.first(e); c != nullptr; c = of_.after(*c)) {
            append_block(calls, static_cast<std::uint16_t>(sent.keys), c->verb);
            calls.append(of_.member_of(*c));
        }
        ++sent.keys;
        sent.calls += e.live;
    }
    sent.entries = sent.calls;
    to.begin(std::size_t{2} * sent.keys, 0);
    for (const auto parity : {0U, 1U}) {
        const auto family = bitmap_family(*p.filter, parity);
        append_family(to.out, {family.data(), family.size()}, order);
    }
    to.append_arguments(p.wire, calls);
    return sent;
}

bool filter_writer::read(batch_reply& from) {
    if (!from.open(of_.order().size(), 0, true))
        return false;
    for (const auto i : of_.order()) {
        const auto& e = of_.entries()[i];
        const auto found = from.next();
        if (found.status != '.')
            of_.fail(e, from.fail(found));
        else if (!found.is_valid() || !decide(of_, e, from))
            return false;
    }
    return true;
}

} // namespace colimit::redis
