// SPDX-License-Identifier: BSL-1.0
//
// One pass over the requests, which are in the order of time.

#include <tool/replay/statistics.hpp>

#include <algorithm>
#include <iterator>
#include <tuple>

namespace tool::replay {

statistics count(const history& log, const std::vector<verdict>& verdicts, std::size_t rules) {
    statistics result;
    result.requests = log.requests.size();
    result.clients = log.clients.size();
    result.limited_by_rule.resize(rules);

    std::vector<client_statistics> clients(log.clients.size());
    for (std::size_t i = 0; i < log.requests.size(); ++i) {
        const auto& request = log.requests[i];
        auto& client = clients[request.client];
        client.client = request.client;
        ++client.requests;
        if (!log.calls.empty() && log.calls[request.call].empty())
            ++result.unlimited;
        if (verdicts[i] == allowed)
            continue;
        ++result.limited;
        ++result.limited_by_rule[static_cast<std::size_t>(verdicts[i])];
        if (client.limited++ == 0)
            client.first_limited = std::chrono::floor<std::chrono::seconds>(request.time);
        client.last_limited = std::chrono::floor<std::chrono::seconds>(request.time);
    }

    std::ranges::copy_if(clients, std::back_inserter(result.clients_limited),
                         [](const client_statistics& c) { return c.limited != 0; });
    std::ranges::sort(result.clients_limited,
                      [](const client_statistics& a, const client_statistics& b) {
                          return std::tuple{b.limited, a.first_limited, a.client} <
                                 std::tuple{a.limited, b.first_limited, b.client};
                      });
    return result;
}

} // namespace tool::replay
