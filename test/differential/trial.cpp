// SPDX-License-Identifier: BSL-1.0
//
// The comparison. For each key, besides its decisions: the bytes of its value (except the field
// with the key's end), that the value and the key's end stay as they were when nothing was to be
// written, and that a key that was written ends neither before its state has recovered nor after
// twice that time and a second.

#include "trial.hpp"

#include <core/log_value.hpp>
#include <core/policy_encoding.hpp>
#include <core/rule_kind.hpp>
#include <core/state_encoding.hpp>
#include <redis/protocol/key.hpp>
#include <redis/protocol/known_replies.hpp>
#include <support/decision_text.hpp>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

namespace colimit::differential {
namespace {

namespace resp = redis::resp;

/// Of a value: until when its key surely lives.
constexpr std::size_t promise_bytes = 8;

[[nodiscard]] std::string_view without_promise(std::string_view value) {
    return value.substr(std::min(value.size(), promise_bytes));
}

[[nodiscard]] double promise_of(std::string_view value) {
    auto promise = 0.0;
    std::memcpy(&promise, value.data(), promise_bytes);
    return promise;
}

[[nodiscard]] std::string text_of(const std::optional<std::string>& bytes) {
    return bytes ? hex(*bytes) : "nothing";
}

} // namespace

void trial::report(const std::string& what) {
    if (!first_ && !abandoned_)
        first_ = mismatch{compared_, what};
}

/// By which the step asked about the key.
const core::compiled_policy& trial::rules_for(const step& s, std::size_t key) const {
    const auto asked = std::ranges::find(s.calls, key, &key_call::key);
    return detail::access::data(told_.versions[asked == s.calls.end() ? 0 : asked->version])
        ->compiled;
}

/// The policies are decoded as a server module decodes them.
void trial::compare_policies() {
    for (const auto& version : told_.versions) {
        const auto& data = *detail::access::data(version);
        auto bytes = std::string_view{data.wire};
        if (core::decode_policy(bytes) != data.compiled)
            report("a policy is decoded as another one");
    }
}

std::optional<mismatch> trial::compare() {
    if (compared_ == 0)
        compare_policies();
    after_ = time_of(server_.receive());
    for (; compared_ < sent_; ++compared_)
        compare_step(told_.steps[compared_]);
    if (compared_ == told_.steps.size())
        for (std::size_t i = 0; i <= names_.size(); ++i) // and of records
            (void)server_.receive();
    return first_;
}

std::optional<std::int64_t> trial::pause() const {
    if (compared_ == told_.steps.size())
        return std::nullopt;
    return told_.steps[compared_].milliseconds;
}

void trial::compare_step(const step& s) {
    if (s.kind == step_kind::pause)
        return;
    before_ = after_;
    written_.assign(told_.keys, false);
    if (!s.calls.empty()) {
        compare_batch(s);
        return;
    }
    (void)server_.receive();
    (void)server_.receive();
    model_[s.key].value.reset();
    planted_[s.key] = planted_[s.key] || s.kind == step_kind::plant;
    if (s.kind == step_kind::plant)
        model_[s.key].value = s.bytes;
    model_[s.key].foreign = s.kind == step_kind::intrude;
    look(s, {s.key});
}

void trial::compare_batch(const step& s) {
    const auto agreed = !first_;
    const auto sent = std::move(in_flight_.front());
    in_flight_.pop_front();
    auto found = std::vector<bool>(sent->keys.size());
    if (read_batch(s, *sent, found)) {
        follow_expiry(*sent, found);
        s.kind == step_kind::together ? compare_together(s, *sent) : compare_calls(s, *sent);
    }
    look(s, sent->keys);
    if (told_.server_clock && after_ - now_ > longest_stall) {
        abandoned_ = true;
        if (agreed)
            first_.reset();
    }
}

/// Which of the keys the script found, and its decisions.
bool trial::read_batch(const step& s, sent_batch& sent, std::vector<bool>& found) {
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
        sent.batch.release([](const detail::operation&) {});
        const auto header = redis::read_header(d.text(nodes.back(), bytes));
        now_ = header->seconds * 1'000'000 + header->microseconds;
        if (s.has_ids())
            found = find_with_ids(s, sent, nodes, header->statuses);
        else
            for (std::size_t i = 0; i < found.size(); ++i)
                found[i] = nodes[1 + i].kind != resp::kind::null;
        return true;
    });
}

