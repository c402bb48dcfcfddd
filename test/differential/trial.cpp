// SPDX-License-Identifier: BSL-1.0
//
// Sending and comparing. What is compared of a key, besides its decisions: the bytes of its value
// (but for the field that tells of the key's end), that the value and the key's end stay as they
// were when nothing was to be written, and that a key that was written ends neither before its
// state has recovered nor after twice that time and a second.

#include "trial.hpp"

#include <engine/memory_engine.hpp>
#include <support/decision_text.hpp>

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

namespace colimit::differential {
namespace {

namespace resp = redis::resp;

/// For supplied clocks, which have nothing to do with the time that passes for the server.
constexpr std::int64_t least_ttl_ms = 3'600'000;
constexpr std::string_view least_ttl = "3600000";

/// Of a value: until when its key surely lives.
constexpr std::size_t promise_bytes = 8;

/// An operation refers to an engine; this one is never asked anything.
[[nodiscard]] detail::engine& no_engine() {
    static boost::asio::io_context context;
    static const auto engine =
        std::make_shared<detail::memory_engine>(context.get_executor(), std::size_t{1});
    return *engine;
}

struct call_of_trial : detail::operation {
    call_of_trial() : operation(no_engine(), [](detail::operation*, bool) {}) {}
};

[[nodiscard]] std::string_view without_promise(std::string_view value) {
    return value.substr(std::min(value.size(), promise_bytes));
}

[[nodiscard]] double promise_of(std::string_view value) {
    auto promise = 0.0;
    std::memcpy(&promise, value.data(), promise_bytes);
    return promise;
}

[[nodiscard]] std::string hex(const std::optional<std::string>& bytes) {
    if (!bytes)
        return "nothing";
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out;
    for (const auto c : *bytes) {
        const auto code = static_cast<unsigned char>(c);
        out += {digits[code >> 4U], digits[code & 15U]};
    }
    return out;
}

} // namespace

struct trial::sent_batch {
    redis::batch batch{8};
    std::deque<call_of_trial> calls;
    std::vector<std::size_t> keys; ///< in the order in which the batch has them
};

trial::trial(test::raw_client& server, const history& told, std::string prefix)
    : server_(server), told_(told), prefix_(std::move(prefix)), model_(told.keys),
      written_(told.keys), ends_(told.keys, -2), log_ends_(told.keys, -2) {
    for (std::size_t key = 0; key < told.keys; ++key) {
        const auto bytes = std::to_string(key);
        family_at_ =
            redis::append_key(names_.emplace_back(), {prefix_, told.versions.front().name(), bytes,
                                                      redis::key_hash(bytes)});
    }
}

trial::~trial() = default;

void trial::report(const std::string& what) {
    if (!first_)
        first_ = mismatch{compared_, what};
}

void trial::send() {
    std::string out;
    resp::append_command(out, {"TIME"});
    for (; sent_ < told_.steps.size(); ++sent_) {
        const auto& s = told_.steps[sent_];
        if (s.kind == step_kind::pause && compared_ != sent_)
            break;
        if (s.kind == step_kind::calls)
            send_batch(out, s);
        else if (s.kind != step_kind::pause)
            send_change(out, s);
    }
    if (sent_ == told_.steps.size())
        for (std::size_t key = 0; key < names_.size(); ++key)
            send_unlink(out, key);
    server_.send(out);
}

std::string trial::name_of(std::size_t key, std::string_view family) const {
    auto name = names_[key];
    return name.insert(family_at_, family);
}

/// The key, its log and its sketches of all versions.
void trial::send_unlink(std::string& out, std::size_t key) const {
    auto all = std::set<std::string>{names_[key], name_of(key, redis::log_family)};
    for (const auto& version : told_.versions)
        for (const auto& l : version.data()->plan.rules()) {
            const auto family = redis::sketch_family(l.tag);
            all.insert(name_of(key, {family.data(), family.size()}));
        }
    resp::append_array(out, all.size() + 1);
    resp::append_bulk(out, "UNLINK");
    for (const auto& name : all)
        resp::append_bulk(out, name);
}

std::optional<std::int64_t> trial::pause() const {
    if (compared_ == told_.steps.size())
        return std::nullopt;
    return told_.steps[compared_].milliseconds;
}

void trial::send_batch(std::string& out, const step& s) {
    auto& sent = *in_flight_.emplace_back(std::make_unique<sent_batch>());
    sent.batch.start(told_.versions[s.version].data(), s.calls.front().asked.now, ++nonce_);
    for (const auto& c : s.calls) {
        auto& op = sent.calls.emplace_back();
        op.asked = c.asked;
        sent.batch.add(op, prefix_, std::to_string(c.key));
        if (std::ranges::find(sent.keys, c.key) == sent.keys.end())
            sent.keys.push_back(c.key);
    }
    sent.batch.encode(out, told_.server_clock ? "0" : least_ttl);
    send_looks(out, sent.keys);
}

void trial::send_change(std::string& out, const step& s) const {
    const auto& name = names_[s.key];
    resp::append_command(out, {"DEL", name});
    if (s.kind == step_kind::plant)
        resp::append_command(out, {"SET", name, s.bytes, "PX", least_ttl});
    else if (s.kind == step_kind::intrude)
        resp::append_command(out, {"RPUSH", name, "foreign"});
    else
        resp::append_command(out, {"PING"});
    send_looks(out, {s.key});
}

void trial::send_looks(std::string& out, const std::vector<std::size_t>& keys) const {
    for (const auto key : keys) {
        resp::append_command(out, {"GET", names_[key]});
        resp::append_command(out, {"PEXPIRETIME", names_[key]});
        resp::append_command(out, {"ZCARD", name_of(key, redis::log_family)});
        resp::append_command(out, {"PEXPIRETIME", name_of(key, redis::log_family)});
    }
    resp::append_command(out, {"TIME"});
}

namespace {

[[nodiscard]] std::int64_t time_of(const test::reply& r) {
    return std::stoll(r.elements.at(0).text) * 1'000'000 + std::stoll(r.elements.at(1).text);
}

} // namespace

std::optional<mismatch> trial::compare() {
    after_ = time_of(server_.receive());
    for (; compared_ < sent_; ++compared_)
        compare_step(told_.steps[compared_]);
    if (compared_ == told_.steps.size())
        for (std::size_t i = 0; i < names_.size(); ++i)
            (void)server_.receive();
    return first_;
}

void trial::compare_step(const step& s) {
    if (s.kind == step_kind::pause)
        return;
    before_ = after_;
    written_.assign(told_.keys, false);
    if (s.kind == step_kind::calls) {
        compare_batch(s);
        return;
    }
    (void)server_.receive();
    (void)server_.receive();
    model_[s.key].value.reset();
    if (s.kind == step_kind::plant)
        model_[s.key].value = s.bytes;
    model_[s.key].foreign = s.kind == step_kind::intrude;
    look(s, {s.key});
}

void trial::compare_batch(const step& s) {
    const auto sent = std::move(in_flight_.front());
    in_flight_.pop_front();
    auto found = std::vector<bool>(sent->keys.size());
    if (read_batch(*sent, found)) {
        const auto decided = std::ranges::find_if(sent->calls, [](auto& op) { return !op.ec; });
        if (decided != sent->calls.end())
            now_ = decided->result.server_time.time_since_epoch().count();
        follow_expiry(*sent, found);
        compare_calls(s, *sent);
    }
    look(s, sent->keys);
}

/// Which of the keys the script found, and its decisions.
bool trial::read_batch(sent_batch& sent, std::vector<bool>& found) {
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
        for (std::size_t i = 0; i < found.size(); ++i)
            found[i] = nodes[1 + i].kind != resp::kind::null;
        return true;
    });
}

