// SPDX-License-Identifier: BSL-1.0
//
// Forming a cluster, and changing it.

#include <support/redis_cluster.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace colimit::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t all_slots = 16'384;

/// Looks so often that it takes twenty seconds at least, without those of a halted machine.
void await(const std::function<std::string()>& missing) {
    auto what = std::string{};
    for (auto looks = 0; looks < 2'000; ++looks) {
        what = missing();
        if (what.empty())
            return;
        std::this_thread::sleep_for(10ms);
    }
    throw std::runtime_error{"the cluster is not ready after 20 seconds: " + what};
}

template<class Number>
[[nodiscard]] Number number_in(std::string_view text) {
    auto n = Number{};
    const auto* const end = text.data() + text.size();
    if (const auto read = std::from_chars(text.data(), end, n);
        read.ec != std::errc{} || read.ptr != end)
        throw std::runtime_error{"not a number: " + std::string{text}};
    return n;
}

/// Reads `HOST:PORT@BUS_PORT` and perhaps further words after commas.
void parse_endpoint(std::string_view text, cluster_node& out) {
    text = text.substr(0, text.find('@'));
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos)
        throw std::runtime_error{"not an endpoint: " + std::string{text}};
    out.host = text.substr(0, colon);
    out.port = number_in<std::uint16_t>(text.substr(colon + 1));
}

} // namespace

bool cluster_node::has_flag(std::string_view flag) const {
    return ("," + flags + ",").find("," + std::string{flag} + ",") != std::string::npos;
}

bool cluster_node::serves(std::size_t slot) const {
    return std::ranges::any_of(
        slots, [slot](const auto& r) { return r.first <= slot && slot <= r.second; });
}

std::vector<cluster_node> parse_cluster_nodes(std::string_view text) {
    auto nodes = std::vector<cluster_node>{};
    auto lines = std::istringstream{std::string{text}};
    for (auto line = std::string{}; std::getline(lines, line);) {
        auto words = std::istringstream{line};
        auto& n = nodes.emplace_back();
        auto endpoint = std::string{};
        auto unused = std::string{};
        words >> n.id >> endpoint >> n.flags >> n.master_id >> unused >> unused >> unused >> n.link;
        parse_endpoint(endpoint, n);
        for (auto word = std::string{}; words >> word;) {
            if (word.starts_with('[')) // a slot that is being moved
                continue;
            const auto range = std::string_view{word};
            const auto dash = range.find('-');
            const auto first = number_in<std::size_t>(range.substr(0, dash));
            n.slots.emplace_back(
                first, dash == range.npos ? first : number_in<std::size_t>(range.substr(dash + 1)));
        }
    }
    return nodes;
}

redis_cluster::redis_cluster(options wanted) : wanted_(std::move(wanted)) {
    const auto count = wanted_.masters * (1 + wanted_.replicas);
    for (std::size_t i = 0; i < count; ++i)
        nodes_.push_back(start_node());
    make_cluster();
}

std::unique_ptr<redis_cluster::node> redis_cluster::start_node() const {
    constexpr auto attempts = 5;
    for (auto i = 1;; ++i) {
        auto made = std::make_unique<node>();
        if (wanted_.own_hosts)
            made->host = "127.0.0." + std::to_string(2 + nodes_.size());
        made->port = free_port();
        do
            made->bus_port = free_port();
        while (made->bus_port == made->port);
        auto arguments = std::vector<std::string>{
            wanted_.tls ? "--tls-port" : "--port", std::to_string(made->port), "--cluster-enabled",
            "yes", "--cluster-port", std::to_string(made->bus_port), "--cluster-announce-ip",
            made->host,
            // A replica takes over soon. Where there is none, a node that is halted comes back.
            "--cluster-node-timeout", wanted_.replicas > 0 ? "1000" : "10000",
            // Replicas are in step at once.
            "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"};
        if (wanted_.tls)
            arguments.insert(arguments.end(), {"--tls-cluster", "yes", "--tls-replication", "yes",
                                               "--tls-ca-cert-file", wanted_.tls_ca});
        arguments.insert(arguments.end(), wanted_.arguments.begin(), wanted_.arguments.end());
        try {
            made->server = std::make_unique<redis_server>(redis_server_options{
                .host = made->host, .tls = wanted_.tls, .arguments = std::move(arguments)});
            made->id = made->server->connect().must({"CLUSTER", "MYID"}).text;
            return made;
        } catch (const std::runtime_error&) { // another program may have taken a port
            if (i == attempts)
                throw;
        }
    }
}

