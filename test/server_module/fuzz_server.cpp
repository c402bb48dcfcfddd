// SPDX-License-Identifier: BSL-1.0
//
// fuzz_server_module --module FILE --commands N --seed S [--copies effects|command | --on NODE]
// fuzz_server_module --module FILE --twin --commands N --seed S
// fuzz_server_module --fake --commands N --seed S
//
// Valid and hostile commands for a server with the module: alone, in transactions, called by
// scripts, and while the server is over its `maxmemory`. The server must reply to each, serve until
// the end, and have no key without a TTL then. With --copies it has an AOF and a replica, and
// propagates changes in this form: the replica, the server after it has read its AOF again, and the
// replica as a master must have the same keys, values and times of expiry. The replica has loaded
// the module for `command` only.
//
// With `--on cluster` it is a node of a cluster, of which a slot is being moved in the second half;
// with `--on replica` a replica, which must refuse each command and change nothing. With --fake it
// is the fake server in this process, which is faster and checks more. With --twin, commands that
// clients may send are compared with the scripts: see script_twin.hpp.

#include <server_module/bulk_client.hpp>
#include <server_module/dataset.hpp>
#include <server_module/fake_trial.hpp>
#include <server_module/hostile_commands.hpp>
#include <server_module/script_twin.hpp>

#include <redis/protocol/hash_slot.hpp>
#include <support/raw_client.hpp>
#include <support/redis_cluster.hpp>
#include <support/redis_replica.hpp>
#include <support/redis_server.hpp>

#include <CLI/CLI.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace colimit::test {
namespace {

constexpr std::size_t batch_size = 64;
constexpr std::size_t batches_between_flushes = 256;
constexpr std::size_t batches_between_comparisons = 4;

void append(std::string& out, const words& command) {
    redis::resp::append_array(out, command.size());
    for (const auto& word : command)
        redis::resp::append_bulk(out, word);
}

/// A replica of a server with an AOF.
class copies {
  public:
    copies(const redis_server& of, std::vector<std::string> arguments)
        : master_(of.connect()), replica_(of, std::move(arguments)), copy_(replica_.client) {}

    void compare() {
        const auto all = read();
        compared_ += require_equal(all, read_dataset(copy_), now(), "the replica");
    }

    /// Ends with the replica as a master.
    void compare_last() {
        const auto all = read();
        master_.must({"DEBUG", "LOADAOF"});
        compared_ += require_equal(all, read_dataset(master_), now(), "the server with its AOF");
        copy_.must({"REPLICAOF", "NO", "ONE"});
        compared_ += require_equal(all, read_dataset(copy_), now(), "the replica as a master");
        if (compared_ < 100)
            throw std::runtime_error{"there were too few keys to compare"};
        std::cout << compared_ << " keys of copies compared\n";
    }

  private:
    [[nodiscard]] dataset read() {
        master_.must({"CONFIG", "SET", "maxmemory", "0"});
        // A write, so that there is something to wait for.
        master_.must({"SET", "last", "write", "PX", "3600000"});
        if (master_.must({"WAIT", "1", "60000"}).integer != 1)
            throw std::runtime_error{"the replica does not follow"};
        return read_dataset(master_);
    }
    [[nodiscard]] std::int64_t now() { return master_.time() / 1'000; }

    raw_client master_;
    redis_replica replica_;
    raw_client& copy_;
    std::size_t compared_ = 0;
};

/// Sends some commands, some of them in transactions and from scripts, and reads the replies.
[[nodiscard]] reply_counts send_commands(choices& from, bulk_client& to) {
    auto out = std::string{};
    auto replies = std::size_t{0};
    for (std::size_t i = 0; i < batch_size; ++i) {
        auto command = hostile_command(from);
        const auto how = from.below(20);
        if (how == 0)
            command.insert(command.begin(), {"EVAL", "return redis.pcall(unpack(ARGV))", "0"});
        if (how == 1)
            append(out, {"MULTI"});
        append(out, command);
        if (how == 1)
            append(out, {"EXEC"});
        replies += how == 1 ? 3 : 1;
    }
    const auto counts = to.run(std::move(out));
    if (counts.all() != replies)
        throw std::runtime_error{std::to_string(counts.all()) + " replies to " +
                                 std::to_string(replies) + " commands"};
    return counts;
}

class campaign {
  public:
    /// @param compared copies of the server, or null
    campaign(const redis_server& server, std::uint64_t seed, copies* compared)
        : client_(server.connect()), flood_(server.socket()), choices_(seed), copies_(compared) {
        if (client_({"COLIMIT.CHECK", "0"}).is_error())
            throw std::runtime_error{"the server has not loaded the module"};
    }

