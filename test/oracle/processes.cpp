// SPDX-License-Identifier: BSL-1.0
//
// Forking.

#include "processes.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <stdexcept>

namespace colimit::oracle {

void end_with_parent() {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
}

void processes::start(int number, const std::function<void()>& work) {
    const auto pid = ::fork();
    if (pid < 0)
        throw std::runtime_error{"fork failed"};
    if (pid != 0) {
        running_.push_back(pid);
        return;
    }
    try {
        end_with_parent();
        work();
    } catch (const std::exception& e) {
        std::cerr << "process " << number << ": " << e.what() << '\n';
        std::_Exit(1);
    }
    std::_Exit(0); // what the parent owns is not for us to end
}

bool processes::have_ended() {
    std::erase_if(running_, [this](pid_t p) {
        auto status = 0;
        if (::waitpid(p, &status, WNOHANG) != p)
            return false;
        failed_ += status == 0 ? 0 : 1;
        return true;
    });
    return running_.empty();
}

void processes::kill() {
    send(SIGKILL);
    for (const auto p : running_)
        ::waitpid(p, nullptr, 0);
    running_.clear();
}

void processes::stop() const {
    send(SIGSTOP);
}

void processes::cont() const {
    send(SIGCONT);
}

void processes::send(int signal) const {
    for (const auto p : running_)
        ::kill(p, signal);
}

} // namespace colimit::oracle
