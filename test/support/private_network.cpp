// SPDX-License-Identifier: BSL-1.0
//
// The namespace has no name, so it ends with its last process. Packets are dropped where they are
// sent, as it is known there which process has sent them.

#include <support/fresh_folder.hpp>
#include <support/private_network.hpp>

#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace colimit::test {
namespace {

/// Returns whether the interface `lo`, which a new namespace has, is up now.
[[nodiscard]] bool raise_loopback() {
    const auto socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    auto lo = ifreq{};
    std::strcpy(lo.ifr_name, "lo");
    lo.ifr_flags = IFF_UP | IFF_RUNNING;
    const auto is_up = socket >= 0 && ::ioctl(socket, SIOCSIFFLAGS, &lo) == 0;
    if (socket >= 0)
        ::close(socket);
    return is_up;
}

/// Returns what nft says about these commands: nothing if all is well.
[[nodiscard]] std::string run_nft(const std::string& commands) {
    const auto folder = fresh_folder{};
    const auto file = folder.path() + "/rules";
    std::ofstream{file} << commands;
    auto* const pipe = ::popen(("nft -f " + file + " 2>&1").c_str(), "re");
    if (pipe == nullptr)
        return std::strerror(errno);
    auto said = std::string{};
    auto piece = std::array<char, 256>{};
    while (std::fgets(piece.data(), piece.size(), pipe) != nullptr)
        said += piece.data();
    if (::pclose(pipe) == 0)
        return {};
    return said.empty() ? "nft fails" : said.substr(0, said.find('\n'));
}

[[nodiscard]] std::string set_of(const std::vector<std::string>& hosts) {
    auto text = std::string{};
    for (const auto& h : hosts)
        text += (text.empty() ? "{ " : ", ") + h;
    return text + " }";
}

} // namespace

std::string enter_private_network() {
    if (::unshare(CLONE_NEWNET) != 0)
        return std::string{"no network namespace: "} + std::strerror(errno);
    if (!raise_loopback())
        return std::string{"no interface in a network namespace: "} + std::strerror(errno);
    const auto problem = run_nft("table ip partition\ndelete table ip partition\n");
    return problem.empty() ? problem : "no nftables: " + problem;
}

partition::partition(const std::vector<std::string>& first,
                     const std::vector<std::string>& second) {
    const auto here = set_of(first);
    const auto there = set_of(second);
    const auto group = std::to_string(first_side_group);
    const auto drop = [](const std::string& what) { return what + " drop\n"; };
    const auto problem =
        run_nft("table ip partition {\nchain output {\ntype filter hook output priority 0\n" +
                drop("ip saddr " + here + " ip daddr " + there) +
                drop("ip saddr " + there + " ip daddr " + here) +
                drop("meta skgid " + group + " ip daddr " + there) +
                drop("ip saddr 127.0.0.1 meta skgid != " + group + " ip daddr " + here) + "}\n}\n");
    if (!problem.empty())
        throw std::runtime_error{"no partition: " + problem};
}

partition::~partition() {
    (void)run_nft("delete table ip partition\n");
}

} // namespace colimit::test
