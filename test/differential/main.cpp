// SPDX-License-Identifier: BSL-1.0
//
// differential --operations N --seed S [--server ADDRESS] [--scripts FOLDER] [--brief]
//              [--module FILE]
//
// C++ against Lua: random histories, most of them on clocks of their own and some on the server's,
// run by the script on a real server and by the model in this process, must agree in every
// decision, every value and the end of every key; histories that once differed come first. If they
// do not, the program prints the smallest history that shows it, and ends with 1. One operation in
// ten is on packed states, one an id of a Bloom filter, and one a call without a script. With the
// server module every other batch of a history is a command of the module, on the same keys.

#include "filter_history.hpp"
#include "filter_trial.hpp"
#include "history.hpp"
#include "known_histories.hpp"
#include "log_trial.hpp"
#include "packed_trial.hpp"
#include "scripts.hpp"
#include "shrink.hpp"
#include "trial.hpp"

#include <support/raw_client.hpp>
#include <support/redis_server.hpp>

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace colimit::differential {
namespace {

using steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// A history under way. It stays where it is, as its trial refers to it.
struct running {
    running(test::raw_client& server, const scripts& scripts, history told, std::string prefix)
        : told(std::move(told)), run(server, scripts, this->told, std::move(prefix)) {}

    history told;
    trial run;
    steady::time_point due{}; ///< when its pause is over
};

class comparison {
  public:
    /// @param brief says of a difference only that there is one
    comparison(test::raw_client& server, const scripts& scripts, std::uint64_t seed, bool brief)
        : server_(server), scripts_(scripts), seed_(seed), brief_(brief),
          shows_progress_(::isatty(STDERR_FILENO) == 1),
          prefix_("differential-" + std::to_string(::getpid()) + "-") {}

    /// Returns true if all agreed.
    [[nodiscard]] bool run(std::size_t operations) {
        while (!failed_ && (told_ < operations || !flying_.empty() || !pausing_.empty())) {
            start_next(operations);
            if (flying_.size() > 1 || (told_ >= operations && !flying_.empty()))
                finish_oldest();
            show_progress(operations);
        }
        if (shows_progress_)
            std::cerr << "\r\033[K";
        if (!failed_)
            std::cout << compared_ << " operations in " << histories_
                      << " histories: C++ and Lua agree (seed " << seed_ << ")\n";
        return !failed_;
    }

  private:
    [[nodiscard]] std::string next_prefix() { return prefix_ + std::to_string(++prefixes_); }

    /// One whose pause is over, or a new one.
    void start_next(std::size_t operations) {
        if (!pausing_.empty() && (pausing_.front()->due <= steady::now() || told_ >= operations)) {
            std::this_thread::sleep_until(pausing_.front()->due);
            flying_.push_back(std::move(pausing_.front()));
            pausing_.pop_front();
        } else if (told_ < operations) {
            const auto server_clock = histories_ % 4 == 3;
            auto told = histories_ < known_.size()
                            ? known_[histories_]
                            : random_history(seed_ * 1'000'003 + histories_, server_clock);
            ++histories_;
            told_ += told.calls();
            flying_.push_back(
                std::make_unique<running>(server_, scripts_, std::move(told), next_prefix()));
        } else {
            return;
        }
        flying_.back()->run.send();
    }

    void finish_oldest() {
        auto oldest = std::move(flying_.front());
        flying_.pop_front();
        if (const auto difference = oldest->run.compare()) {
            drain();
            if (brief_)
                std::cout << "C++ and Lua differ: " << difference->what << '\n';
            else
                explain(oldest->told, *difference);
            failed_ = true;
        } else if (const auto pause = oldest->run.pause()) {
            oldest->due = steady::now() + milliseconds{*pause};
            const auto place = std::ranges::upper_bound(
                pausing_, oldest->due, {}, [](const auto& waiting) { return waiting->due; });
            pausing_.insert(place, std::move(oldest));
        } else {
            compared_ += oldest->told.calls();
        }
    }

    void drain() {
        for (; !flying_.empty(); flying_.pop_front())
            (void)flying_.front()->run.compare();
    }

    [[nodiscard]] std::optional<mismatch> try_alone(const history& told) {
        auto run = trial{server_, scripts_, told, next_prefix()};
        for (;;) {
            run.send();
            auto difference = run.compare();
            const auto pause = run.pause();
            if (!pause)
                return difference;
            std::this_thread::sleep_for(milliseconds{difference ? 0 : *pause});
        }
    }

    void explain(history told, mismatch difference) {
        auto attempts = 0;
        auto smallest = shrink(std::move(told), [&](const history& smaller) {
            const auto again = ++attempts < most_attempts ? try_alone(smaller) : std::nullopt;
            if (again)
                difference = *again;
            return again.has_value();
        });
        std::cout << "\rC++ and Lua differ (seed " << seed_ << ", history " << smallest.seed
                  << (smallest.server_clock ? ", the server's clock" : "") << "):\n"
                  << smallest << "after step " << difference.step + 1 << ", " << difference.what
                  << '\n';
        if (attempts > 1 && !smallest.steps.empty() && !try_alone(smallest))
            std::cout << "(it did not show itself again when this was repeated)\n";
    }

    void show_progress(std::size_t operations) {
        if (!shows_progress_ || steady::now() < next_progress_)
            return;
        next_progress_ = steady::now() + milliseconds{200};
        std::cerr << "\rdifferential: " << compared_ << " of " << operations << " operations, "
                  << histories_ << " histories " << std::flush;
    }

    test::raw_client& server_;
    const scripts& scripts_;
    std::uint64_t seed_;
    bool brief_;
    bool shows_progress_;
    std::string prefix_;
    std::vector<history> known_ = known_histories();
    std::deque<std::unique_ptr<running>> flying_;  ///< sent, not compared
    std::deque<std::unique_ptr<running>> pausing_; ///< by the end of the pause
    std::size_t told_ = 0;                         ///< operations
    std::size_t compared_ = 0;                     ///< operations
    std::uint64_t histories_ = 0;
    std::uint64_t prefixes_ = 0;
    bool failed_ = false;
    steady::time_point next_progress_{};
};

/// Compares the ids of Bloom filters. Returns true if all agreed.
[[nodiscard]] bool compare_filters(test::raw_client& server, const scripts& scripts,
                                   std::size_t ids, std::uint64_t seed) {
    const auto prefix = "differential-" + std::to_string(::getpid()) + "-f";
    auto flying = std::deque<std::unique_ptr<filter_trial>>{};
    auto histories = std::uint64_t{0};
    auto difference = std::optional<mismatch>{};
    for (auto told = std::size_t{0}; told < ids || !flying.empty();) {
        if (told < ids) {
            const auto server_clock = histories % 4 == 3;
            auto next = random_filter_history(seed * 1'000'003 + histories++, server_clock);
            told += next.ids();
            flying.push_back(std::make_unique<filter_trial>(server, scripts, std::move(next),
                                                            prefix + std::to_string(histories)));
            flying.back()->send();
        }
        if (flying.size() < 2 && told < ids)
            continue;
        const auto oldest = std::move(flying.front());
        flying.pop_front();
        if (auto found = oldest->compare(); found && !difference) {
            const auto& history = oldest->told();
            std::cout << "C++ and Lua differ about ids (seed " << seed << ", history "
                      << history.seed << (history.server_clock ? ", the server's clock" : "")
                      << "):\n";
            print(std::cout, history, found->step + 1);
            std::cout << found->what << '\n';
            difference = std::move(found);
            ids = 0; // what is under way is read to its end
        }
    }
    if (!difference)
        std::cout << ids << " ids of filters in " << histories << " histories: they agree\n";
    return !difference;
}

int run(int argc, char** argv) {
    auto operations = std::size_t{100'000};
    auto seed = std::uint64_t{1};
    auto address = std::string{};
    CLI::App app{"Random histories, C++ against Lua on a server: equal to the microsecond."};
    app.add_option("--operations", operations, "calls to compare")->capture_default_str();
    app.add_option("--seed", seed, "where the random histories begin")->capture_default_str();
    app.add_option("--server", address, "as config::server; by default one is started");
    auto folder = std::string{};
    auto brief = false;
    app.add_option("--scripts", folder, "a folder with check.lua or seen.lua, to be compared")
        ->check(CLI::ExistingDirectory);
    auto as_functions = false;
    app.add_flag("--functions", as_functions, "calls the scripts as functions")
        ->excludes("--scripts");
    app.add_flag("--brief", brief, "says that they differ, without the smallest history");
    auto module = std::string{};
    app.add_option("--module", module, "the server module, for every other batch")
        ->excludes("--server");
    CLI11_PARSE(app, argc, argv);

    auto own = std::optional<test::redis_server>{};
    auto options = test::redis_server_options{};
    if (!module.empty())
        options.arguments = {"--loadmodule", std::filesystem::absolute(module)};
    if (address.empty())
        address = own.emplace(options).address();
    auto server = test::raw_client{address};
    auto run = scripts{server, folder, as_functions};
    if (!module.empty())
        run.alternate_with_module();
    const auto tenth = operations / 10;
    return comparison{server, run, seed, brief}.run(operations - 3 * tenth) &&
                   compare_packed(server, run, tenth, seed) &&
                   compare_filters(server, run, tenth, seed) && compare_logs(server, tenth, seed)
               ? 0
               : 1;
}

} // namespace
} // namespace colimit::differential

int main(int argc, char** argv) {
    try {
        return colimit::differential::run(argc, argv);
    } catch (const std::exception& e) {
        std::cerr << "differential: " << e.what() << '\n';
        return 2;
    }
}
