// SPDX-License-Identifier: BSL-1.0
//
// Starting Sentinels, and what they say.

#include <support/sentinel_group.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

namespace colimit::test {
namespace {

using namespace std::chrono_literals;

constexpr auto sentinel_attempts = 8;

/// Looks so often that it takes thirty seconds at least, without those of a halted machine.
template<class Condition>
void wait_for(const char* what, Condition holds) {
    for (auto looks = 0; !holds(); ++looks) {
        if (looks == 6'000)
            throw std::runtime_error{std::string{"in vain: "} + what};
        std::this_thread::sleep_for(5ms);
    }
}

/// The value of a field in a list of names and values.
[[nodiscard]] std::string field(const reply& map, std::string_view name) {
    for (std::size_t i = 0; i + 1 < map.elements.size(); i += 2)
        if (map.elements[i].text == name)
            return map.elements[i + 1].text;
    return {};
}

[[nodiscard]] std::vector<std::string> with(std::vector<std::string> a,
                                            const std::vector<std::string>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

} // namespace

sentinel::sentinel(settings wanted) : wanted_(std::move(wanted)) {
    start();
}

std::string sentinel::log() const {
    auto file = std::ifstream{folder_.path() + "/log"};
    return {std::istreambuf_iterator<char>{file}, {}};
}

void sentinel::write_configuration() const {
    auto out = std::ofstream{folder_.path() + "/sentinel.conf"};
    out << (wanted_.tls ? "port 0\ntls-port " : "port ") << port_ << "\nbind " << wanted_.host
        << "\nbind-source-addr " << wanted_.host << "\ndir " << folder_.path() << "\nlogfile "
        << folder_.path() << "/log\nunixsocket " << folder_.path()
        << "/socket\nsentinel monitor mymaster " << wanted_.master_host << ' '
        << wanted_.master_port
        << " 2\nsentinel down-after-milliseconds mymaster 500\n"
           "sentinel failover-timeout mymaster 3000\n";
    for (const auto& line : wanted_.lines)
        out << line << "\n";
}

/// Returns false if it ended before it replied.
bool sentinel::launch() {
    process_.start({"redis-server", folder_.path() + "/sentinel.conf", "--sentinel"});
    auto answers = false;
    wait_for("a Sentinel answers", [&] {
        try {
            (void)connect()({"PING"});
            answers = true;
        } catch (const std::runtime_error&) {
            // It does not listen yet.
        }
        return answers || process_.has_ended();
    });
    return answers;
}

void sentinel::start() {
    const auto has_port = port_ != 0;
    for (auto i = 0; i < sentinel_attempts; ++i) {
        if (!has_port) {
            port_ = free_port();
            write_configuration();
        }
        std::filesystem::remove(folder_.path() + "/socket");
        if (!launch())
            continue;
        // It asks servers, and tells other Sentinels of itself, every ten or two seconds otherwise.
        // It sends the first PING to a new master after PING-PERIOD, and needs a reply half a
        // second after it has known the master. While a master is down, it asks replicas every
        // second, and promotes none whose last reply is older than five of these periods: so these
        // must be longer than a second together. When it could not run for two seconds, as on a
        // busy machine, it does nothing for half a minute otherwise (TILT).
        connect().must({"SENTINEL", "DEBUG", "INFO-PERIOD", "200", "PUBLISH-PERIOD", "200",
                        "PING-PERIOD", "250", "TILT-PERIOD", "1000"});
        return;
    }
    throw std::runtime_error{"a Sentinel ended as soon as it was started:\n" + log()};
}

sentinel_group::sentinel_group(options wanted) : wanted_(std::move(wanted)) {
    const auto quick = std::vector<std::string>{"--repl-diskless-sync-delay", "0",
                                                "--repl-ping-replica-period", "1"};
    auto replication = std::vector<std::string>{};
    auto lines = wanted_.lines;
    if (wanted_.tls) {
        replication = {"--tls-replication", "yes", "--tls-ca-cert-file", wanted_.authority};
        lines = with(
            {"tls-replication yes", "tls-auth-clients no", "tls-ca-cert-file " + wanted_.authority,
             "tls-cert-file " + wanted_.tls->certificate, "tls-key-file " + wanted_.tls->key},
            lines);
    }
    const auto common = with(with(quick, replication), wanted_.arguments);
    for (std::size_t i = 0; i <= wanted_.replicas; ++i) {
        auto arguments = common;
        if (i != 0)
            arguments = with(std::move(arguments),
                             {"--replicaof", host(0), std::to_string(servers_.front()->port())});
        servers_.push_back(std::make_unique<redis_server>(redis_server_options{
            .tcp = true, .host = host(i), .tls = wanted_.tls, .arguments = std::move(arguments)}));
    }
    for (std::size_t i = 0; i < wanted_.sentinels; ++i)
        sentinels_.push_back(std::make_unique<sentinel>(
            sentinel::settings{.master_host = host(0),
                               .master_port = servers_.front()->port(),
                               .lines = lines,
                               .tls = wanted_.tls.has_value(),
                               .look_as = wanted_.look_as,
                               .host = host_number(servers_.size() + i)}));
    await_health();
}

std::string sentinel_group::hosts() const {
    auto text = std::string{};
    for (const auto& s : sentinels_)
        text += (text.empty() ? "" : ",") + s->host() + ':' + std::to_string(s->port());
    return text;
}

std::string sentinel_group::address() const {
    return (wanted_.tls ? "rediss+sentinel://" : "redis+sentinel://") + hosts() + "/mymaster";
}

std::size_t sentinel_group::named_by(std::size_t sentinel) const {
    const auto named =
        sentinels_.at(sentinel)->connect()({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster"});
    for (std::size_t i = 0; i < servers_.size(); ++i)
        if (named.elements.size() == 2 && named.elements[0].text == host(i) &&
            named.elements[1].text == std::to_string(servers_[i]->port()))
            return i;
    throw std::runtime_error{"a Sentinel names none of the servers"};
}

bool sentinel_group::is_failing_over(std::size_t sentinel) const {
    const auto master = sentinels_.at(sentinel)->connect()({"SENTINEL", "MASTER", "mymaster"});
    return field(master, "flags").find("failover_in_progress") != std::string::npos;
}

bool sentinel_group::is_healthy() const {
    for (std::size_t i = 0; i < sentinels_.size(); ++i) {
        if (named_by(i) != named_by(0))
            return false;
        auto look = sentinels_[i]->connect();
        const auto master = look({"SENTINEL", "MASTER", "mymaster"});
        if (field(master, "flags") != "master" ||
            field(master, "num-other-sentinels") != std::to_string(sentinels_.size() - 1))
            return false;
        const auto replicas = look({"SENTINEL", "REPLICAS", "mymaster"});
        if (replicas.elements.size() + 1 != servers_.size())
            return false;
        for (const auto& r : replicas.elements)
            if (field(r, "flags") != "slave" || field(r, "master-link-status") != "ok")
                return false;
    }
    return true;
}

void sentinel_group::await_health() {
    wait_for("Sentinels that know all servers and each other", [this] {
        try {
            return is_healthy();
        } catch (const std::runtime_error&) {
            return false;
        }
    });
}

} // namespace colimit::test
