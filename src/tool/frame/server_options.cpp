// SPDX-License-Identifier: BSL-1.0
//
// Options of a server become a configuration.

#include <base/bytes.hpp>
#include <redis/connection/address.hpp>
#include <tool/frame/command.hpp>
#include <tool/frame/format.hpp>
#include <tool/frame/server_options.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string_view>

namespace tool {
namespace {

constexpr auto local_server = "redis://127.0.0.1:6379";

[[nodiscard]] std::string usual_server() {
    const auto* const named = std::getenv("COLIMIT_SERVER"); // NOLINT(concurrency-mt-unsafe)
    return named != nullptr && *named != '\0' ? named : local_server;
}

[[nodiscard]] colimit::execution_mode mode_of(const std::string& name) {
    if (name == "function")
        return colimit::execution_mode::function;
    return name == "multi" ? colimit::execution_mode::multi : colimit::execution_mode::script;
}

[[nodiscard]] colimit::module_use use_of(const std::string& name) {
    if (name == "required")
        return colimit::module_use::required;
    return name == "never" ? colimit::module_use::never : colimit::module_use::if_available;
}

/// Returns whether a text is a portable name of an environment variable.
[[nodiscard]] bool is_variable(std::string_view text) {
    return !text.empty() && !colimit::detail::is_digit(text.front()) &&
           std::ranges::all_of(text, [](char c) {
               const auto lower = colimit::detail::lower(c);
               return colimit::detail::is_digit(c) || c == '_' || (lower >= 'a' && lower <= 'z');
           });
}

void write_line(colimit::log_level level, std::string_view line) {
    std::cerr << to_string(level) << ": " << line << '\n';
}

} // namespace

bool is_in_memory(const std::string& server) {
    using colimit::redis::address;
    return colimit::redis::parse_address(server).kind == address::kind::memory;
}

CLI::Validator address_of_variable() {
    return {[](std::string& address) {
                constexpr std::string_view mark = "env:";
                if (!address.starts_with(mark))
                    return std::string{};
                const auto name = address.substr(mark.size());
                if (!is_variable(name)) // it may be an address with a password
                    return std::string{"after env: there is no name of an environment variable "
                                       "(expected A-Z a-z 0-9 _)"};
                const auto* const value = std::getenv(name.c_str()); // NOLINT(*-mt-unsafe)
                if (value == nullptr || *value == '\0')
                    return "the environment variable " + name + " is not set";
                if (std::string_view{value}.starts_with(mark))
                    return "the environment variable " + name +
                           " has the name of another one, not an address";
                address = value;
                return std::string{};
            },
            ""};
}

void server_options::declare(CLI::App& app, bool is_required) {
    server = usual_server();
    const std::string forms =
        "Where the counters are: redis://[user:password@]host[:port][/db], rediss://, "
        "redis+sentinel://, redis+cluster://, unix:/path, or env:NAME: the address in "
        "an environment variable, which keeps a password out of the list of processes. ";
    const std::string usual = "The variable COLIMIT_SERVER replaces the default in the same forms "
                              "(default: redis://127.0.0.1:6379)";
    const auto* const option =
        app.add_option("--server", server,
                       forms + (is_required ? "Required; COLIMIT_SERVER is not read" : usual))
            ->type_name("ADDRESS")
            ->required(is_required)
            ->transform(address_of_variable());
    app.parse_complete_callback([this, option] {
        if (option->count() != 0)
            return;
        if (const auto problem = address_of_variable()(server); !problem.empty())
            throw CLI::ValidationError("COLIMIT_SERVER", problem);
    });
    prefix_option =
        app.add_option("--prefix", prefix, "The first part of all keys, as in config::prefix")
            ->type_name("NAME")
            ->capture_default_str();
    of_servers.push_back(prefix_option);
    app.add_option("--timeout", timeout, "The longest time to wait for the server, in seconds")
        ->type_name("SECONDS")
        ->check(number_between(0.001, 1800))
        ->capture_default_str();
    app.add_flag("--verbose", is_verbose,
                 "Write each step of connecting and each batch to standard error");
    app.add_option("--ca-file", tls.ca_file, "TLS: the certificates of the trusted CAs")
        ->type_name("FILE")
        ->check(not_empty());
    app.add_option("--cert-file", tls.cert_file, "TLS: the client certificate")
        ->type_name("FILE")
        ->check(not_empty());
    app.add_option("--key-file", tls.key_file, "TLS: the key of the client certificate")
        ->type_name("FILE")
        ->check(not_empty());
    app.add_option("--server-name", tls.server_name,
                   "TLS: the name in the server's certificate, if it is not the host")
        ->type_name("NAME")
        ->check(not_empty());
}

void server_options::declare_tags(CLI::App& app) {
    of_servers.push_back(app.add_option("--hash-tags", hash_tags,
                                        "The number of tags, as in config::advanced.hash_tags")
                             ->type_name("N")
                             ->check(whole_number(1, 16'384))
                             ->capture_default_str());
}

void server_options::declare_calls(CLI::App& app) {
    of_calls.push_back(
        app.add_option("--mode", mode,
                       "How calls are executed on the server, as in config::advanced.mode; multi "
                       "has states of its own")
            ->type_name("MODE")
            ->check(CLI::IsMember({"script", "function", "multi"}))
            ->capture_default_str());
    of_calls.push_back(
        app.add_option("--server-module", server_module,
                       "Whether the server module executes calls instead, if the server has it")
            ->type_name("USE")
            ->check(CLI::IsMember({"if_available", "required", "never"}))
            ->capture_default_str());
    of_servers.insert(of_servers.end(), of_calls.begin(), of_calls.end());
}

std::string server_options::place_text(std::string_view key_prefix) const {
    return "prefix " + std::string{key_prefix} + ", " + counted(hash_tags, "tag") + ", database " +
           std::to_string(colimit::redis::parse_address(server).database);
}

colimit::config server_options::config() const {
    if (is_in_memory(server))
        for (const auto* const option : of_servers)
            refuse_given(option, "no effect in memory:");
    auto settings = colimit::config{};
    settings.server = server;
    settings.prefix = prefix;
    settings.advanced.hash_tags = hash_tags;
    settings.advanced.mode = mode_of(mode);
    settings.advanced.server_module = use_of(server_module);
    settings.timeout =
        std::chrono::milliseconds{static_cast<std::int64_t>(std::ceil(timeout * 1000))};
    settings.advanced.connect_timeout = settings.timeout;
    settings.advanced.request_ttl =
        std::max(settings.advanced.request_ttl, 2 * settings.timeout); // as it must be
    // One attempt to connect says that a server is down; Sentinels and nodes may replace each
    // other.
    if (server.find("+sentinel://") == std::string::npos &&
        server.find("+cluster://") == std::string::npos)
        settings.advanced.reconnect_delay_min = settings.advanced.reconnect_delay_max =
            2 * settings.timeout;
    settings.on_failure = colimit::failure_mode::error;
    settings.tls = tls;
    if (is_verbose)
        settings.log = {.level = colimit::log_level::debug, .write = write_line};
    return settings;
}

} // namespace tool