    void run(std::size_t commands) {
        make(commands);
        end();
    }

    void make(std::size_t commands) {
        for (std::size_t batches = 0; made_ < commands; ++batches) {
            if (copies_ != nullptr && batches % batches_between_comparisons == 0)
                copies_->compare();
            if (batches % batches_between_flushes == 0)
                client_.must({"FLUSHALL"});
            // Below what an empty server uses, so all commands that need memory are refused.
            const auto is_full = choices_.percent(5);
            client_.must({"CONFIG", "SET", "maxmemory", is_full ? "1" : "0"});
            send_batch();
        }
    }

    void end() {
        client_.must({"CONFIG", "SET", "maxmemory", "0"});
        require_ttls();
        if (copies_ != nullptr)
            copies_->compare_last();
        if (counts_.arrays < made_ / 15) // else it tests little more than refusals
            throw std::runtime_error{"fewer than a fifteenth of the commands were executed"};
        std::cout << made_ << " commands, " << counts_.arrays << " arrays, " << counts_.errors
                  << " errors, " << counts_.others << " other replies\n";
    }

  private:
    void send_batch() {
        counts_ += send_commands(choices_, flood_);
        made_ += batch_size;
    }

    /// Everything that was planted has a TTL, and so must all that the module has written.
    void require_ttls() {
        for (const auto& key : client_.keys())
            if (client_.pttl(key) == -1)
                throw std::runtime_error{"the key " + key + " does not expire"};
    }

