// SPDX-License-Identifier: BSL-1.0
//
// On the server's clock a bitmap ends a second after its generations. Histories take milliseconds;
// one that a busy machine held up for so long is not compared any further.

#include "filter_trial.hpp"

#include <colimit/bloom_filter.hpp>
#include <core/bloom.hpp>
#include <core/policy_encoding.hpp>
#include <redis/protocol/key.hpp>
#include <redis/protocol/known_replies.hpp>
#include <redis/script/wire.hpp>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace colimit::differential {
namespace {

namespace resp = redis::resp;

[[nodiscard]] detail::policy_pointer filter_with(const core::bloom_shape& shape) {
    static const auto made = bloom_filter{"f", {.capacity = 1}};
    auto data = std::make_shared<detail::policy_data>(*detail::access::data(made));
    data->filter = shape;
    data->wire = core::encode_filter(shape);
    return data;
}

} // namespace

filter_trial::filter_trial(test::raw_client& server, const scripts& run, filter_history told,
                           std::string prefix)
    : server_(server), run_(run), told_(std::move(told)), prefix_(std::move(prefix)),
      filter_(filter_with(told_.shape)), ends_(told_.bitmaps(), -2), model_(told_.shape) {
    for (std::size_t i = 0; i < told_.bitmaps(); ++i) {
        const auto block = std::to_string(i / 2);
        auto& name = names_.emplace_back();
        const auto family = redis::bitmap_family(told_.shape, i % 2);
        const auto place = redis::append_key(name, prefix_, filter_->name, block);
        name.insert(place, family.data(), family.size());
    }
}

void filter_trial::report(const std::string& what) {
    if (!first_ && !late_)
        first_ = mismatch{compared_, what};
}

void filter_trial::send() {
    auto out = std::string{};
    resp::append_command(out, {"TIME"});
    for (const auto& s : told_.steps) {
        s.kind == filter_event::ids ? send_ids(out, s) : send_meddling(out, s);
        for (const auto& name : names_) {
            resp::append_command(out, {"GET", name});
            resp::append_command(out, {"PEXPIRETIME", name});
        }
        resp::append_command(out, {"TIME"});
    }
    for (const auto& name : names_)
        resp::append_command(out, {"UNLINK", name});
    server_.send(run_.redirect(std::move(out)));
}

void filter_trial::send_ids(std::string& out, const filter_step& s) {
    auto& sent = *in_flight_.emplace_back(std::make_unique<sent_batch>());
    sent.batch.start(filter_, told_.server_clock ? detail::store_clock : s.now, in_flight_.size());
    for (std::size_t i = 0; i < s.ids.size(); ++i)
        add(sent, s.verbs[i], s.ids[i]);
    sent.batch.encode(out, told_.server_clock ? "0" : least_ttl,
                      run_.form_of(sent.batch, in_flight_.size()));
}

void filter_trial::add(sent_batch& to, detail::verb v, const std::string& id) {
    auto& op = to.calls.emplace_back(detail::make_lookup(v, {}));
    if (v != detail::verb::inspect)
        return to.batch.add(op, prefix_, id);
    op.attached = std::make_unique<detail::block_bits>();
    to.batch.add(op, prefix_, std::to_string(core::bits_of(told_.shape, id).block));
}

/// Compares the bits that are set in a block.
void filter_trial::compare_bits(const std::string& id, const detail::operation& op) {
    const auto expected = model_.set_bits();
    const auto found = static_cast<const detail::block_bits&>(*op.attached).set;
    const auto block = core::bits_of(told_.shape, id).block;
    if (found != expected)
        report("block " + std::to_string(block) + " is said to have " + std::to_string(found[0]) +
               " and " + std::to_string(found[1]) + " bits, and has " +
               std::to_string(expected[0]) + " and " + std::to_string(expected[1]));
    if (!meddled_ && in_process_.inspect(block, *filter_, now_) != found)
        report("block " + std::to_string(block) + ": the in-process store counts other bits");
}

void filter_trial::send_meddling(std::string& out, const filter_step& s) const {
    const auto& name = names_[s.bitmap];
    resp::append_command(out, {"DEL", name});
    if (s.kind == filter_event::plant)
        resp::append_command(out, {"SET", name, s.bytes, "PX", least_ttl});
    else if (s.kind == filter_event::intrude)
        resp::append_command(out, {"RPUSH", name, "foreign"});
    else
        resp::append_command(out, {"PING"});
}

std::optional<mismatch> filter_trial::compare() {
    after_ = time_of(server_.receive());
    for (; compared_ < told_.steps.size(); ++compared_)
        compare_step(told_.steps[compared_]);
    for (std::size_t i = 0; i < names_.size(); ++i)
        (void)server_.receive();
    return first_;
}

