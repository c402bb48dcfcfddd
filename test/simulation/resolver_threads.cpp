// SPDX-License-Identifier: BSL-1.0
//
// The states of threads according to the kernel: one that was woken is runnable at once, also
// before it has got a processor.

#include "resolver_threads.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace colimit::simulation {

bool other_threads_sleep() {
    const auto own = std::to_string(::gettid());
    for (const auto& thread : std::filesystem::directory_iterator{"/proc/self/task"}) {
        if (thread.path().filename() == own)
            continue;
        auto file = std::ifstream{thread.path() / "stat"};
        const auto text = std::string{std::istreambuf_iterator<char>{file}, {}};
        const auto name_end = text.rfind(')');
        if (name_end != std::string::npos && text.at(name_end + 2) != 'S')
            return false; // one without a text has ended
    }
    return true;
}

} // namespace colimit::simulation