/// On the server's clock keys come to their end; only then may one be missing.
void trial::follow_expiry(const sent_batch& sent, const std::vector<bool>& found) {
    for (std::size_t i = 0; i < found.size(); ++i) {
        const auto key = sent.keys[i];
        auto& known = model_[key];
        // A rule with a longer window, which came since, does not bring its events back.
        if (told_.server_clock && log_ends_[key] > 0 && (log_ends_[key] + 1) * 1000 <= now_)
            known.log.clear();
        if (known.foreign || !known.value || found[i])
            continue;
        if (!told_.server_clock || ends_[key] * 1000 > now_)
            report("the script did not find key " + std::to_string(key) +
                   ", which must be there until " + std::to_string(ends_[key]) + " ms");
        known.value.reset();
    }
}

void trial::compare_calls(const step& s, sent_batch& sent) {
    for (std::size_t i = 0; i < s.calls.size(); ++i) {
        const auto& c = s.calls[i];
        const auto& op = sent.calls[i];
        const auto where =
            "call " + std::to_string(i + 1) + " on key " + std::to_string(c.key) + ": ";
        if (model_[c.key].foreign) {
            if (op.ec != errc::key_conflict)
                report(where + "no key_conflict, but " + op.ec.message());
            continue;
        }
        if (op.ec) {
            report(where + op.ec.message());
            continue;
        }
        auto asked = c.asked;
        asked.now = now_;
        decision expected;
        const auto effect =
            model_.answer(told_.versions[s.version].data()->plan, c.key, asked, expected);
        written_[c.key] = written_[c.key] || effect != core::effect::nothing;
        if (op.result != expected)
            report(where + "expected\n    " + test::text_of(expected) + "\nbut is\n    " +
                   test::text_of(op.result));
    }
}