/// Each call has a place in the reply; the first one of a key that was not known says whether the
/// key was there before.
std::vector<bool> trial::find_with_ids(const step& s, const sent_batch& sent,
                                       std::span<const resp::node> nodes,
                                       std::string_view statuses) const {
    auto found = std::vector<bool>(sent.keys.size(), true);
    for (auto i = s.calls.size(); i-- > 0;)
        if (statuses == "-" || statuses[i] != 'r') {
            const auto key = std::ranges::find(sent.keys, s.calls[i].key) - sent.keys.begin();
            found[static_cast<std::size_t>(key)] = nodes[1 + i].kind != resp::kind::null;
        }
    return found;
}

/// On the server's clock keys come to their end; only then may one be missing.
void trial::follow_expiry(const sent_batch& sent, const std::vector<bool>& found) {
    for (std::size_t i = 0; i < found.size(); ++i) {
        const auto key = sent.keys[i];
        auto& known = model_[key];
        // A rule with a longer window, which came since, does not bring its events back.
        if (told_.server_clock && log_ends_[key] > 0 && (log_ends_[key] + 1) * 1000 <= now_)
            known.log.clear();
        if (told_.server_clock && slot_ends_[key] > 0 && (slot_ends_[key] + 1) * 1000 <= now_)
            known.slots.clear();
        if (known.foreign || !known.value || found[i])
            continue;
        if (!told_.server_clock || ends_[key] * 1000 > now_)
            report("the script did not find key " + std::to_string(key) +
                   ", which must be there until " + std::to_string(ends_[key]) + " ms");
        known.value.reset();
    }
}

void trial::compare_decision(const std::string& where, const decision& expected,
                             const decision& found) {
    if (found != expected)
        report(where + "expected\n    " + test::text_of(expected) + "\nbut is\n    " +
               test::text_of(found));
}

void trial::compare_calls(const step& s, const sent_batch& sent) {
    constexpr auto none = SIZE_MAX;
    auto leases = std::vector<std::size_t>(names_.size(), none); // the calls that ask for them
    for (std::size_t i = 0; i < s.calls.size(); ++i) {
        const auto& c = s.calls[i];
        const auto& op = sent.calls[i];
        const auto where =
            "call " + std::to_string(i + 1) + " on key " + std::to_string(c.key) + ": ";
        if (const auto* known = known_.find(c.key, c.request)) {
            compare_known(where, *known, c, op);
            continue;
        }
        if (model_[c.key].foreign) {
            if (op.ec != errc::key_conflict)
                report(where + "no key_conflict, but " + op.ec.message());
            continue;
        }
        if (op.ec) {
            report(where + op.ec.message());
            continue;
        }
        auto& lease = leases[c.key];
        if (lease != none && !s.are_equal(lease, i))
            compare_lease(s, sent, std::exchange(lease, none));
        const auto expected = expect_call(c);
        compare_decision(where, expected, op.result);
        if (op.fencing_token != model_.token())
            report(where + "the fencing token is " + std::to_string(op.fencing_token) + ", not " +
                   std::to_string(model_.token()));
        known_.remember(c.key, c.request, *detail::access::data(told_.versions[c.version]),
                        expected);
        if (c.further != 0)
            lease = i;
    }
    for (const auto i : leases)
        if (i != none)
            compare_lease(s, sent, i);
}

/// The same call has the same answer, and another one none.
void trial::compare_known(const std::string& where, const known_call& known, const key_call& c,
                          const detail::operation& op) {
    const auto other =
        known.difference(c.request, *detail::access::data(told_.versions[c.version]));
    if (other == detail::fault::none && !op.ec)
        return compare_decision(where, known.answer, op.result);
    if (other == detail::fault::none || op.ec != errc::invalid_argument ||
        op.ec.message() != detail::text_of(other))
        report(where + "the id is known: " + detail::text_of(other) + ", not " + op.ec.message());
}

/// Makes the calls for a lease in the model.
void trial::compare_lease(const step& s, const sent_batch& sent, std::size_t asks) {
    const auto& c = s.calls[asks];
    auto granted = std::int64_t{0};
    for (auto left = c.further; left > 0; --left)
        granted += expect_call(c).allowed() ? 1 : 0;
    if (const auto found = sent.calls[asks].lease.granted; found != granted)
        report("call " + std::to_string(asks + 1) + ": the lease has " + std::to_string(found) +
               " calls, expected " + std::to_string(granted));
}

