// SPDX-License-Identifier: BSL-1.0
//
// Scripts, the module, and the replication of what they have changed.

#include "script_node.hpp"

#include <redis/protocol/hash_slot.hpp>
#include <server_module/script_engine.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <utility>

namespace colimit::simulation {

namespace fake = test::fake;
namespace resp = redis::resp;

namespace {

constexpr auto known_scripts =
    std::array{&redis::check_script, &redis::seen_script, &redis::permissions_script};

} // namespace

fake::words owned(words command) {
    auto made = fake::words{command.begin(), command.end()};
    made.front() = fake::upper(made.front());
    return made;
}

script_node::script_node(network& of, place where, slot_rules* rules)
    : redis_node(of, where, rules) {
    server_.has_backlog = true;
    if (!server_.load())
        throw violation{"the module was not loaded: " + server_.log};
}

void script_node::copy_data(const redis_node& master) {
    server_.keys.copy_from(static_cast<const script_node&>(master).server_.keys);
}

bool script_node::has(std::string_view key) const {
    return server_.keys.keys().contains(std::string{key});
}

std::vector<std::string> script_node::keys_in(std::size_t slot) const {
    auto found = std::vector<std::string>{};
    for (const auto& [name, value] : server_.keys.keys())
        if (redis::hash_slot(name) == slot)
            found.push_back(name);
    return found;
}

/// As RESTORE and DEL; replicas get both.
void script_node::hand_over(const std::string& key, redis_node& to_node) {
    auto& to = static_cast<script_node&>(to_node);
    const auto moved = std::make_shared<fake::data>();
    server_.keys.move(key, *moved);
    to.server_.keys.copy(*moved, key);
    to.replicate([&](redis_node& r) -> write {
        return [at = static_cast<script_node*>(&r), moved, key](bool is_lost) {
            if (!is_lost)
                at->server_.keys.copy(*moved, key);
        };
    });
    send_to_replicas({"DEL", key});
}

fake::data& script_node::keys() {
    server_.now_us = clock();
    server_.keys.begin(server_.now_ms(), false);
    return server_.keys;
}

void script_node::send_to_replicas(const fake::words& command) {
    replicate([&](redis_node& r) -> write {
        return [at = static_cast<script_node*>(&r), command](bool is_lost) {
            if (is_lost)
                return;
            auto& s = at->server_;
            at->expire();
            s.now_us = at->clock();
            s.flags = fake::is_replica | fake::from_master;
            s.keys.begin(s.now_ms(), true);
            s.repeat(command);
        };
    });
}

void script_node::load_script(std::string_view body, std::string& out) {
    for (const auto* s : known_scripts)
        if (s->body == body) {
            scripts_.emplace(s->sha1);
            return resp::append_bulk(out, s->sha1);
        }
    throw violation{"an unknown script is loaded"};
}

bool script_node::run_script(session& of, words command, std::string& out) {
    const auto name = fake::upper(std::string{command[0]});
    if (name == "SCRIPT") {
        if (!is_word(command[1], "FLUSH"))
            load_script(command[2], out);
        else {
            forget_scripts();
            out.append("+OK\r\n");
        }
        return true;
    }
    if (name.starts_with("COLIMIT.")) {
        if (has_module)
            run_checks(of, nullptr, command, out);
        else
            append_error(out, "ERR unknown command '" + std::string{command[0]} +
                                  "', with args beginning with: ");
        return true;
    }
    const auto is_function = name == "FCALL";
    if (name != "EVAL" && name != "EVALSHA" && !is_function)
        return false;
    if (name == "EVAL") {
        auto digest = std::string{};
        load_script(command[1], digest);
    }
    const auto is_meant = [&](const redis::script* s) {
        return command[1] == s->sha1 || command[1] == s->body ||
               (is_function && (command[1] == s->function || command[1] == s->function_if_full));
    };
    const auto* const found = std::ranges::find_if(known_scripts, is_meant);
    if (is_function && (!has_functions || found == known_scripts.end()))
        append_error(out, "ERR Function not found");
    else if (name == "EVALSHA" && !scripts_.contains(command[1]))
        append_error(out, "NOSCRIPT No matching script. Please use EVAL.");
    else
        run_checks(of, *found, command.subspan(1), out);
    return true;
}

void script_node::run_checks(session& of, const redis::script* script, words command,
                             std::string& out) {
    auto count = std::size_t{0};
    std::from_chars(command[1].data(), command[1].data() + command[1].size(), count);
    if (count != 0)
        if (const auto error = refusal_of_cluster(command.subspan(2, count), of.is_asking);
            !error.empty())
            return append_error(out, error);
    apply_writes(os().now());
    server_.now_us = clock();
    server_.flags =
        (server_.is_full ? fake::is_over_maxmemory : 0) | (refuses_writes() ? fake::is_replica : 0);
    out.append(execute_checks(script, command));
}

std::string script_node::execute_checks(const redis::script* script, words command) {
    auto reply = script != nullptr
                     ? fake::run_script(server_, *script, {command.begin() + 1, command.end()})
                     : server_.run(owned(command));
    for (const auto& p : server_.propagated)
        send_to_replicas(p);
    return reply;
}

} // namespace colimit::simulation
