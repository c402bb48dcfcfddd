// SPDX-License-Identifier: BSL-1.0
//
// Information from Linux and the compiler.

#include <support/machine.hpp>

#include <array>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sys/utsname.h>
#include <thread>

namespace colimit::benchmark {
namespace {

[[nodiscard]] std::string processor() {
    auto file = std::ifstream{"/proc/cpuinfo"};
    for (auto line = std::string{}; std::getline(file, line);)
        if (line.starts_with("model name"))
            return line.substr(line.find(": ") + 2);
    return "unknown processor";
}

} // namespace

std::string machine() {
    auto system = utsname{};
    uname(&system);
    return processor() + ", " + std::to_string(std::thread::hardware_concurrency()) + " cores, " +
           system.sysname + " " + system.release;
}

std::string compiler() {
#ifdef __clang__
    return "clang " __clang_version__;
#else
    return "GCC " __VERSION__;
#endif
}

std::string date() {
    const auto now = std::time(nullptr);
    auto parts = std::tm{};
    gmtime_r(&now, &parts);
    auto text = std::array<char, 32>{};
    return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

double load_average() {
    auto load = 0.0;
    getloadavg(&load, 1);
    return load;
}

} // namespace colimit::benchmark
