// SPDX-License-Identifier: BSL-1.0
//
// Forking. A process on the first side of partitions is known by its group.

#include "processes.hpp"

#include <support/private_network.hpp>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <stdexcept>

namespace colimit::oracle {
namespace {

void run_task(const task& t, const std::optional<flaw>& mistake) {
    if (t.is_on_first_side && ::setegid(test::first_side_group) != 0)
        throw std::runtime_error{"setegid failed"};
    // Without the parent nothing would end it. (A change of the group would undo this.)
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    mistake ? call_by_hand(t, *mistake) : call_by_limiter(t);
}

} // namespace

void processes::start(const task& t, const std::optional<flaw>& mistake) {
    const auto pid = ::fork();
    if (pid < 0)
        throw std::runtime_error{"fork failed"};
    if (pid != 0) {
        running_.push_back(pid);
        return;
    }
    try {
        run_task(t, mistake);
    } catch (const std::exception& e) {
        std::cerr << "process " << t.process << ": " << e.what() << '\n';
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

} // namespace colimit::oracle