/// Makes a call in the model.
decision trial::expect_call(const key_call& c) {
    auto request = c.request;
    request.now = now_;
    decision expected;
    const auto effect = model_.answer(detail::access::data(told_.versions[c.version])->compiled,
                                      c.key, request, expected);
    written_[c.key] = written_[c.key] || effect != core::effect::nothing;
    return expected;
}

/// A key that cannot be asked fails them all, and nothing is charged.
void trial::compare_together(const step& s, const sent_batch& sent) {
    const auto& op = sent.calls.front();
    if (std::ranges::any_of(s.calls, [&](const auto& c) { return model_[c.key].foreign; })) {
        if (op.ec != errc::key_conflict)
            report("no key_conflict of them all, but " + op.ec.message());
        return;
    }
    if (op.ec)
        return report("all of them: " + op.ec.message());
    const auto expected = model_.answer_together(told_.versions, s.calls, now_);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const auto key = s.calls[i].key;
        written_[key] = expected[i].effect != core::effect::nothing;
        compare_decision("the check of key " + std::to_string(key) + ": ", expected[i].answer,
                         sent.checks[i].result);
        if (core::binds_more(expected[i].answer, op.result))
            report("what all checks say is not the check of key " + std::to_string(key));
    }
}

void trial::look(const step& s, const std::vector<std::size_t>& keys) {
    struct seen {
        test::reply value;
        std::int64_t end;
        std::vector<std::int64_t> sketch_ends;
        test::reply holders;
        std::int64_t holders_end;
    };
    auto all = std::vector<seen>{};
    for (const auto key : keys) {
        auto& one =
            all.emplace_back(seen{server_.receive(), server_.receive().integer, {}, {}, {}});
        const auto log = server_.receive();
        log_ends_[key] = server_.receive().integer;
        compare_log(key, log);
        if (has_slots_) {
            one.holders = server_.receive();
            one.holders_end = server_.receive().integer;
        }
        for (std::size_t left = sketches_.size(); left > 0; --left)
            one.sketch_ends.push_back(server_.receive().integer);
    }
    after_ = time_of(server_.receive());
    for (std::size_t i = 0; i < keys.size(); ++i) {
        compare_value(s, keys[i], all[i].value);
        compare_end(s, keys[i], all[i].end);
        compare_sketch_ends(s, keys[i], all[i].sketch_ends);
        if (has_slots_)
            compare_slots(keys[i], all[i].holders, all[i].holders_end);
        ends_[keys[i]] = all[i].end;
    }
}

/// On the server's clock a log may have ended, once nothing of it counts.
void trial::compare_log(std::size_t key, const test::reply& value) {
    const auto& log = model_[key].log;
    auto expected = std::vector<core::logged_event>{};
    for (std::size_t i = 0; i < log.size(); ++i)
        expected.push_back(log.event_at(i));
    const auto found = core::kept_events(value.text);
    if (found != expected && !(value.is_null() && told_.server_clock)) {
        const auto text_of = [](const std::vector<core::logged_event>& events) {
            auto text = std::string{};
            for (const auto& e : events)
                text += ' ' + std::to_string(e.t) + ':' + std::to_string(e.sum);
            return text;
        };
        report("key " + std::to_string(key) + " has the log" + text_of(found) + "\nexpected is" +
               text_of(expected));
    }
    if (log_ends_[key] == -1)
        report("key " + std::to_string(key) + " has a log without an end");
}

/// On the server's clock the set comes to its end, but not before the last lease.
void trial::compare_slots(std::size_t key, const test::reply& holders, std::int64_t end) {
    auto& slots = model_[key].slots;
    const auto end_before = std::exchange(slot_ends_[key], end);
    if (told_.server_clock && holders.elements.empty() && end_before > 0 &&
        end_before * 1000 <= after_)
        slots.clear();
    auto expected = std::map<std::string, std::string>{};
    for (const auto& h : slots.holders())
        expected[{h.id.data(), h.id.size()}] = std::to_string(h.end);
    if (slots.token() != 0)
        expected[""] = std::to_string(-slots.token());
    auto found = std::map<std::string, std::string>{};
    for (std::size_t i = 0; i < holders.elements.size(); i += 2)
        found[holders.elements[i].text] = holders.elements[i + 1].text;
    const auto where = "key " + std::to_string(key) + " has holders ";
    if (found != expected) {
        auto text = std::string{};
        for (const auto& [id, end] : found)
            text += "\n    '" + id + "' until " + end;
        text += "\nexpected are";
        for (const auto& [id, end] : expected)
            text += "\n    '" + id + "' until " + end;
        report(where + text);
    }
    const auto last = slots.holders().empty() ? 0 : slots.holders().back().end;
    if (end == -1 || (told_.server_clock && end >= 0 && end * 1000 < last))
        report(where + "and ends at " + std::to_string(end) + " ms");
}