    raw_client client_;
    bulk_client flood_;
    choices choices_;
    copies* copies_;
    std::size_t made_ = 0;
    reply_counts counts_{};
};

void run_on_cluster(const words& loading, std::size_t commands, std::uint64_t seed) {
    auto nodes = redis_cluster{{.masters = 2, .arguments = loading}};
    const auto slot = std::size_t{redis::hash_slot("{c}")}; // of all keys
    const auto owner = nodes.owner(slot);
    auto made = campaign{nodes.server(owner), seed, nullptr};
    made.make(commands / 2);
    nodes.begin_migration(slot, owner, 1 - owner);
    made.make(commands);
    made.end();
}

void run_on_replica(words loading, std::size_t commands, std::uint64_t seed) {
    loading.insert(loading.end(), {"--repl-diskless-sync-delay", "0"});
    const auto master = redis_server{{.tcp = true, .arguments = loading}};
    auto follower = redis_replica{master, loading};
    campaign{master, seed, nullptr}.run(commands / 4); // so that there are keys
    auto client = master.connect();
    client.must({"SET", "last", "write", "PX", "3600000"});
    if (client.must({"WAIT", "1", "60000"}).integer != 1)
        throw std::runtime_error{"the replica does not follow"};
    auto to = bulk_client{follower.socket()};
    auto from = choices{seed};
    auto counts = reply_counts{};
    for (std::size_t made = 0; made < commands; made += batch_size)
        counts += send_commands(from, to);
    auto lines = std::istringstream{follower.client.must({"INFO", "commandstats"}).text};
    for (auto line = std::string{}; std::getline(lines, line);)
        if ((line.starts_with("cmdstat_colimit.") || line.starts_with("cmdstat_cl.")) &&
            line.find(":calls=0,") == std::string::npos)
            throw std::runtime_error{"a replica has executed commands: " + line};
    const auto now = client.time() / 1'000;
    const auto compared =
        require_equal(read_dataset(client), read_dataset(follower.client), now, "the replica");
    std::cout << counts.errors << " commands refused, " << compared << " keys compared\n";
}

void run_with_fake(std::size_t commands, std::uint64_t seed) {
    constexpr std::size_t trial_size = 1'000;
    auto executed = std::size_t{0};
    for (std::size_t made = 0; made < commands; made += trial_size) {
        auto one = fake::trial{choices{seed + made}};
        for (std::size_t i = 0; i < trial_size; ++i)
            one.step();
        executed += one.executed();
    }
    if (executed < commands / 10)
        throw std::runtime_error{"fewer than a tenth of the commands were executed"};
    std::cout << commands << " commands in this process, " << executed << " executed\n";
}

void run_with_script(const words& loading, std::size_t commands, std::uint64_t seed) {
    auto twin = script_twin{loading, seed};
    twin.run(commands);
    if (twin.executed() < commands / 5)
        throw std::runtime_error{"fewer than a fifth of the commands were executed"};
    std::cout << twin.executed() << " commands compared with the scripts\n";
}

void run_on_server(words loading, const std::string& copies_by, std::size_t commands,
                   std::uint64_t seed) {
    const auto has_copies = !copies_by.empty();
    const auto copying = copies_by == "command" ? loading : words{};
    if (has_copies)
        loading.insert(loading.end(),
                       {"replicate", copies_by, "--appendonly", "yes", "--appendfsync", "no",
                        "--enable-debug-command", "yes", "--repl-diskless-sync-delay", "0"});
    auto server = redis_server{{.tcp = has_copies, .arguments = loading}};
    auto compared = std::optional<copies>{};
    try {
        if (has_copies)
            compared.emplace(server, copying);
        campaign{server, seed, compared ? &*compared : nullptr}.run(commands);
    } catch (const std::exception&) {
        std::cerr << server.log();
        throw;
    }
}

int run(int argc, char** argv) {
    auto module = std::string{};
    auto commands = std::size_t{100'000};
    auto seed = std::uint64_t{1};
    auto copies_by = std::string{};
    auto node = std::string{};
    auto is_fake = false;
    auto has_twin = false;
    CLI::App app{"Hostile commands for the server module."};
    auto* const of_server = app.add_option_group("server");
    of_server->add_option("--module", module, "the file of the module");
    of_server->add_flag("--fake", is_fake, "the fake server in this process");
    of_server->require_option(1);
    app.add_option("--commands", commands, "commands to send")->capture_default_str();
    app.add_option("--seed", seed, "of the random commands")->capture_default_str();
    auto* const copying = app.add_option("--copies", copies_by,
                                         "compares a replica and the AOF, with this propagation")
                              ->check(CLI::IsMember({"effects", "command"}));
    app.add_option("--on", node, "a node of a cluster, or a replica")
        ->check(CLI::IsMember({"cluster", "replica"}))
        ->excludes(copying);
    app.add_flag("--twin", has_twin, "compares the module with the scripts")->excludes(copying);
    CLI11_PARSE(app, argc, argv);

    if (is_fake) {
        run_with_fake(commands, seed);
        return 0;
    }
    const auto loading = words{"--loadmodule", std::filesystem::absolute(module)};
    if (node == "cluster")
        run_on_cluster(loading, commands, seed);
    else if (node == "replica")
        run_on_replica(loading, commands, seed);
    else if (has_twin)
        run_with_script(loading, commands, seed);
    else
        run_on_server(loading, copies_by, commands, seed);
    return 0;
}

} // namespace
} // namespace colimit::test

int main(int argc, char** argv) {
    try {
        return colimit::test::run(argc, argv);
    } catch (const std::exception& e) {
        std::cerr << "fuzz_server_module: " << e.what() << '\n';
        return 1;
    }
}
