// SPDX-License-Identifier: BSL-1.0
//
// The commands of a server, and its states.

#include "data_server.hpp"

#include <core/wire_version.hpp>
#include <redis/protocol/script.hpp>

#include <algorithm>
#include <iterator>

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
    : server(of, where), has_module(of.os().random().percent(50)), names_(names), records_(records),
      rules_(rules), states_(names.states().size()) {}

void data_server::follow(data_server& master, std::int64_t lag) {
    if (master_ != nullptr)
        std::erase(master_->replicas_, this);
    master_ = &master;
    master.replicas_.push_back(this);
    incoming_.clear();
    states_ = master.states_;
    remembered_ = master.remembered_;
    lag_ = lag;
    for (auto* r : std::exchange(replicas_, {}))
        r->follow(master, lag);
}

void data_server::take_over(bool is_orderly) {
    apply_writes(is_orderly ? never : os().now());
    for (const auto& lost : std::exchange(incoming_, {}))
        if (lost.record.empty())
            states_[lost.state].account = no_account;
    auto* old = std::exchange(master_, nullptr);
    std::erase(old->replicas_, this);
    for (auto& s : old->states_)
        s.is_left_behind = true;
    for (auto* r : std::exchange(old->replicas_, {}))
        r->follow(*this, lag_);
}

void data_server::kill() {
    server::kill();
    states_.assign(states_.size(), {});
    remembered_.clear();
    incoming_.clear();
    forget_scripts();
}

void data_server::start_empty(std::int64_t loading) {
    start();
    loading_until_ = os().now() + loading;
}

void data_server::hand_over(std::size_t state, data_server& to) {
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

bool data_server::has_any(std::size_t state) const {
    return has(state) || std::ranges::any_of(remembered_, [state](const auto& r) {
               return r.second.state == state;
           });
}

std::size_t data_server::keys_of(const batch& b) const {
    const auto states = std::ranges::count_if(b.states, [this](auto s) { return has(s); });
    const auto records = std::ranges::count_if(
        b.record_names, [this](const auto& name) { return remembered_.contains(name); });
    return static_cast<std::size_t>(states + records);
}

void data_server::on_write(std::size_t state) {
    auto w = write{};
    w.state = state;
    w.value = states_[state];
    replicate(w);
}

void data_server::on_record(const std::string& record) {
    auto w = write{};
    w.record = record;
    if (const auto found = remembered_.find(record); found != remembered_.end())
        w.remembered = found->second;
    replicate(w);
}

void data_server::replicate(write& w) {
    for (auto* r : replicas_) {
        r->apply_writes(os().now());
        w.at = os().now() + r->lag_;
        r->incoming_.push_back(w);
    }
}

void data_server::apply_writes(std::int64_t until) {
    for (; !incoming_.empty() && incoming_.front().at <= until; incoming_.pop_front()) {
        auto& next = incoming_.front();
        if (next.record.empty())
            states_[next.state] = std::move(next.value);
        else if (!next.remembered)
            remembered_.erase(next.record);
        else
            remembered_.insert_or_assign(std::move(next.record), std::move(*next.remembered));
    }
}

std::int64_t data_server::execute(session& of, words command, std::string& out) {
    if (is_word(command[0], "HELLO")) {
        append_hello(out, rules_ != nullptr ? "cluster" : "standalone");
        return per_command;
    }
    if (is_loading()) {
        append_error(out, "LOADING Redis is loading the dataset in memory");
        return per_command;
    }
    if (greet(command, out) || tell_about_cluster(command, out))
        return per_command;
    if (is_word(command[0], "ASKING")) {
        of.is_asking = true;
        out.append("+OK\r\n");
        return per_command;
    }
    const auto took = is_word(command[0], "COLIMIT.CHECK") ? run_module(of, command, out)
                                                           : run_script(of, command, out);
    of.is_asking = false;
    return took;
}

bool data_server::greet(words command, std::string& out) {
    const auto name = command[0];
    if (is_word(name, "PING"))
        out.append("+PONG\r\n");
    else if (is_word(name, "SELECT") || is_word(name, "AUTH"))
        out.append("+OK\r\n");
    else if (is_word(name, "INFO"))
        resp::append_bulk(out, rules_ != nullptr ? "redis_mode:cluster\r\n"
                                                 : "redis_mode:standalone\r\n");
    else if (is_word(name, "ROLE") && is_master())
        out.append("*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n");
    else if (is_word(name, "ROLE"))
        append_texts(out, {"slave", master_->address().host, "6379", "connected", "0"});
    else
        return false;
    return true;
}

bool data_server::tell_about_cluster(words command, std::string& out) {
    if (!is_word(command[0], "CLUSTER"))
        return false;
    if (rules_ == nullptr)
        append_error(out, "ERR This instance has cluster support disabled");
    else if (is_word(command[1], "INFO"))
        resp::append_bulk(out, rules_->info(*this));
    else
        out.append(rules_->slots(*this));
    return true;
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
    const auto refusal = rules_ != nullptr ? rules_->refusal(*this, b, of.is_asking) : "";
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
