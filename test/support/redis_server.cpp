// SPDX-License-Identifier: BSL-1.0
//
// Starting and ending a server. Two programs may pick the same free port: the one whose server then
// fails to bind it picks another.

#include <support/fresh_folder.hpp>
#include <support/redis_server.hpp>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>
#include <utility>

namespace colimit::test {
namespace {

using namespace std::chrono_literals;

// The bus of a cluster needs the port 10,000 higher too, which one in five cannot have.
constexpr int attempts = 8;

[[nodiscard]] std::uint16_t free_port() {
    const auto probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    auto where = sockaddr_in{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto size = socklen_t{sizeof where};
    auto* const generic = reinterpret_cast<sockaddr*>(&where);
    const auto found = probe >= 0 && ::bind(probe, generic, size) == 0 &&
                       ::getsockname(probe, generic, &size) == 0;
    if (probe >= 0)
        ::close(probe);
    if (!found)
        throw std::runtime_error{"no free port"};
    return ntohs(where.sin_port);
}

/// In the child: becomes the server, or ends.
[[noreturn]] void become(char* const* words, char* const* settings, pid_t parent) noexcept {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL); // no test leaves a server behind, however it ends
    if (::getppid() == parent)
        ::execvpe(words[0], words, settings);
    ::_exit(127);
}

/// As exec wants them.
[[nodiscard]] std::vector<char*> pointers_to(std::vector<std::string>& words) {
    auto pointers = std::vector<char*>{};
    for (auto& w : words)
        pointers.push_back(w.data());
    pointers.push_back(nullptr);
    return pointers;
}

} // namespace

redis_server::redis_server(options wanted) : wanted_(std::move(wanted)), folder_(fresh_folder()) {
    try {
        if (wanted_.can_step_clock)
            set_clock({});
        start();
    } catch (...) {
        std::filesystem::remove_all(folder_);
        throw;
    }
}

redis_server::~redis_server() {
    kill();
    auto ignored = std::error_code{};
    std::filesystem::remove_all(folder_, ignored);
}

std::string redis_server::address() const {
    const auto* const scheme = wanted_.tls ? "rediss://" : "redis://";
    return wanted_.tcp ? scheme + ("127.0.0.1:" + std::to_string(port_)) : unix_address();
}

std::vector<std::string> redis_server::arguments() const {
    auto words = std::vector<std::string>{"redis-server",
                                          "--unixsocket",
                                          socket(),
                                          "--bind",
                                          "127.0.0.1",
                                          wanted_.tls ? "--tls-port" : "--port",
                                          std::to_string(port_),
                                          "--dir",
                                          folder_,
                                          "--logfile",
                                          folder_ + "/log",
                                          "--save",
                                          "",
                                          "--appendonly",
                                          "no",
                                          "--daemonize",
                                          "no"};
    if (wanted_.tls)
        words.insert(words.end(), {"--port", "0", "--tls-cert-file", wanted_.tls->certificate,
                                   "--tls-key-file", wanted_.tls->key, "--tls-auth-clients",
                                   wanted_.tls_clients.empty() ? "no" : "yes"});
    if (!wanted_.tls_clients.empty())
        words.insert(words.end(), {"--tls-ca-cert-file", wanted_.tls_clients});
    words.insert(words.end(), wanted_.arguments.begin(), wanted_.arguments.end());
    return words;
}

std::vector<std::string> redis_server::environment() const {
    auto variables = std::vector<std::string>{};
    for (auto* const* at = environ; *at != nullptr; ++at)
        variables.emplace_back(*at);
    if (wanted_.can_step_clock) {
        variables.emplace_back("LD_PRELOAD=" COLIMIT_TEST_CLOCK);
        variables.emplace_back("COLIMIT_CLOCK_FILE=" + folder_ + "/clock");
    }
    return variables;
}

/// The server has the file mapped, so it is changed in place.
void redis_server::set_clock(std::chrono::microseconds offset) {
    const auto us = std::int64_t{offset.count()};
    const auto name = folder_ + "/clock";
    const auto file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
    const auto written = file < 0 ? -1 : ::pwrite(file, &us, sizeof us, 0);
    if (file >= 0)
        ::close(file);
    if (written != sizeof us)
        throw std::runtime_error{"cannot write " + name};
}

std::string redis_server::log() const {
    auto file = std::ifstream{folder_ + "/log"};
    return {std::istreambuf_iterator<char>{file}, {}};
}

bool redis_server::has_ended() {
    if (::waitpid(pid_, nullptr, WNOHANG) != pid_)
        return false;
    pid_ = -1;
    return true;
}

/// Returns false if the server ended before it replied.
bool redis_server::launch() {
    auto words = arguments();
    auto pointers = pointers_to(words);
    auto variables = environment();
    auto settings = pointers_to(variables);
    const auto parent = ::getpid();
    pid_ = ::fork();
    if (pid_ < 0)
        throw std::runtime_error{"fork failed"};
    if (pid_ == 0)
        become(pointers.data(), settings.data(), parent);
    for (auto left = 10'000ms; left > 0ms; left -= 2ms) {
        if (has_ended())
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
            return;
    }
    throw std::runtime_error{"redis-server ended as soon as it was started:\n" + log()};
}

void redis_server::kill() {
    if (pid_ <= 0)
        return;
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
}

void redis_server::stop() {
    ::kill(pid_, SIGSTOP);
    // The signal takes effect at some later moment; a test wants to know that it has.
    while (::waitpid(pid_, nullptr, WUNTRACED) < 0 && errno == EINTR) {
    }
}

void redis_server::cont() {
    ::kill(pid_, SIGCONT);
}

} // namespace colimit::test
