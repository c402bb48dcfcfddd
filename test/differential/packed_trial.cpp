// SPDX-License-Identifier: BSL-1.0
//
// On the server's clock a hash ends a second after it is needed. Histories take milliseconds; one
// that a busy machine held up for so long is not compared any further.

#include "packed_trial.hpp"

#include "shrink.hpp"

#include <policy/policy_data.hpp>
#include <redis/protocol/key.hpp>
#include <redis/protocol/known_replies.hpp>
#include <support/decision_text.hpp>
#include <support/usual_tags.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <limits>
#include <map>
#include <thread>
#include <utility>

namespace colimit::differential {
namespace {

namespace resp = redis::resp;

/// A head is in the new hash.
[[nodiscard]] std::size_t hash_of(packed_place p) {
    return p == packed_place::old_hash ? row_model::old_hash : row_model::new_hash;
}

using fields = std::map<std::string, std::string>;

[[nodiscard]] std::string difference(const std::string& name, const fields& expected,
                                     const fields& found) {
    auto text = name + ": expected";
    for (const auto* all : {&expected, &found}) {
        for (const auto& [field, bytes] : *all)
            text += "\n    " + field + " = " + hex(bytes);
        text += all == &expected ? "\nbut is" : "";
    }
    return text;
}

} // namespace

packed_trial::packed_trial(test::raw_client& server, const scripts& run, const history& told,
                           std::string prefix)
    : server_(server), run_(run), told_(told), prefix_(std::move(prefix)), model_(told.keys),
      rows_(redis::shard_count) {}

/// Other bytes in each history, so that its keys share rows in other ways.
std::string packed_trial::bytes_of(std::size_t key) const {
    return std::to_string(told_.seed % 1000 * 10 + key);
}

std::string packed_trial::field_of(std::size_t key) const {
    return "k:" + bytes_of(key);
}

std::size_t packed_trial::row_of(std::size_t key) const {
    return test::shard_of(bytes_of(key));
}

std::string packed_trial::name_of(std::size_t row, std::size_t hash) const {
    auto name = std::string{};
    redis::append_shard(name, prefix_, told_.versions.front().name(), row);
    return name + (hash == row_model::new_hash ? "new" : "old");
}

void packed_trial::report(const std::string& what) {
    if (!first_ && !late_)
        first_ = mismatch{step_, what};
}

std::optional<mismatch> packed_trial::run() {
    for (; step_ < told_.steps.size() && !first_ && !late_; ++step_)
        run_step(told_.steps[step_]);
    for (std::size_t row = 0; row < rows_.size(); ++row)
        server_.must({"UNLINK", name_of(row, 0), name_of(row, 1)});
    for (const auto& s : told_.steps)
        for (const auto& c : s.calls)
            if (c.request.has_id) {
                auto name = std::string{};
                redis::append_shard(name, prefix_, told_.versions.front().name(), row_of(c.key));
                server_.must({"UNLINK", name + record_of(bytes_of(c.key), c.request.id)});
            }
    return first_;
}

void packed_trial::run_step(const step& s) {
    if (s.kind == step_kind::pause)
        return std::this_thread::sleep_for(std::chrono::milliseconds{s.milliseconds});
    before_ = server_.time();
    for (auto& r : rows_)
        for (auto& h : {row_model::new_hash, row_model::old_hash})
            r[h].lives_for.reset();
    const auto end_before = earliest_end();
    s.calls.empty() ? meddle(s) : ask(s);
    if (told_.server_clock && server_.time() / 1000 >= std::min(end_before, earliest_end())) {
        late_ = true;
        first_.reset();
    }
}

/// Returns when the first of the hashes ends by what is known of them, in milliseconds.
std::int64_t packed_trial::earliest_end() {
    auto earliest = std::numeric_limits<std::int64_t>::max();
    for (auto& r : rows_)
        for (const auto hash : {row_model::new_hash, row_model::old_hash}) {
            const auto& known = r[hash];
            const auto end = known.lives_for ? now_ / 1000 + *known.lives_for : known.end;
            earliest = end >= 0 ? std::min(earliest, end) : earliest;
        }
    return earliest;
}

/// Another client writes a field, replaces a hash by a list, or deletes one.
void packed_trial::meddle(const step& s) {
    const auto row = row_of(s.key);
    const auto hash = hash_of(s.place);
    const auto name = name_of(row, hash);
    auto& known = rows_[row][hash];
    if (s.kind != step_kind::plant || known.foreign) {
        server_.must({"DEL", name});
        known = {};
    }
    if (s.kind == step_kind::intrude) {
        server_.must({"RPUSH", name, "foreign"});
        known.foreign = true;
        known.end = -1;
    }
    planted_ = planted_ || s.kind == step_kind::plant;
    if (s.kind == step_kind::plant) {
        const auto field = s.place == packed_place::head ? "" : field_of(s.key);
        server_.must({"HSET", name, field, s.bytes});
        known.fields[field] = s.bytes;
        known.end = known.end == -2 ? -1 : known.end;
    }
    look(row);
}

void packed_trial::ask(const step& s) {
    auto sent = sent_batch{};
    const auto& first = s.calls.front();
    sent.batch.start(detail::access::data(told_.versions[first.version]), first.request.now, step_,
                     redis::script_batch::any_group, s.has_ids());
    auto rows = std::set<std::size_t>{};
    for (const auto& c : s.calls) {
        auto& op = sent.calls.emplace_back(c.request);
        op.lease.further_calls = c.further;
        sent.batch.add(op, prefix_, bytes_of(c.key));
        rows.insert(row_of(c.key));
    }
    auto out = std::string{};
    auto ttls = std::string{told_.server_clock ? "0" : least_ttl};
    if (s.has_ids())
        ttls += record_ttl;
    sent.batch.encode(out, ttls, run_.form_of(sent.batch, step_));
    server_.send(run_.redirect(std::move(out)));
    const auto readable = server_.receive([&](const resp::decoder& d, std::string_view bytes) {
        const auto nodes = d.nodes();
        if (nodes.front().kind == resp::kind::error)
            report("the script failed: " + std::string{d.text(nodes.front(), bytes)});
        else if (!sent.batch.read_reply(d, bytes))
            report("the reply is not one to this batch");
        else if (const auto header = redis::read_header(d.text(nodes.back(), bytes)))
            now_ = header->seconds * 1'000'000 + header->microseconds;
        return !first_;
    });
    if (!readable)
        return;
    expect(s, sent);
    for (const auto row : rows)
        look(row);
}

void packed_trial::expect(const step& s, const sent_batch& sent) {
    for (std::size_t row = 0; row < rows_.size(); ++row) {
        auto keys = std::set<std::size_t>{};
        for (const auto& c : s.calls)
            if (row_of(c.key) == row)
                keys.insert(c.key);
        if (!keys.empty())
            expect_row(s, sent, row, keys);
    }
}

/// A hash that is none fails all keys of its row that have to look there, and those that have to
/// write.
void packed_trial::expect_row(const step& s, const sent_batch& sent, std::size_t row,
                              const std::set<std::size_t>& keys) {
    const auto& rules = detail::access::data(told_.versions[s.calls.front().version])->compiled;
    auto& known = rows_[row];
    const auto is_new = [&](std::size_t key) {
        return known[row_model::new_hash].fields.contains(field_of(key));
    };
    const auto no_old = known[row_model::old_hash].foreign;
    const auto readable =
        !known[row_model::new_hash].foreign && (!no_old || std::ranges::all_of(keys, is_new));
    const auto turns = known.turns(rules, now_);
    const auto brief = known.is_brief(rules);
    auto writes = std::vector<std::size_t>{};
    auto longest = std::int64_t{0};
    for (const auto key : keys) // before any is written: a new generation drops the old hash
        model_[key].value = known.find(rules, field_of(key));
    for (const auto key : keys) {
        const auto found = model_[key].value;
        auto changed = false;
        auto calls_known = known_;
        const auto expected = answers_for(s, key, changed, calls_known);
        const auto& value = model_[key].value;
        changed = changed && (value || found);
        const auto well = readable && !(changed && no_old && (turns || !value));
        compare_calls(s, sent, key, expected, well);
        if (well)
            known_ = std::move(calls_known);
        if (!changed || !well)
            continue;
        if (!value) {
            known.erase(field_of(key));
            continue;
        }
        writes.push_back(key);
        const auto matters = model_.recovery_time(rules, key, now_);
        longest = std::max(longest, std::min(matters, limits::max_recovery.count()));
        // A state that was stored with other numbers may matter for longer.
        if (matters > rules.generation && !planted_ && told_.versions.size() == 1)
            report("key " + std::to_string(key) + " matters for " + std::to_string(matters) +
                   " us, longer than a generation");
    }
    if (writes.empty())
        return;
    if (turns)
        compare_dropped(rules, row);
    known.open(rules, now_, longest, told_.server_clock ? 0 : least_ttl_ms, !told_.server_clock);
    for (const auto key : writes)
        known.write(rules, field_of(key), *model_[key].value, brief);
}

std::vector<packed_trial::expectation>
packed_trial::answers_for(const step& s, std::size_t key, bool& changed, known_calls& known) {
    auto all = std::vector<expectation>{};
    const auto make = [&](const key_call& c, decision& answer) {
        auto request = c.request;
        request.now = now_;
        const auto& rules = detail::access::data(told_.versions[c.version])->compiled;
        changed = model_.answer(rules, key, request, answer) != core::effect::nothing || changed;
    };
    struct lease {
        std::size_t call;  ///< that asks for it
        std::size_t place; ///< in `all`
    };
    auto asked = std::optional<lease>{};
    const auto grant = [&] {
        const auto [call, place] = *std::exchange(asked, std::nullopt);
        auto answer = decision{};
        for (auto left = s.calls[call].further; left > 0; --left) {
            make(s.calls[call], answer);
            all[place].leased += answer.allowed() ? 1 : 0;
        }
    };
    for (std::size_t i = 0; i < s.calls.size(); ++i) {
        const auto& c = s.calls[i];
        if (c.key != key)
            continue;
        const auto& policy = *detail::access::data(told_.versions[c.version]);
        if (asked && !s.are_equal(asked->call, i))
            grant();
        auto& one = all.emplace_back();
        if (const auto* found = known.find(key, c.request)) {
            one = {found->answer, found->difference(c.request, policy)};
            continue;
        }
        make(c, one.answer);
        known.remember(key, c.request, policy, one.answer);
        if (c.further != 0)
            asked = {.call = i, .place = all.size() - 1};
    }
    if (asked)
        grant();
    return all;
}

/// While a clock runs and rules stay, all that a new generation leaves behind says what nothing
/// says.
void packed_trial::compare_dropped(const core::compiled_policy& rules, std::size_t row) {
    if (!told_.server_clock || planted_ || told_.versions.size() > 1)
        return;
    for (std::size_t key = 0; key < told_.keys; ++key) {
        const auto& dropped = rows_[row][row_model::old_hash].fields;
        const auto found = dropped.find(field_of(key));
        if (row_of(key) != row || found == dropped.end())
            continue;
        const auto kept = std::exchange(model_[key].value, found->second);
        const auto request = core::call_request{.verb = core::verb::peek, .now = now_};
        auto with = decision{};
        auto without = decision{};
        (void)model_.answer(rules, key, request, with);
        model_[key].value.reset();
        (void)model_.answer(rules, key, request, without);
        if (with != without)
            report("key " + std::to_string(key) + " is dropped before it has recovered");
        model_[key].value = kept;
    }
}

void packed_trial::compare_calls(const step& s, const sent_batch& sent, std::size_t key,
                                 const std::vector<expectation>& expected, bool well) {
    auto next = expected.begin();
    for (std::size_t i = 0; i < s.calls.size(); ++i) {
        if (s.calls[i].key != key)
            continue;
        const auto& op = sent.calls[i];
        const auto& one = *next++;
        const auto where =
            "call " + std::to_string(i + 1) + " on key " + std::to_string(key) + ": ";
        if (!well) {
            if (op.ec != errc::key_conflict)
                report(where + "no key_conflict, but " + op.ec.message());
        } else if (one.other != detail::fault::none) {
            if (op.ec.message() != detail::text_of(one.other))
                report(where + "not " + detail::text_of(one.other) + ", but " + op.ec.message());
        } else if (op.ec) {
            report(where + op.ec.message());
        } else if (op.result != one.answer) {
            report(where + "expected\n    " + test::text_of(one.answer) + "\nbut is\n    " +
                   test::text_of(op.result));
        } else if (s.calls[i].further != 0 && op.lease.granted != one.leased) {
            report(where + "the lease has " + std::to_string(op.lease.granted) +
                   " calls, expected " + std::to_string(one.leased));
        }
    }
}

void packed_trial::look(std::size_t row) {
    for (const auto hash : {row_model::new_hash, row_model::old_hash}) {
        const auto name = name_of(row, hash);
        auto& known = rows_[row][hash];
        const auto all = server_({known.foreign ? "LLEN" : "HGETALL", name});
        if (all.is_error())
            report(name + ": " + all.text);
        auto found = std::map<std::string, std::string>{};
        for (std::size_t i = 0; i + 1 < all.elements.size(); i += 2)
            found[all.elements[i].text] = all.elements[i + 1].text;
        if (found != known.fields)
            report(difference(name, known.fields, found));
        compare_end(name, known, server_.must({"PEXPIRETIME", name}).integer);
    }
}

void packed_trial::compare_end(const std::string& name, row_hash& known, std::int64_t end) {
    const auto is_there = known.foreign || !known.fields.empty();
    auto least = is_there ? known.end : -2;
    auto most = least;
    if (known.lives_for) {
        least = (told_.server_clock ? now_ : before_) / 1000 + *known.lives_for;
        most = (told_.server_clock ? now_ : server_.time()) / 1000 + *known.lives_for;
    }
    if (end < least || end > most)
        report(name + " ends at " + std::to_string(end) + " ms, not from " + std::to_string(least) +
               " to " + std::to_string(most));
    known.end = end;
}

bool compare_packed(test::raw_client& server, const scripts& scripts, std::size_t calls,
                    std::uint64_t seed) {
    const auto prefix = "differential-" + std::to_string(::getpid()) + "-p";
    auto histories = std::uint64_t{0};
    auto trials = std::uint64_t{0};
    const auto difference_in = [&](const history& h) {
        return packed_trial{server, scripts, h, prefix + std::to_string(++trials)}.run();
    };
    for (auto told = std::size_t{0}; told < calls; ++histories) {
        auto next = random_history(seed * 1'000'003 + histories, histories % 4 == 3, true);
        told += next.calls();
        auto found = difference_in(next);
        if (!found)
            continue;
        auto attempts = 0;
        const auto smallest = shrink(std::move(next), [&](const history& smaller) {
            const auto again = ++attempts < most_attempts ? difference_in(smaller) : std::nullopt;
            if (again)
                found = again;
            return again.has_value();
        });
        std::cout << "C++ and Lua differ about packed states (seed " << seed << ", history "
                  << smallest.seed << (smallest.server_clock ? ", the server's clock" : "")
                  << "):\n"
                  << smallest << "after step " << found->step + 1 << ", " << found->what << '\n';
        return false;
    }
    std::cout << calls << " calls on packed states in " << histories << " histories: they agree\n";
    return true;
}

} // namespace colimit::differential
