// SPDX-License-Identifier: BSL-1.0
//
// The server loses nothing when it is killed, so ids are remembered across restarts.

#include "request_run.hpp"

#include "caller.hpp"
#include "durable_server.hpp"
#include "fault_injector.hpp"
#include "network.hpp"
#include "processes.hpp"
#include "records_file.hpp"
#include "request_checker.hpp"

#include <support/fresh_folder.hpp>
#include <support/raw_client.hpp>
#include <support/redis_server.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace colimit::oracle {
namespace {

using namespace std::chrono_literals;

/// Ids whose calls are in memory at a time.
constexpr std::int64_t ids_per_round = 500'000;

/// Deletes the records of some ids.
void forget_records(test::raw_client& server, const std::string& prefix) {
    server.must({"EVAL",
                 "for _, key in ipairs(redis.call('SCAN', ARGV[2], 'MATCH', ARGV[1], 'COUNT', "
                 "1000)[2]) do redis.call('DEL', key) end",
                 "0", prefix + ":*:r:*", "0"});
}

class request_run {
  public:
    explicit request_run(request_order o) : order_(std::move(o)) {
        if (order_.server.empty())
            order_.server = own_.emplace(keeps_all()).unix_address();
    }

    void run() {
        for (auto left = order_.checks; left > 0; left -= ids_per_round)
            run_round(std::min(left, ids_per_round));
    }

    [[nodiscard]] bool report() const {
        const auto& j = found_.ids;
        const auto unfinished = order_.checks - j.checks + unfinished_;
        std::cout << "calls " << found_.sent << ", answered " << found_.answered << "; ids granted "
                  << j.granted << ", refused " << j.refused << ", unknown " << j.unknown
                  << ", failed " << j.failed << '\n'
                  << "ids " << j.checks << ", with different answers " << found_.different
                  << ", over-admitted " << j.over_admitted << ", double-counted "
                  << j.double_counted << ", unfinished " << unfinished << std::endl;
        return found_.different == 0 && j.over_admitted == 0 && j.double_counted == 0 &&
               unfinished == 0 && failed_processes_ == 0;
    }

  private:
    void run_round(std::int64_t ids) {
        ++round_;
        const auto seed = order_.seed * 1'000'003 + static_cast<std::uint64_t>(round_) * 1'009;
        const auto prefix = "requests-" + std::to_string(::getpid()) + '-' + std::to_string(round_);
        auto bad = std::optional<network>{};
        if (order_.faults)
            bad.emplace(order_.server, seed);
        auto tasks = std::vector<task>{};
        auto callers = processes{};
        for (auto p = 1; p <= order_.processes; ++p)
            tasks.push_back({.server = bad && p % 2 == 0 ? bad->address() : order_.server,
                             .prefix = prefix,
                             .file = folder_.path() + '/' + std::to_string(p),
                             .checks = ids,
                             .requests = request_plan{order_.processes, seed},
                             .process = p,
                             .seed = seed + static_cast<std::uint64_t>(p)});
        for (const auto& t : tasks)
            callers.start(t.process, [&t] { call_by_limiter(t); });
        auto worse = fault_injector{own_ ? &*own_ : nullptr, order_.server, seed, [] {}};
        if (bad) {
            bad->start();
            worse.make([&] { return callers.have_ended(); });
        }
        auto look = std::optional<test::raw_client>{};
        while (!callers.have_ended()) {
            std::this_thread::sleep_for(5ms);
            if (order_.forgets_records)
                forget_records(look ? *look : look.emplace(order_.server), prefix);
        }
        failed_processes_ += callers.failed();
        judge_round(tasks, prefix);
    }

    void judge_round(const std::vector<task>& tasks, const std::string& prefix) {
        auto sent = std::vector<sent_request>{};
        for (const auto& t : tasks) {
            read_records(t.file + sent_suffix, sent);
            auto calls = std::vector<record>{};
            read_records(t.file, calls);
            unfinished_ += std::ranges::count(calls, verdict::unfinished, &record::verdict);
        }
        add(found_, judge(std::move(sent), read_totals(order_.server, prefix)));
    }

    request_order order_;
    std::optional<test::redis_server> own_;
    test::fresh_folder folder_;
    int round_ = 0;
    request_judgement found_;
    std::int64_t unfinished_ = 0;
    int failed_processes_ = 0;
};

} // namespace

bool run_with_requests(const request_order& order) {
    auto r = request_run{order};
    r.run();
    return r.report();
}

} // namespace colimit::oracle
