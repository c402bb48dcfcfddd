// SPDX-License-Identifier: BSL-1.0
//
// Starting and ending a server. Two programs may pick the same free port: the one whose server then
// fails to bind it picks another.

#include <support/redis_server.hpp>
#include <support/server_version.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>
#include <utility>

namespace colimit::test {
namespace {

using namespace std::chrono_literals;

#ifdef COLIMIT_TEST_RUNTIME
constexpr auto sanitizer_runtime = COLIMIT_TEST_RUNTIME;
#else
constexpr auto sanitizer_runtime = "";
#endif

// The bus of a cluster needs the port 10,000 higher too, which one in five cannot have.
constexpr int attempts = 8;

/// Returns an environment variable, or nothing if it is not set.
[[nodiscard]] std::string variable(const char* name) {
    const auto* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

[[nodiscard]] bool may_load_module(const std::vector<std::string>& arguments) {
    return std::ranges::any_of(arguments, [](const std::string& word) {
        return word == "--loadmodule" || word == "--enable-module-command";
    });
}

/// Waits until a server's TIME has this offset. Valkey 9.1 may compute the time for a millisecond
/// after it has read the clock.
void await_clock(raw_client look, std::chrono::microseconds offset) {
    using clock = std::chrono::system_clock;
    const auto now = [&] {
        return std::chrono::duration_cast<std::chrono::microseconds>(
            (clock::now() + offset).time_since_epoch());
    };
    for (auto left = 10'000; left > 0; --left) {
        const auto before = now();
        const auto there = std::chrono::microseconds{look.time()};
        if (before <= there && there <= now())
            return;
    }
    throw std::runtime_error{"the clock of the server does not follow its file"};
}

} // namespace

redis_server::redis_server(options wanted) : wanted_(std::move(wanted)) {
    if (wanted_.can_step_clock)
        set_clock({});
    start();
}

std::string redis_server::address() const {
    const auto* const scheme = wanted_.tls ? "rediss://" : "redis://";
    return wanted_.tcp ? scheme + (wanted_.host + ':' + std::to_string(port_)) : unix_address();
}

std::vector<std::string> redis_server::arguments() const {
    auto words = std::vector<std::string>{"redis-server",
                                          "--unixsocket",
                                          socket(),
                                          "--bind",
                                          wanted_.host,
                                          wanted_.tls ? "--tls-port" : "--port",
                                          std::to_string(port_),
                                          "--dir",
                                          folder_.path(),
                                          "--logfile",
                                          folder_.path() + "/log",
                                          "--save",
                                          "",
                                          "--appendonly",
                                          "no",
                                          "--daemonize",
                                          "no"};
    if (wanted_.host != redis_server_options{}.host)
        words.insert(words.end(), {"--bind-source-addr", wanted_.host, "--protected-mode", "no"});
    if (wanted_.tls)
        words.insert(words.end(), {"--port", "0", "--tls-cert-file", wanted_.tls->certificate,
                                   "--tls-key-file", wanted_.tls->key, "--tls-auth-clients",
                                   wanted_.tls_clients.empty() ? "no" : "yes"});
    if (!wanted_.tls_clients.empty())
        words.insert(words.end(), {"--tls-ca-cert-file", wanted_.tls_clients});
    // Valkey's modules read the clock of their own libc, not the one that a test steps.
    const auto lacks_clock =
        wanted_.can_step_clock && variable("COLIMIT_TEST_SERVER").starts_with("Valkey");
    const auto has_module = may_load_module(wanted_.arguments);
    if (const auto module = variable("COLIMIT_TEST_MODULE");
        !module.empty() && !has_module && !lacks_clock)
        words.insert(words.end(), {"--loadmodule", module});
    words.insert(words.end(), wanted_.arguments.begin(), wanted_.arguments.end());
    return words;
}

std::vector<std::string> redis_server::environment() const {
    auto preload = std::string{may_load_module(arguments()) ? sanitizer_runtime : ""};
    if (wanted_.can_step_clock)
        preload += preload.empty() ? COLIMIT_TEST_CLOCK : " " COLIMIT_TEST_CLOCK;
    if (preload.empty())
        return {};
    // What the server itself has not freed at its end is none of the module's.
    return {"LD_PRELOAD=" + preload, "COLIMIT_CLOCK_FILE=" + folder_.path() + "/clock",
            "ASAN_OPTIONS=detect_leaks=0"};
}

/// The server has the file mapped, so it is changed in place.
void redis_server::write_clock(std::chrono::microseconds offset,
                               std::chrono::microseconds stands_at,
                               std::chrono::microseconds halt) const {
    const std::int64_t us[] = {offset.count(), stands_at.count(), halt.count()};
    const auto name = folder_.path() + "/clock";
    const auto file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
    const auto written = file < 0 ? -1 : ::pwrite(file, us, sizeof us, 0);
    if (file >= 0)
        ::close(file);
    if (written != sizeof us)
        throw std::runtime_error{"cannot write " + name};
}

void redis_server::set_clock(std::chrono::microseconds offset) {
    write_clock(offset, {}, {});
    if (process_.is_running())
        await_clock(connect(), offset);
}

void redis_server::stop_clock(std::chrono::microseconds time) {
    write_clock({}, time, {});
    auto look = connect();
    for (auto left = 10'000; look.time() != time.count(); --left)
        if (left == 0)
            throw std::runtime_error{"the clock of the server does not stand still"};
}

void redis_server::halt_at_each_reading(std::chrono::microseconds time) {
    write_clock({}, {}, time);
    auto look = connect();
    const auto before = look.time();
    for (auto left = 10'000; look.time() - before < time.count(); --left)
        if (left == 0)
            throw std::runtime_error{"the clock of the server does not follow its file"};
}

std::string redis_server::log() const {
    auto file = std::ifstream{folder_.path() + "/log"};
    return {std::istreambuf_iterator<char>{file}, {}};
}

/// Returns false if the server ended before it replied.
bool redis_server::launch() {
    process_.start(arguments(), environment());
    for (auto left = 10'000ms; left > 0ms; left -= 2ms) {
        if (process_.has_ended())
            return false;
        try {
            const auto answer = connect()({"PING"}); // one with a password answers -NOAUTH
            if (!answer.text.starts_with("LOADING"))
                return true;
        } catch (const std::runtime_error&) {
            // It does not listen yet.
        }
        std::this_thread::sleep_for(2ms);
    }
    const auto what = "redis-server does not answer:\n" + log();
    kill();
    throw std::runtime_error{what};
}

void redis_server::start() {
    const auto has_port = port_ != 0;
    for (auto i = 0; i < attempts; ++i) {
        if (wanted_.tcp && !has_port)
            port_ = free_port();
        std::filesystem::remove(socket());
        if (launch())
            return require_wanted_server(*this);
    }
    throw std::runtime_error{"redis-server ended as soon as it was started:\n" + log()};
}

} // namespace colimit::test
