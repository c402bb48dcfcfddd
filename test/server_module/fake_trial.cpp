// SPDX-License-Identifier: BSL-1.0
//
// Makes hostile commands, and compares the fake server with its replica.

#include <server_module/fake_trial.hpp>
#include <server_module/hostile_commands.hpp>

#include <cstdlib>
#include <iostream>
#include <utility>

namespace colimit::test::fake {
namespace {

[[nodiscard]] std::string printable(const words& texts) {
    auto out = std::string{};
    for (const auto& text : texts) {
        for (const auto c : text)
            if (c > ' ' && c <= '~')
                out += c;
            else
                out += "\\" + std::to_string(static_cast<unsigned char>(c));
        out += ' ';
    }
    return out;
}

/// The names of all keys of both.
[[nodiscard]] std::set<std::string> names_in(const data& a, const data& b) {
    auto all = std::set<std::string>{};
    for (const auto* d : {&a, &b})
        for (const auto& [name, v] : d->keys())
            all.insert(name);
    return all;
}

} // namespace

trial::trial(choices from) : from_(from), propagates_commands_(from_.percent(40)) {
    const auto arguments = propagates_commands_ ? words{"replicate", "command"} : words{};
    for (auto* s : {&master_, &replica_})
        if (!s->load(arguments))
            fail("", "cannot exist, as the module was not loaded: " + s->log);
    replica_.flags = is_replica | from_master;
    replica_.has_backlog = true; // as replicas do; and the module remembers it for both servers
}

/// Chooses the time, and what the server says of itself.
void trial::choose_state() {
    static constexpr std::int64_t steps_us[] = {0,     1, 999, 20'000, 3'000'000, 3'600'000'000,
                                                -5'000};
    master_.now_us += from_.pick(steps_us);
    if (!has_replica_ && from_.percent(10)) {
        has_replica_ = true;
        master_.accept_replica();
        replica_.keys.copy_from(master_.keys);
    }
    master_.flags = from_.percent(10) ? from_script : 0;
    master_.flags |= from_.percent(10) ? in_transaction : 0;
    master_.flags |= from_.percent(5) ? in_cluster : 0;
    master_.flags |= from_.percent(10) ? has_aof : 0;
    master_.is_full = from_.percent(5);
    master_.flags |= master_.is_full || from_.percent(5) ? is_over_maxmemory : 0;
    if (from_.percent(10)) // it repeats what its own master has decided
        master_.flags |= from_.percent(50) ? from_master : is_loading;
}

/// Runs a command of other clients on both servers.
void trial::plant(words command) {
    auto all = std::vector<words>{};
    if (command[0] == "EVAL") { // it plants a value of another type, and its TTL
        const auto& key = command[3];
        if (command.size() == 4)
            all.push_back({"RPUSH", key, "x"});
        else
            all.push_back({command[4], key, command[5], command[6]});
        all.push_back({"PEXPIRE", key, "60000"});
    } else {
        all.push_back(std::move(command));
    }
    master_.keys.begin(master_.now_ms(), false);
    replica_.keys.begin(master_.now_ms(), false);
    for (const auto& c : all) {
        if (master_.keys.execute(c)->kind == reply_kind::error)
            return;
        if (has_replica_)
            (void)replica_.keys.execute(c);
    }
}

/// Ends the process: something is wrong with a key after the last command.
void trial::fail(const std::string& key, const std::string& what) const {
    std::cerr << printable(last_) << '\n';
    for (const auto& c : master_.propagated)
        std::cerr << "propagated " << printable(c) << '\n';
    std::cerr << "the key " << key << ' ' << what << '\n';
    std::abort();
}

/// What differs from the replica was changed by the last command.
void trial::check_signals() const {
    for (const auto& name : names_in(master_.keys, replica_.keys))
        if (!master_.signalled.contains(name) &&
            master_.keys.text_of(name) != replica_.keys.text_of(name))
            fail(name, "was not reported as modified");
}

/// Makes the changes at the replica.
void trial::follow() {
    replica_.now_us = master_.now_us;
    replica_.keys.begin(master_.now_ms(), true);
    check_signals();
    for (const auto& c : master_.propagated)
        replica_.repeat(c);
    for (const auto& name : names_in(master_.keys, replica_.keys)) {
        const auto here = master_.keys.text_of(name);
        const auto there = replica_.keys.text_of(name);
        if (here != there)
            fail(name, "is\n" + printable({here}) + "\nand at the replica\n" + printable({there}));
        if (here.starts_with("-1 "))
            fail(name, "does not expire");
    }
}

void trial::step() {
    choose_state();
    if (from_.percent(10))
        return plant(foreign_command(from_));
    last_ = module_command(from_);
    const auto reply = master_.run(last_);
    executed_ += reply.starts_with('*') ? 1U : 0U;
    if (has_replica_)
        follow();
}

} // namespace colimit::test::fake
