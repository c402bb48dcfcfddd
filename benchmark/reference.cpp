// SPDX-License-Identifier: BSL-1.0
//
// How many checks per second does the server make if each is one script call, as such limiters are
// usually written? The script is reference.lua, the client redis-benchmark, which does nothing but
// send and count: no client in a service can be faster with that script.

#include <scenarios.hpp>
#include <support/meter.hpp>
#include <support/rules.hpp>
#include <support/server.hpp>
#include <support/subprocess.hpp>

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace colimit::benchmark {
namespace {

/// With one connection the server is idle while 64 replies travel and 64 calls come back. In
/// interleaved sweeps, 16 gave higher medians than 1, 2, 4 and 8: the best rate of the reference.
constexpr auto connections = 16;
constexpr auto pipelined = 64;

/// Returns the calls per second that redis-benchmark reports: the second field of the last line of
/// `"test","rps",...`.
[[nodiscard]] double rate_in(const std::string& csv) {
    const auto line = csv.rfind("\n\"");
    const auto field = line == std::string::npos ? line : csv.find("\",\"", line);
    if (field == std::string::npos)
        throw std::runtime_error{"redis-benchmark says: " + csv};
    return std::stod(csv.substr(field + 3));
}

/// Makes `checks` calls with random keys and the numbers of thousand_an_hour().
[[nodiscard]] double run_reference(const std::string& socket, const std::string& sha1,
                                   std::uint64_t checks) {
    auto command = std::ostringstream{};
    command << "redis-benchmark -s '" << socket << "' -c " << connections << " -P " << pipelined
            << " -n " << checks << " -r " << server_keys << " --csv EVALSHA " << sha1
            << " 1 user:__rand_int__ 1000 3600000 1 7200000 2>&1";
    return rate_in(run_command(command.str()).output);
}

} // namespace

std::string reference_script(const conditions& c) {
    const auto path = c.scripts + "/reference.lua";
    auto file = std::ifstream{path};
    if (!file)
        throw std::runtime_error{"cannot read " + path};
    return (std::ostringstream{} << file.rdbuf()).str();
}

measurement reference(const conditions& c) {
    const auto of = server{c.socket};
    of.forget_keys();
    const auto sha1 = of.load_script(reference_script(c));
    const auto rate = run_reference(c.socket, sha1, c.warm_up);

    const auto checks = static_cast<std::uint64_t>(rate * c.seconds) + 1;
    const auto spent = meter{c.socket};
    const auto measured = run_reference(c.socket, sha1, checks);
    // Only the rate of the client is known: redis-benchmark is another process.
    return {.checks_per_s = measured,
            .server_us_per_check = spent.read(checks).server_us_per_check};
}

} // namespace colimit::benchmark