void trial::look(const step& s, const std::vector<std::size_t>& keys) {
    auto values = std::vector<std::pair<test::reply, std::int64_t>>{};
    for (std::size_t i = 0; i < keys.size(); ++i) {
        auto value = server_.receive();
        const auto end = server_.receive().integer;
        const auto events = server_.receive().integer;
        log_ends_[keys[i]] = server_.receive().integer;
        compare_log(keys[i], events);
        values.emplace_back(std::move(value), end);
    }
    after_ = time_of(server_.receive());
    for (std::size_t i = 0; i < keys.size(); ++i) {
        compare_value(s, keys[i], values[i].first);
        compare_end(s, keys[i], values[i].second);
        ends_[keys[i]] = values[i].second;
    }
}

/// On the server's clock a log may have ended, once nothing of it counts.
void trial::compare_log(std::size_t key, std::int64_t events) {
    const auto& log = model_[key].log;
    const auto size = static_cast<std::int64_t>(log.size());
    if (events != size && (events != 0 || !told_.server_clock))
        report("key " + std::to_string(key) + " has a log of " + std::to_string(events) +
               " events, not of " + std::to_string(size));
    if (log_ends_[key] == -1)
        report("key " + std::to_string(key) + " has a log without an end");
}

void trial::compare_value(const step& s, std::size_t key, const test::reply& value) {
    auto& known = model_[key];
    const auto where = "key " + std::to_string(key) + ": ";
    if (known.foreign) {
        if (!value.text.starts_with("WRONGTYPE"))
            report(where + "the list that was there is gone");
        return;
    }
    const auto has_ended = [&] {
        const auto& rules = told_.versions[s.version].data()->plan;
        return told_.server_clock && now_ + model_.recovery_time(rules, key, now_) <= after_;
    };
    const auto found = value.value();
    if (!found && known.value && has_ended()) {
        known.value.reset();
        return;
    }
    const auto same = written_[key] && found && known.value
                          ? without_promise(*found) == without_promise(*known.value)
                          : found == known.value;
    if (!same)
        report(where + "expected the value\n    " + hex(known.value) + "\nbut is\n    " +
               hex(found));
    known.value = found; // with the promise that it makes
}

void trial::compare_end(const step& s, std::size_t key, std::int64_t end) {
    const auto& known = model_[key];
    const auto where = "key " + std::to_string(key) + " ends at " + std::to_string(end) + " ms, ";
    if (s.kind != step_kind::calls || known.foreign || !known.value)
        return;
    if (!written_[key]) {
        if (end != ends_[key])
            report(where + "not at " + std::to_string(ends_[key]) + " though nothing was written");
        return;
    }
    // P4: it lives for as long as its state matters, and at most twice that and a second. What it
    // promises in its value is its end, exactly; under a clock of our own it promises nothing.
    const auto& rules = told_.versions[s.version].data()->plan;
    const auto matters = model_.recovery_time(rules, key, now_);
    const auto longest = 2 * matters + 1'000'000;
    const auto end_us = end * 1000;
    const auto begin = told_.server_clock ? now_ : before_;
    const auto latest = after_ + std::max(longest, least_ttl_ms * 1000) + 2'000;
    const auto promise = promise_of(*known.value);
    const auto promised = told_.server_clock ? static_cast<double>(end_us) : 0;
    if (end_us < begin + matters || end_us > latest || promise != promised)
        report(where + "at " + std::to_string(begin) + " us it matters for " +
               std::to_string(matters) + " us and may live for " + std::to_string(longest) +
               "; promised was " + std::to_string(static_cast<std::int64_t>(promise)));
}

} // namespace colimit::differential
