// SPDX-License-Identifier: BSL-1.0
//
// How many checks per second do other libraries get from the same server? Programs under rivals/,
// each as its users would write it, with the same keys and the same limit.

#include <scenarios.hpp>
#include <support/meter.hpp>
#include <support/rules.hpp>
#include <support/server.hpp>
#include <support/subprocess.hpp>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <string>

namespace colimit::benchmark {
namespace {

/// @param program as the shell starts it
[[nodiscard]] measurement run_rival(const std::string& program, const conditions& c,
                                    const std::string& sha1, std::uint64_t checks) {
    const auto done = run_command(program + " '" + c.socket + "' " + std::to_string(checks) + " " +
                                  std::to_string(server_keys) + " " + sha1 + " 2>&1");
    auto m = measurement{};
    auto client_us = 0.0;
    auto figures = std::istringstream{done.output};
    if (done.status != 0 || !(figures >> m.checks_per_s >> client_us))
        throw std::runtime_error{"the rival says: " + done.output};
    m.client_us_per_check = client_us;
    return m;
}

/// @param recovery how to install it
[[nodiscard]] measurement measure(const std::string& program, const std::string& recovery,
                                  const conditions& c) {
    if (run_command(program + " --version 2>&1").status != 0)
        throw not_to_be_had{"not installed; " + recovery};
    const auto of = server{c.socket};
    of.forget_keys();
    const auto sha1 = of.load_script(reference_script(c));
    const auto checks_in_time = [&c](const measurement& m) {
        return static_cast<std::uint64_t>(m.checks_per_s * c.seconds) + 1;
    };
    // Measures its speed; then creates most of the keys, in as much time as the measured run.
    const auto tried = run_rival(program, c, sha1, c.warm_up / 50);
    const auto warm = run_rival(program, c, sha1, std::min(c.warm_up, checks_in_time(tried)));
    const auto checks = checks_in_time(warm);
    const auto spent = meter{c.socket};
    auto m = run_rival(program, c, sha1, checks);
    m.server_us_per_check = spent.read(checks).server_us_per_check;
    return m;
}

/// Returns a path in the folder of this program.
[[nodiscard]] std::string built(const std::string& name) {
    return "'" + (std::filesystem::read_symlink("/proc/self/exe").parent_path() / name).string() +
           "'";
}

} // namespace

measurement rival_hiredis(const conditions& c) {
    return measure(built("rival_hiredis"), "benchmark/run --rivals installs libhiredis-dev", c);
}

measurement rival_boost_redis(const conditions& c) {
    return measure(built("rival_boost_redis"), "needs Boost 1.92 or later, see rivals/README.md",
                   c);
}

measurement rival_flexible(const conditions& c) {
    return measure("node '" + c.scripts + "/rivals/rate_limiter_flexible.js'",
                   "benchmark/run --rivals installs its packages where there is npm", c);
}

measurement rival_limits(const conditions& c) {
    return measure("/usr/bin/python3 '" + c.scripts + "/rivals/limits_python.py'",
                   "benchmark/run --rivals installs python3-limits", c);
}

} // namespace colimit::benchmark