/// Each node meets each other one: that is quicker than to wait until they hear of each other. A
/// node gives a meeting up after a second, which the machine may have been halted for.
void redis_cluster::make_cluster() {
    for (std::size_t i = 0; i < size(); ++i) {
        auto own = connect(i);
        own.must({"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)}); // before it knows others
        if (i < wanted_.masters)
            own.must({"CLUSTER", "ADDSLOTSRANGE", std::to_string(i * all_slots / wanted_.masters),
                      std::to_string((i + 1) * all_slots / wanted_.masters - 1)});
    }
    const auto meet = [this](std::size_t i, std::size_t from) {
        auto own = connect(i);
        for (auto other = from; other < size(); ++other)
            if (other != i)
                own.must({"CLUSTER", "MEET", host(other), std::to_string(port(other)),
                          std::to_string(nodes_[other]->bus_port)});
    };
    for (std::size_t i = 0; i < size(); ++i)
        meet(i, i + 1);
    await([&] {
        for (std::size_t i = 0; i < size(); ++i) {
            const auto known = known_by(i);
            const auto is_meeting = std::ranges::any_of(
                known, [](const cluster_node& n) { return n.has_flag("handshake"); });
            if (!is_meeting && known.size() < size())
                meet(i, 0);
            if (is_meeting || known.size() != size())
                return "node " + std::to_string(i) + " knows " + std::to_string(known.size());
        }
        return std::string{};
    });
    for (std::size_t m = 0; m < wanted_.masters; ++m)
        for (std::size_t r = 0; r < wanted_.replicas; ++r)
            connect(replica(m, r)).must({"CLUSTER", "REPLICATE", id(m)});
    await_agreement();
}

std::string redis_cluster::endpoint(std::size_t i) const {
    return host(i) + ':' + std::to_string(port(i));
}

std::vector<std::string> redis_cluster::endpoints() const {
    auto all = std::vector<std::string>{};
    for (std::size_t i = 0; i < size(); ++i)
        all.push_back(endpoint(i));
    return all;
}

std::string redis_cluster::address(std::size_t i) const {
    return (wanted_.tls ? "rediss://" : "redis://") + endpoint(i);
}

void redis_cluster::kill(std::size_t i) {
    nodes_[i]->is_running = false;
    server(i).kill();
}

void redis_cluster::restart(std::size_t i) {
    server(i).restart();
    nodes_[i]->is_running = true;
}

void redis_cluster::stop(std::size_t i) {
    nodes_[i]->is_running = false;
    server(i).stop();
}

void redis_cluster::cont(std::size_t i) {
    server(i).cont();
    nodes_[i]->is_running = true;
}

void redis_cluster::failover(std::size_t i, failover_kind kind) {
    auto own = connect(i);
    switch (kind) {
    case agreed:
        own.must({"CLUSTER", "FAILOVER"});
        break;
    case forced:
        own.must({"CLUSTER", "FAILOVER", "FORCE"});
        break;
    case takeover:
        own.must({"CLUSTER", "FAILOVER", "TAKEOVER"});
        break;
    }
    await([&] {
        const auto role = own.must({"ROLE"}).elements.at(0).text;
        return role == "master" ? std::string{}
                                : "node " + std::to_string(i) + " has the role " + role;
    });
}

std::vector<cluster_node> redis_cluster::known_by(std::size_t i) const {
    return parse_cluster_nodes(connect(i).must({"CLUSTER", "NODES"}).text);
}

/// What a node says of all that run, as text that is the same on all nodes once they agree.
std::string redis_cluster::view_of(std::size_t i) const {
    auto running = std::set<std::string>{};
    for (const auto& n : nodes_)
        if (n->is_running)
            running.insert(n->id);
    auto lines = std::set<std::string>{};
    auto listed = std::set<std::string>{}; // that clients are to be told
    for (const auto& n : known_by(i)) {
        if (!running.contains(n.id) && n.slots.empty())
            continue;
        auto line = n.id + ' ' + n.master_id;
        for (const auto& [first, last] : n.slots)
            line += ' ' + std::to_string(first) + '-' + std::to_string(last);
        if (!running.contains(n.id))
            line += " has ended";
        if (n.has_flag("fail") || n.has_flag("fail?"))
            line += " failed on " + std::to_string(i);
        if (!n.has_flag("myself") && n.link != "connected")
            line += " has no link to " + std::to_string(i);
        lines.insert(line);
        if (!n.is_master() || !n.slots.empty())
            listed.insert(n.id);
    }
    const auto shown = connect(i).must({"CLUSTER", "SLOTS"});
    for (const auto& range : shown.elements)
        for (std::size_t n = 2; n < range.elements.size(); ++n)
            if (listed.erase(range.elements[n].elements.at(2).text) == 0 &&
                !running.contains(range.elements[n].elements.at(2).text))
                lines.insert("a replica that has ended is shown by " + std::to_string(i));
    for (const auto& name : listed)
        lines.insert(name + " is not shown by " + std::to_string(i));
    auto view = std::string{};
    for (const auto& line : lines)
        view += line + '\n';
    return view;
}

/// Empty if there is none.
std::string redis_cluster::disagreement() const {
    auto views = std::map<std::string, std::size_t>{};
    for (std::size_t i = 0; i < size(); ++i) {
        if (!is_running(i))
            continue;
        const auto info = connect(i).must({"CLUSTER", "INFO"}).text;
        if (info.find("cluster_state:ok") == std::string::npos)
            return "node " + std::to_string(i) + " says\n" + info;
        views.emplace(view_of(i), i);
    }
    auto problem = std::string{};
    for (const auto& [view, i] : views)
        problem += "\nnode " + std::to_string(i) + " says\n" + view;
    const auto is_settled = views.size() == 1 && problem.find(" has ended") == std::string::npos &&
                            problem.find(" failed on ") == std::string::npos &&
                            problem.find(" no link to ") == std::string::npos &&
                            problem.find(" shown by ") == std::string::npos;
    return is_settled ? std::string{} : problem;
}

void redis_cluster::await_agreement() {
    await([this] { return disagreement(); });
}

std::size_t redis_cluster::owner(std::size_t slot) const {
    const auto asked = std::ranges::find_if(nodes_, [](const auto& n) { return n->is_running; });
    const auto known = known_by(static_cast<std::size_t>(asked - nodes_.begin()));
    const auto found =
        std::ranges::find_if(known, [slot](const cluster_node& n) { return n.serves(slot); });
    if (found == known.end())
        return size();
    const auto at = std::ranges::find_if(nodes_, [&](const auto& n) { return n->id == found->id; });
    return static_cast<std::size_t>(at - nodes_.begin());
}

bool redis_cluster::owns(std::size_t node, std::size_t slot) const {
    const auto known = known_by(node);
    const auto own = std::ranges::find(known, id(node), &cluster_node::id);
    return own != known.end() && own->serves(slot);
}

} // namespace colimit::test
