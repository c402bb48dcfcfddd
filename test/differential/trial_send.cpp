// SPDX-License-Identifier: BSL-1.0
//
// The commands of a trial: the batches, changes by other clients, and reading the keys after each
// step.

#include <core/rule_kind.hpp>

#include "trial.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

namespace colimit::differential {

namespace resp = redis::resp;

trial::trial(test::raw_client& server, const scripts& run, const history& told, std::string prefix)
    : server_(server), run_(run), told_(told), prefix_(std::move(prefix)), model_(told.keys),
      written_(told.keys), planted_(told.keys), ends_(told.keys, -2), log_ends_(told.keys, -2),
      slot_ends_(told.keys, -2),
      has_slots_(detail::access::data(told.versions.front())->compiled.has_slots) {
    for (std::size_t key = 0; key < told.keys; ++key) {
        const auto bytes = std::to_string(key);
        family_at_ =
            redis::append_key(names_.emplace_back(), prefix_, told.versions.front().name(), bytes);
    }
    for (const auto& version : told_.versions)
        for (const auto& l : detail::access::data(version)->compiled.rules()) {
            if (l.kind != core::kind::distinct)
                continue;
            const auto family = redis::sketch_family(l.tag);
            sketches_.emplace_back(family.data(), family.size());
            longest_sketch_ = std::max(longest_sketch_, l.period * l.unit + 1'000'000);
        }
    std::ranges::sort(sketches_);
    const auto same = std::ranges::unique(sketches_);
    sketches_.erase(same.begin(), same.end());
}

trial::~trial() = default;

void trial::send() {
    std::string out;
    resp::append_command(out, {"TIME"});
    for (; sent_ < told_.steps.size(); ++sent_) {
        const auto& s = told_.steps[sent_];
        if (s.kind == step_kind::pause && compared_ != sent_)
            break;
        if (!s.calls.empty())
            send_batch(out, s);
        else if (s.kind != step_kind::pause)
            send_change(out, s);
    }
    if (sent_ == told_.steps.size()) {
        for (std::size_t key = 0; key < names_.size(); ++key)
            send_unlink(out, key);
        send_unlink_records(out);
    }
    server_.send(run_.redirect(std::move(out)));
}

std::string trial::name_of(std::size_t key, std::string_view family) const {
    auto name = names_[key];
    return name.insert(family_at_, family);
}

/// The key, its log, its holders and its sketches of all versions.
void trial::send_unlink(std::string& out, std::size_t key) const {
    resp::append_array(out, sketches_.size() + 4);
    resp::append_bulk(out, "UNLINK");
    resp::append_bulk(out, names_[key]);
    resp::append_bulk(out, name_of(key, redis::log_family));
    resp::append_bulk(out, name_of(key, redis::slots_family));
    for (const auto& family : sketches_)
        resp::append_bulk(out, name_of(key, family));
}

/// One command, whose keys may be repeated.
void trial::send_unlink_records(std::string& out) const {
    auto names = std::vector<std::string>{names_.front()};
    for (const auto& s : told_.steps)
        for (const auto& c : s.calls)
            if (c.request.has_id)
                names.push_back(names_[c.key].substr(0, family_at_) +
                                record_of(std::to_string(c.key), c.request.id));
    resp::append_array(out, names.size() + 1);
    resp::append_bulk(out, "UNLINK");
    for (const auto& name : names)
        resp::append_bulk(out, name);
}

void trial::send_calls(sent_batch& sent, const step& s) {
    for (const auto& c : s.calls) {
        auto& op = sent.calls.emplace_back(c.request);
        op.lease.further_calls = c.further;
        sent.batch.add(op, prefix_, std::to_string(c.key));
        if (std::ranges::find(sent.keys, c.key) == sent.keys.end())
            sent.keys.push_back(c.key);
    }
}

void trial::send_together(sent_batch& sent, const step& s) {
    auto names = std::vector<std::string>{};
    for (const auto& c : s.calls) {
        names.push_back(std::to_string(c.key));
        sent.keys.push_back(c.key);
        sent.checks.push_back({.key = {},
                               .policy = told_.versions[c.version],
                               .options = {.cost = c.request.cost,
                                           .at_least = c.request.at_least,
                                           .member = c.request.member}});
    }
    for (std::size_t i = 0; i < names.size(); ++i)
        sent.checks[i].key = names[i];
    auto& op = sent.calls.emplace_back();
    op.checks = sent.checks;
    if (!sent.batch.add_checks(op, prefix_))
        throw std::logic_error{"two checks are about one state"};
}

void trial::send_batch(std::string& out, const step& s) {
    auto& sent = *in_flight_.emplace_back(std::make_unique<sent_batch>());
    const auto& first = s.calls.front();
    sent.batch.start(detail::access::data(told_.versions[first.version]), first.request.now,
                     ++nonce_, redis::script_batch::any_group, s.has_ids());
    if (s.kind == step_kind::together)
        send_together(sent, s);
    else
        send_calls(sent, s);
    auto ttls = std::string{told_.server_clock ? "0" : least_ttl};
    if (s.has_ids())
        ttls += record_ttl;
    sent.batch.encode(out, ttls, run_.form_of(sent.batch, nonce_));
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
        resp::append_command(out, {"GET", name_of(key, redis::log_family)});
        resp::append_command(out, {"PEXPIRETIME", name_of(key, redis::log_family)});
        if (has_slots_) {
            const auto name = name_of(key, redis::slots_family);
            resp::append_command(out, {"ZRANGE", name, "0", "-1", "WITHSCORES"});
            resp::append_command(out, {"PEXPIRETIME", name});
        }
        for (const auto& family : sketches_)
            resp::append_command(out, {"PEXPIRETIME", name_of(key, family)});
    }
    resp::append_command(out, {"TIME"});
}

} // namespace colimit::differential