void filter_trial::compare_step(const filter_step& s) {
    before_ = after_;
    for (std::size_t i = 0; i < told_.bitmaps(); ++i)
        model_[i].kept_for.reset();
    if (s.kind != filter_event::ids) {
        meddle(s);
        return look();
    }
    const auto agreed = !first_;
    const auto sent = std::move(in_flight_.front());
    in_flight_.pop_front();
    if (read_batch(*sent))
        compare_ids(s, *sent);
    look();
    if (told_.server_clock && after_ - now_ > longest_stall) {
        late_ = true;
        if (agreed)
            first_.reset();
    }
}

void filter_trial::meddle(const filter_step& s) {
    (void)server_.receive();
    (void)server_.receive();
    meddled_ = true;
    model_[s.bitmap] = {};
    if (s.kind == filter_event::plant)
        model_[s.bitmap].bytes = s.bytes;
    model_[s.bitmap].foreign = s.kind == filter_event::intrude;
    ends_[s.bitmap] = -1; // any
}

bool filter_trial::read_batch(sent_batch& sent) {
    return server_.receive([&](const resp::decoder& d, std::string_view bytes) {
        const auto nodes = d.nodes();
        if (nodes.front().kind == resp::kind::error) {
            report("the script failed: " + std::string{d.text(nodes.front(), bytes)});
            return false;
        }
        if (!sent.batch.read_reply(d, bytes)) {
            report("the reply is not one to this batch");
            return false;
        }
        const auto header = redis::read_header(d.text(nodes.back(), bytes));
        now_ = header->seconds * 1'000'000 + header->microseconds;
        return true;
    });
}

/// The ids of a block are asked one after another, and blocks in the order of their first ids.
void filter_trial::compare_ids(const filter_step& s, const sent_batch& sent) {
    auto marks = std::vector<core::bloom_bits>{};
    for (const auto& id : s.ids)
        marks.push_back(core::bits_of(told_.shape, id));
    auto begun = std::set<std::uint32_t>{};
    for (const auto& first : marks) {
        if (!begun.insert(first.block).second)
            continue;
        const auto well = model_.begin_block(first.block, now_);
        for (std::size_t i = 0; i < marks.size(); ++i) {
            if (marks[i].block != first.block)
                continue;
            const auto& op = sent.calls[i];
            if (!well || op.ec) {
                if (well || op.ec != errc::key_conflict)
                    report('"' + s.ids[i] + "\": " + op.ec.message());
                continue;
            }
            if (s.verbs[i] == detail::verb::inspect) {
                compare_bits(s.ids[i], op);
                continue;
            }
            const auto expected =
                s.verbs[i] == detail::verb::peek ? model_.knows(marks[i]) : model_.seen(marks[i]);
            const auto found = !op.result.allowed();
            if (found != expected)
                report('"' + s.ids[i] + (found ? "\" is said to be old" : "\" is said to be new"));
            if (!meddled_ && in_process_.decide(s.verbs[i], s.ids[i], *filter_, now_) != found)
                report('"' + s.ids[i] + "\": the in-process store says otherwise");
        }
    }
}

void filter_trial::look() {
    auto bytes = std::vector<test::reply>{};
    auto ends = std::vector<std::int64_t>{};
    for (std::size_t i = 0; i < told_.bitmaps(); ++i) {
        bytes.push_back(server_.receive());
        ends.push_back(server_.receive().integer);
    }
    after_ = time_of(server_.receive());
    for (const auto end : ends_)
        late_ = late_ || (end >= 0 && end * 1000 <= after_);
    for (std::size_t i = 0; i < told_.bitmaps(); ++i) {
        const auto where =
            "bitmap " + std::to_string(i % 2) + " of block " + std::to_string(i / 2) + ": ";
        if (model_[i].foreign) {
            if (!bytes[i].text.starts_with("WRONGTYPE"))
                report(where + "the list that was there is gone");
        } else if (const auto found = bytes[i].value(); found != model_[i].bytes) {
            report(where + "expected\n    " + hex(model_[i].bytes.value_or("")) + "\nbut is\n    " +
                   hex(found.value_or("")));
        }
        compare_end(i, ends[i]);
        ends_[i] = ends[i];
    }
}

void filter_trial::compare_end(std::size_t bitmap, std::int64_t end) {
    const auto& kept = model_[bitmap].kept_for;
    auto least = ends_[bitmap];
    auto most = ends_[bitmap];
    if (kept) {
        const auto us = (*kept + 2) * told_.shape.ttl - now_;
        const auto ms = std::max(us / 1000 + 1000, told_.server_clock ? 0 : least_ttl_ms);
        least = (told_.server_clock ? now_ : before_) / 1000 + ms;
        most = (told_.server_clock ? now_ : after_) / 1000 + ms;
    } else if (ends_[bitmap] == -1) {
        return;
    }
    if (end < least || end > most)
        report("bitmap " + std::to_string(bitmap % 2) + " of block " + std::to_string(bitmap / 2) +
               " ends at " + std::to_string(end) + " ms, not from " + std::to_string(least) +
               " to " + std::to_string(most));
}

} // namespace colimit::differential
