// SPDX-License-Identifier: BSL-1.0
//
// Commands one after the other: the context runs until the replies have come.

#include <api/config_check.hpp>
#include <base/bytes.hpp>
#include <limiter/redis_settings.hpp>
#include <redis/cluster/slot_map_reader.hpp>
#include <redis/protocol/hash_slot.hpp>
#include <tool/frame/command.hpp>
#include <tool/frame/format.hpp>
#include <tool/frame/time_text.hpp>
#include <tool/server/servers.hpp>

#include <algorithm>
#include <csignal>
#include <stdexcept>
#include <utility>

namespace tool {
namespace {

namespace redis = colimit::redis;
using colimit::detail::connection_settings_of;

/// Lists of keys are longer than replies to calls, and values of other programs may have any size.
constexpr auto list_bounds =
    redis::resp::reply_bounds{.nodes = redis::map_bounds.nodes, .bytes = redis::map_bounds.bytes};

/// The connection executes no calls. It is not used between commands, so it needs no PING.
[[nodiscard]] redis::connection_settings without_calls(redis::connection_settings made) {
    made.session.executes_calls = made.session.transactions = false;
    made.ping_interval = 0;
    made.long_bulks = redis::resp::decoder::long_bulks::empty;
    made.reply_bounds = list_bounds;
    if (made.names == redis::naming::all)
        made.names = redis::naming::none; // messages of this file begin with it
    // The command ends first. Before that the connection finds out what speaks no TLS.
    made.session.connect_timeout += made.session.connect_timeout / 8;
    return made;
}

/// Reads a map with the checks of the library.
[[nodiscard]] redis::slot_map read_map(const reply& slots, const std::string& asked_host) {
    auto decoder = redis::resp::decoder{redis::resp::decoder::long_bulks::empty, list_bounds};
    if (decoder.feed(slots.bytes) != redis::resp::progress::complete)
        throw std::runtime_error{asked_host + ": CLUSTER SLOTS: a malformed reply"};
    auto read = redis::read_slot_map(decoder, slots.bytes, asked_host);
    if (!read.map)
        throw std::runtime_error{asked_host + ": CLUSTER SLOTS: " + read.problem};
    return *std::move(read.map);
}

} // namespace

servers::servers(const colimit::config& settings) : settings_(settings) {
    const auto where = colimit::checked_address(settings); // as a limiter does
    tls_ = colimit::detail::make_tls(settings, where);
    for (const int number : {SIGINT, SIGTERM, SIGHUP})
        signals_.add(number);
    signals_.async_wait([this](colimit::error_code ec, int number) {
        if (!ec)
            signal_ = number;
    });
    find(where);
}

void servers::find(const redis::address& where) {
    switch (where.kind) {
    case redis::address::kind::memory:
        throw std::runtime_error{"--server: memory: has no server (expected the address of one)"};
    case redis::address::kind::sentinel:
        return find_master(where);
    case redis::address::kind::cluster:
        return find_nodes(where);
    case redis::address::kind::tcp:
    case redis::address::kind::unix_socket:
        return add(where, connection_settings_of(settings_, where, tls_));
    }
}

servers::~servers() {
    signals_.cancel();
    for (const auto& l : links_)
        l->close();
    context_.restart();
    context_.poll();
}

void servers::add(const redis::address& where, redis::connection_settings settings) {
    settings.where = where;
    links_.push_back(
        std::make_shared<link>(context_.get_executor(), without_calls(std::move(settings))));
    names_.push_back(map_.masters().empty() ? without_secrets(settings_.server)
                                            : to_string(redis::host_port{where.host, where.port}));
}

/// Asks Sentinels, or nodes of a cluster, until one replies.
reply servers::ask_one_of(const redis::address& where, const words& command,
                          std::string& answered_by) {
    auto settings =
        without_calls(where.kind == redis::address::kind::sentinel
                          ? colimit::detail::sentinel_settings_of(settings_, where, tls_)
                          : connection_settings_of(settings_, where, tls_));
    for (std::size_t i = 0; i < where.hosts.size(); ++i) {
        const auto& host = where.hosts[i];
        const auto name = where.password.empty() ? without_port(to_string(host)) : to_string(host);
        settings.where = where.at(host);
        const auto one = std::make_shared<link>(context_.get_executor(), settings);
        try {
            auto answer = ask(*one, name, {command}).front();
            one->close();
            if (answer.is_error())
                throw std::runtime_error{name + ": " + escaped(answer.text)};
            answered_by = host.host;
            return answer;
        } catch (const interrupted&) {
            throw;
        } catch (const std::exception&) {
            one->close();
            if (i + 1 == where.hosts.size())
                throw;
        }
    }
    throw std::runtime_error{"the address has no hosts"};
}

void servers::find_master(const redis::address& where) {
    std::string sentinel;
    const auto found =
        ask_one_of(where, {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", where.master}, sentinel);
    if (found.elements.size() != 2)
        throw std::runtime_error{"Sentinel " + sentinel + " knows no master '" +
                                 escaped(where.master) + "'"};
    const auto& host = found.elements[0].text;
    const auto port = colimit::detail::read_decimal(found.elements[1].text, redis::max_port);
    if (!redis::is_host(host) || port.value_or(0) == 0)
        throw std::runtime_error{"Sentinel " + sentinel + " names a master '" + escaped(host) +
                                 "' whose address is not valid"};
    const auto master = where.at({host, static_cast<std::uint16_t>(*port)});
    add(master, connection_settings_of(settings_, master, tls_));
}

void servers::find_nodes(const redis::address& where) {
    std::string asked;
    map_ = read_map(ask_one_of(where, {"CLUSTER", "SLOTS"}, asked), asked);
    for (const auto& master : map_.masters())
        add(where.at(master), connection_settings_of(settings_, where, tls_));
    if (links_.empty())
        throw std::runtime_error{asked + " is not a node of a cluster with slots"};
}

void servers::require_all_keys() {
    if (!map_.masters().empty() || !links_.front()->is_cluster())
        return;
    const auto slots = ask(0, {{"CLUSTER", "SLOTS"}}).front();
    if (slots.is_error() || read_map(slots, "localhost").masters().size() != 1)
        throw std::runtime_error{names_.front() +
                                 ": a node of a cluster, which has only a part of the keys; its "
                                 "address is redis+cluster://host:port"};
}

std::size_t servers::of(std::string_view redis_key) const {
    if (map_.masters().empty())
        return 0;
    const auto found = map_.master_of(redis::hash_slot(redis_key));
    if (!found)
        throw std::runtime_error{"no node of the cluster serves the slot of the key"};
    return *found;
}

std::vector<reply> servers::ask(std::size_t server, const std::vector<words>& commands) {
    return ask(*links_[server], names_[server], commands);
}

reply servers::ask_one(std::size_t server, const words& command) {
    auto answer = ask(server, {command}).front();
    if (answer.is_error())
        throw std::runtime_error{names_[server] + ": " + command.front() + ": " +
                                 escaped(answer.text)};
    return answer;
}

std::int64_t servers::time(std::size_t server) {
    const auto parts = ask_one(server, {"TIME"}).elements;
    if (parts.size() != 2)
        throw std::runtime_error{names_[server] + ": TIME: not a time"};
    return std::stoll(parts[0].text) * 1'000'000 + std::stoll(parts[1].text);
}

std::vector<reply> servers::ask(link& to, const std::string& name,
                                const std::vector<words>& commands) {
    to.send(commands);
    const auto end = std::chrono::steady_clock::now() + settings_.timeout;
    run_until(end, [&] { return to.has_ended() || signal_ != 0; });
    throw_if_interrupted();
    if (to.is_lost())
        throw std::runtime_error{name + ": " + to.problem()};
    if (!to.has_ended())
        throw std::runtime_error{name + ": no reply within " + time_text(settings_.timeout)};
    return to.take();
}

void servers::pause(std::chrono::milliseconds length) {
    run_until(std::chrono::steady_clock::now() + length, [this] { return signal_ != 0; });
    throw_if_interrupted();
}

template<std::predicate Ends>
void servers::run_until(std::chrono::steady_clock::time_point latest, Ends ends) {
    while (!ends()) {
        if (context_.stopped())
            context_.restart();
        if (context_.run_one_until(latest) == 0 && std::chrono::steady_clock::now() >= latest)
            return;
    }
}

void servers::throw_if_interrupted() const {
    if (signal_ != 0)
        throw interrupted{signal_, "interrupted by signal " + std::to_string(signal_)};
}

} // namespace tool
