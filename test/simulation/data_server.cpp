// SPDX-License-Identifier: BSL-1.0
//
// The commands of a server, and its states.

#include "data_server.hpp"

#include <core/wire_version.hpp>
#include <redis/protocol/script.hpp>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace colimit::simulation {

namespace resp = redis::resp;

namespace {

constexpr std::int64_t per_command = 5; ///< microseconds
constexpr std::int64_t per_load = 60;
constexpr std::int64_t per_batch = 40;
constexpr std::int64_t per_call = 3;

constexpr std::string_view read_only = "READONLY You can't write against a read only replica.";

} // namespace

data_server::data_server(network& of, place where, const catalogue& names, ledger& records,
                         slot_rules* rules)
    : redis_node(of, where, rules), names_(names), records_(records),
      states_(names.states().size()) {
    has_module = of.os().random().percent(50);
}

void data_server::copy_data(const redis_node& master) {
    const auto& from = static_cast<const data_server&>(master);
    states_ = from.states_;
    remembered_ = from.remembered_;
}

void data_server::be_left() {
    for (auto& s : states_)
        s.is_left_behind = true;
}

void data_server::clear() {
    states_.assign(states_.size(), {});
    remembered_.clear();
}

bool data_server::has(std::string_view key) const {
    const auto state = names_.find(key);
    return state ? states_[*state].value.has_value() : remembered_.contains(key);
}

/// Returns whether it has the state or a record of its calls.
bool data_server::has_any(std::size_t state) const {
    return states_[state].value.has_value() ||
           std::ranges::any_of(remembered_,
                               [state](const auto& r) { return r.second.state == state; });
}

std::vector<std::string> data_server::keys_in(std::size_t slot) const {
    auto found = std::vector<std::string>{};
    for (std::size_t s = 0; s < names_.states().size(); ++s)
        if (names_.states()[s].slot == slot && has_any(s))
            found.push_back(names_.states()[s].text);
    return found;
}

void data_server::hand_over(const std::string& key, redis_node& to_node) {
    auto& to = static_cast<data_server&>(to_node);
    const auto state = names_.state_of(key);
    to.states_[state] = std::exchange(states_[state], {});
    on_write(state);
    to.on_write(state);
    for (auto i = remembered_.begin(); i != remembered_.end();) {
        const auto next = std::next(i);
        if (i->second.state == state) {
            to.remembered_.insert_or_assign(i->first, i->second);
            to.on_record(i->first);
            const auto name = i->first;
            remembered_.erase(i);
            on_record(name);
        }
        i = next;
    }
}

void data_server::on_write(std::size_t state) {
    replicate([this, state](redis_node& r) -> write {
        auto* at = static_cast<data_server*>(&r);
        return [at, state, value = states_[state]](bool is_lost) {
            if (is_lost)
                at->states_[state].account = no_account;
            else
                at->states_[state] = value;
        };
    });
}

/// It was written, or removed.
void data_server::on_record(const std::string& name) {
    auto now = std::optional<stored_record>{};
    if (const auto found = remembered_.find(name); found != remembered_.end())
        now = found->second;
    replicate([&](redis_node& r) -> write {
        auto* at = static_cast<data_server*>(&r);
        return [at, name, now](bool is_lost) {
            if (!is_lost && now)
                at->remembered_.insert_or_assign(name, *now);
            else if (!is_lost)
                at->remembered_.erase(name);
        };
    });
}

std::int64_t data_server::execute(session& of, words command, std::string& out) {
    if (is_word(command[0], "HELLO")) {
        append_hello(out, mode());
        return per_command;
    }
    if (is_loading()) {
        append_error(out, "LOADING Redis is loading the dataset in memory");
        return per_command;
    }
    if (greet(of, command, out))
        return per_command;
    const auto took = is_word(command[0], "COLIMIT.CHECK") ? run_module(of, command, out)
                                                           : run_script(of, command, out);
    of.is_asking = false;
    return took;
}

void data_server::load(std::string_view body, std::string& out) {
    for (const auto* s : {&redis::check_script, &redis::permissions_script, &redis::seen_script})
        if (s->body == body) {
            scripts_.emplace(s->sha1);
            return resp::append_bulk(out, s->sha1);
        }
    throw violation{"an unknown script is loaded"};
}

std::int64_t data_server::run_script(session& of, words command, std::string& out) {
    if (is_word(command[0], "SCRIPT")) {
        load(command[2], out);
        return per_load;
    }
    const auto is_whole = is_word(command[0], "EVAL");
    if (!is_whole && !is_word(command[0], "EVALSHA"))
        throw violation{"an unknown command: " + std::string{command[0]}};
    auto digest = std::string{};
    if (is_whole)
        load(command[1], digest);
    else if (!scripts_.contains(command[1])) {
        append_error(out, "NOSCRIPT No matching script. Please use EVAL.");
        return per_command;
    }
    if (command[1] != redis::permissions_script.sha1)
        return run_batch(of, command, out);
    append_texts(out, {"", "", is_master() ? std::string_view{} : read_only});
    return per_batch;
}

std::int64_t data_server::run_module(session& of, words command, std::string& out) {
    if (has_module && command.size() > 2)
        return run_batch(of, command, out);
    if (!has_module)
        append_error(out, "ERR unknown command 'COLIMIT.CHECK', with args beginning with: ");
    else if (!is_master())
        append_error(out, read_only);
    else
        out.append("*3\r\n$7\r\ncolimit\r\n:" + std::to_string(core::wire_version) +
                   "\r\n$5\r\n1.2.3\r\n");
    return per_command;
}

std::int64_t data_server::run_batch(session& of, words command, std::string& out) {
    const auto b = read_batch(names_, command);
    auto keys = std::vector<std::string_view>{};
    for (const auto state : b.states)
        keys.push_back(names_.states()[state].text);
    keys.insert(keys.end(), b.record_names.begin(), b.record_names.end());
    const auto refusal = refusal_of_cluster(keys, of.is_asking);
    if (!refusal.empty()) {
        append_error(out, refusal);
        return per_command;
    }
    if (!is_master() && is_word(command[0], "COLIMIT.CHECK")) {
        append_error(out, read_only);
        return per_command;
    }
    apply_writes(os().now());
    auto& m = os();
    if (m.flaw() == flaw::forgets && m.random().percent(2))
        states_[b.states.front()].value.reset();
    if (m.flaw() == flaw::forgets_records && m.random().percent(20))
        remembered_.clear();
    auto context = execution_context{.names = names_,
                                     .records = records_,
                                     .states = states_,
                                     .remembered = remembered_,
                                     .clock = clock(),
                                     .is_read_only = !is_master(),
                                     .on_write = [this](std::size_t s) { on_write(s); },
                                     .on_record = [this](const auto& r) { on_record(r); }};
    if (m.flaw() == flaw::executes_twice && m.random().percent(2)) {
        auto unread = std::string{};
        simulation::execute(b, context, unread);
    }
    simulation::execute(b, context, out);
    return per_batch + per_call * static_cast<std::int64_t>(b.calls.size());
}

} // namespace colimit::simulation
