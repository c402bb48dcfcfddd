// SPDX-License-Identifier: BSL-1.0
//
// Starting and ending programs and functions.

#include <support/child_process.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <random>
#include <stdexcept>

namespace colimit::test {
namespace {

/// Becomes the program, or returns why not. It gets no sockets of the test: Asio's would stay
/// open in it, so that no peer notices their end.
[[nodiscard]] int become(char* const* words, char* const* settings) noexcept {
    ::close_range(STDERR_FILENO + 1, ~0U, 0);
    ::execvpe(words[0], words, settings);
    return 127;
}

/// As exec wants them.
[[nodiscard]] std::vector<char*> pointers_to(std::vector<std::string>& words) {
    auto pointers = std::vector<char*>{};
    for (auto& w : words)
        pointers.push_back(w.data());
    pointers.push_back(nullptr);
    return pointers;
}

[[nodiscard]] bool is_free_port(std::uint16_t port) {
    const auto probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    auto where = sockaddr_in{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    where.sin_port = htons(port);
    const auto is_free =
        probe >= 0 && ::bind(probe, reinterpret_cast<sockaddr*>(&where), sizeof where) == 0;
    if (probe >= 0)
        ::close(probe);
    return is_free;
}

} // namespace

void end_with_parent() {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
}

template<class Work>
void child_process::fork(Work work) {
    const auto parent = ::getpid();
    has_failed_ = false;
    pid_ = ::fork();
    if (pid_ < 0)
        throw std::runtime_error{"fork failed"};
    if (pid_ != 0)
        return;
    end_with_parent();
    ::_exit(::getppid() == parent ? work()
                                  : 1); // what the parent owns is not this process's to end
}

void child_process::start(std::vector<std::string> words,
                          const std::vector<std::string>& variables) {
    auto environment = std::vector<std::string>{};
    for (auto* const* at = environ; *at != nullptr; ++at)
        environment.emplace_back(*at);
    environment.insert(environment.end(), variables.begin(), variables.end());
    const auto pointers = pointers_to(words);
    const auto settings = pointers_to(environment);
    fork([&] { return become(pointers.data(), settings.data()); });
}

void child_process::start(const std::function<void()>& work) {
    fork([&] {
        try {
            work();
            return 0;
        } catch (const std::exception& e) {
            std::fprintf(stderr, "a process has failed: %s\n", e.what());
            return 1;
        }
    });
}

bool child_process::has_ended() {
    auto status = 0;
    if (!is_running() || ::waitpid(pid_, &status, WNOHANG) != pid_)
        return false;
    pid_ = -1;
    has_failed_ = status != 0;
    return true;
}

void child_process::kill() {
    if (!is_running())
        return;
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
}

void child_process::stop() {
    ::kill(pid_, SIGSTOP);
    // The signal takes effect at some later moment; a test wants to know that it has. A process
    // that ends meanwhile remains to be noticed.
    auto state = siginfo_t{};
    while (::waitid(P_PID, static_cast<id_t>(pid_), &state, WSTOPPED | WEXITED | WNOWAIT) < 0 &&
           errno == EINTR) {
    }
}

void child_process::cont() {
    ::kill(pid_, SIGCONT);
}

std::uint16_t free_port() {
    static thread_local auto random = std::mt19937{std::random_device{}()};
    auto any = std::uniform_int_distribution<int>{10'000, 32'000};
    for (auto i = 0; i < 1'000; ++i)
        if (const auto port = static_cast<std::uint16_t>(any(random)); is_free_port(port))
            return port;
    throw std::runtime_error{"no free port"};
}

} // namespace colimit::test