/// A sketch is kept for the longest window and a second at most, and, where the key has counted
/// with it, for as long as its window.
void trial::compare_sketch_ends(const step& s, std::size_t key,
                                const std::vector<std::int64_t>& ends) {
    const auto longest = std::max(longest_sketch_ / 1000, told_.server_clock ? 0 : least_ttl_ms);
    const auto complain = [&](std::int64_t end) {
        report("key " + std::to_string(key) + " has a sketch that ends at " + std::to_string(end) +
               " ms");
    };
    for (const auto end : ends)
        if (end == -1 || end > after_ / 1000 + longest)
            complain(end);
    if (!told_.server_clock || planted_[key] || !written_[key])
        return;
    const auto& rules = rules_for(s, key);
    const auto state = core::decode_value(rules, model_[key].value);
    for (std::uint32_t i = 0; i < rules.size; ++i) {
        const auto family = redis::sketch_family(rules.limits[i].tag);
        const auto place =
            std::ranges::find(sketches_, std::string_view{family.data(), family.size()});
        if (rules.limits[i].kind != core::kind::distinct || state.states[i].debt == 0)
            continue;
        const auto end = ends[static_cast<std::size_t>(place - sketches_.begin())];
        if (end >= 0 && end * 1000 < state.states[i].t)
            complain(end);
    }
}

void trial::compare_value(const step& s, std::size_t key, const test::reply& value) {
    auto& known = model_[key];
    const auto where = "key " + std::to_string(key) + ": ";
    if (known.foreign) {
        if (!value.text.starts_with("WRONGTYPE"))
            report(where + "the list that was there is gone");
        return;
    }
    const auto may_end_at = [&] {
        return written_[key] ? now_ + model_.recovery_time(rules_for(s, key), key, now_)
                             : ends_[key] * 1000;
    };
    const auto found = value.value();
    if (!found && known.value && told_.server_clock && may_end_at() <= after_) {
        known.value.reset();
        return;
    }
    const auto same = written_[key] && found && known.value
                          ? without_promise(*found) == without_promise(*known.value)
                          : found == known.value;
    if (!same)
        report(where + "expected the value\n    " + text_of(known.value) + "\nbut is\n    " +
               text_of(found));
    known.value = found; // with the promise that it makes
}

void trial::compare_end(const step& s, std::size_t key, std::int64_t end) {
    const auto& known = model_[key];
    const auto where = "key " + std::to_string(key) + " ends at " + std::to_string(end) + " ms, ";
    if (s.calls.empty() || known.foreign || !known.value)
        return;
    if (!written_[key]) {
        if (end != ends_[key])
            report(where + "not at " + std::to_string(ends_[key]) + " though nothing was written");
        return;
    }
    // P4: it lives for as long as its state matters, and at most twice that plus one second. The
    // promise in its value is exactly its end; with a supplied clock it promises nothing.
    const auto& rules = rules_for(s, key);
    const auto matters = model_.recovery_time(rules, key, now_);
    const auto longest = 2 * matters + 1'000'000;
    const auto end_us = end * 1000;
    const auto begin = told_.server_clock ? now_ : before_;
    const auto latest = told_.server_clock
                            ? now_ + longest
                            : after_ + std::max(longest, least_ttl_ms * 1000) + 2'000;
    const auto promise = promise_of(*known.value);
    const auto promised = told_.server_clock ? static_cast<double>(end_us) : 0;
    if (end_us < begin + matters || end_us > latest || promise != promised)
        report(where + "at " + std::to_string(begin) + " us it matters for " +
               std::to_string(matters) + " us and may live for " + std::to_string(longest) +
               "; promised was " + std::to_string(static_cast<std::int64_t>(promise)));
}

} // namespace colimit::differential
