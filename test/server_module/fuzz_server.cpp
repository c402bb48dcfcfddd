// SPDX-License-Identifier: BSL-1.0
//
// fuzz_server_module --module FILE --commands N --seed S [--copies effects|command]
//
// Valid and hostile commands for a server with the module: alone, in transactions, called by
// scripts, and while the server is over its `maxmemory`. The server must reply to each, serve until
// the end, and have no key without a TTL then. With --copies it has an AOF and a replica, and
// propagates changes in this form: the replica, the server after it has read its AOF again, and the
// replica as a master must have the same keys, values and times of expiry. The replica has loaded
// the module for `command` only.

#include <server_module/bulk_client.hpp>
#include <server_module/dataset.hpp>
#include <server_module/hostile_commands.hpp>

#include <support/raw_client.hpp>
#include <support/redis_replica.hpp>
#include <support/redis_server.hpp>

#include <CLI/CLI.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <optional>
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

class campaign {
  public:
    /// @param compared copies of the server, or null
    campaign(const redis_server& server, std::uint64_t seed, copies* compared)
        : client_(server.connect()), flood_(server.socket()), choices_(seed), copies_(compared) {
        if (client_({"COLIMIT.CHECK", "0"}).is_error())
            throw std::runtime_error{"the server has not loaded the module"};
    }

    void run(std::size_t commands) {
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
        client_.must({"CONFIG", "SET", "maxmemory", "0"});
        require_ttls();
        if (copies_ != nullptr)
            copies_->compare_last();
        if (counts_.arrays < made_ / 10) // else it tests little more than refusals
            throw std::runtime_error{"fewer than a tenth of the commands were executed"};
        std::cout << made_ << " commands, " << counts_.arrays << " arrays, " << counts_.errors
                  << " errors, " << counts_.others << " other replies\n";
    }

  private:
    void send_batch() {
        auto out = std::string{};
        auto replies = std::size_t{0};
        for (std::size_t i = 0; i < batch_size; ++i, ++made_) {
            auto command = hostile_command(choices_);
            const auto how = choices_.below(20);
            if (how == 0)
                command.insert(command.begin(), {"EVAL", "return redis.pcall(unpack(ARGV))", "0"});
            if (how == 1)
                append(out, {"MULTI"});
            append(out, command);
            if (how == 1)
                append(out, {"EXEC"});
            replies += how == 1 ? 3 : 1;
        }
        const auto counts = flood_.run(std::move(out));
        if (counts.all() != replies)
            throw std::runtime_error{std::to_string(counts.all()) + " replies to " +
                                     std::to_string(replies) + " commands"};
        counts_ += counts;
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

int run(int argc, char** argv) {
    auto module = std::string{};
    auto commands = std::size_t{100'000};
    auto seed = std::uint64_t{1};
    CLI::App app{"Hostile commands for the server module."};
    app.add_option("--module", module, "the file of the module")->required();
    app.add_option("--commands", commands, "commands to send")->capture_default_str();
    app.add_option("--seed", seed, "of the random commands")->capture_default_str();
    auto form = std::string{};
    app.add_option("--copies", form, "compares a replica and the AOF, with this propagation")
        ->check(CLI::IsMember({"effects", "command"}));
    CLI11_PARSE(app, argc, argv);

    auto loading = std::vector<std::string>{"--loadmodule", std::filesystem::absolute(module)};
    auto copying = form == "command" ? loading : std::vector<std::string>{};
    if (!form.empty())
        loading.insert(loading.end(),
                       {"replicate", form, "--appendonly", "yes", "--appendfsync", "no",
                        "--enable-debug-command", "yes", "--repl-diskless-sync-delay", "0"});
    auto server = redis_server{{.tcp = !form.empty(), .arguments = loading}};
    auto compared = std::optional<copies>{};
    try {
        if (!form.empty())
            compared.emplace(server, copying);
        campaign{server, seed, compared ? &*compared : nullptr}.run(commands);
    } catch (const std::exception&) {
        std::cerr << server.log();
        throw;
    }
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
