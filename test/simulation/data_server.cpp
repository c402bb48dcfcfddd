// SPDX-License-Identifier: BSL-1.0
//
// The commands of a server, and the accounts of its states.

#include "data_server.hpp"

#include <redis/protocol/hash_slot.hpp>

#include <utility>

namespace colimit::simulation {
namespace {

constexpr std::int64_t per_command = 5; ///< microseconds
constexpr std::int64_t per_batch = 50;

} // namespace

data_server::data_server(network& of, place where, const catalogue& names, ledger& records,
                         slot_rules* rules)
    : script_node(of, where, rules), names_(names), records_(records),
      histories_(names.states().size()) {
    has_module = of.os().random().percent(50);
}

void data_server::copy_data(const redis_node& master) {
    script_node::copy_data(master);
    histories_ = static_cast<const data_server&>(master).histories_;
}

void data_server::be_left() {
    for (auto& h : histories_)
        h.is_left_behind = true;
}

void data_server::clear() {
    script_node::clear();
    histories_.assign(histories_.size(), {});
}

void data_server::hand_over(const std::string& key, redis_node& to_node) {
    auto& to = static_cast<data_server&>(to_node);
    const auto slot = redis::hash_slot(key);
    if (const auto state = names_.find(key)) {
        script_node::hand_over(key, to);
        to.histories_[*state] = std::exchange(histories_[*state], {});
        replicate_history(*state);
        to.replicate_history(*state);
    }
    for (const auto& record : keys_in(slot))
        if (!names_.find(record))
            script_node::hand_over(record, to);
}

void data_server::replicate_history(std::size_t state) {
    replicate([this, state](redis_node& r) -> write {
        auto* at = static_cast<data_server*>(&r);
        return [at, state, now = histories_[state]](bool is_lost) {
            if (is_lost)
                at->histories_[state].account = no_account;
            else
                at->histories_[state] = now;
        };
    });
}

/// What expires has recovered by this server's clock, which may be set back afterwards.
void data_server::expire() {
    const auto now = clock();
    for (std::size_t s = 0; s < histories_.size(); ++s)
        if (const auto* found = server_.keys.find(names_.states()[s].text);
            found != nullptr && found->expires_ms <= now / millisecond &&
            histories_[s].account != no_account)
            records_.advance(histories_[s].account, now);
    (void)keys();
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
    if (!run_script(of, command, out))
        throw violation{"an unknown command: " + std::string{command[0]}};
    return per_batch;
}

void data_server::make_mistakes(const batch& b) {
    auto& m = os();
    if (m.flaw() == flaw::forgets && m.random().percent(2))
        server_.keys.erase(names_.states()[b.states.front()].text);
    if (m.flaw() == flaw::forgets_records && m.random().percent(20)) {
        auto all = std::vector<std::string>{};
        for (const auto& [name, value] : server_.keys.keys())
            if (!names_.find(name))
                all.push_back(name);
        for (const auto& name : all)
            server_.keys.erase(name);
    }
}

std::string data_server::execute_checks(const redis::script* script, words command) {
    if (script == &redis::permissions_script || command.size() == 2)
        return script_node::execute_checks(script, command);
    const auto b = read_batch(names_, command);
    expire();
    make_mistakes(b);
    auto& m = os();
    auto times = m.flaw() == flaw::executes_twice && m.random().percent(2) ? 2 : 1;
    auto reply = std::string{};
    auto context = execution_context{.names = names_,
                                     .records = records_,
                                     .histories = histories_,
                                     .keys = server_.keys,
                                     .clock = server_.now_us,
                                     .is_read_only = !is_master(),
                                     .on_history = [this](std::size_t s) { replicate_history(s); }};
    for (; times != 0; --times) {
        reply = script_node::execute_checks(script, command);
        if (!reply.starts_with('-'))
            account(b, reply, context);
    }
    return reply;
}

} // namespace colimit::simulation
