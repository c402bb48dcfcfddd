// SPDX-License-Identifier: BSL-1.0
//
// A simulated server: requests arrive at random, wait in a queue without a bound for one of several
// workers, and are served in the order of their arrival. Clients give up after a time, but the
// server does not know that and serves their requests as well: so a long queue makes all of its
// work useless. Nothing reads a clock: time jumps from one event to the next.

#pragma once

#include <colimit/adaptive_limit.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace colimit::benchmark::overload {

using std::chrono::nanoseconds;

/// A part of the time.
struct phase {
    std::string name;
    std::chrono::seconds length{};
    double load = 0;      ///< requests, in relation to what the server can serve if nothing is slow
    double slow_down = 1; ///< how many times longer a request takes to serve
};

struct scenario {
    std::size_t workers = 64;
    nanoseconds service = std::chrono::milliseconds{50};   ///< of a request, on average
    nanoseconds patience = std::chrono::milliseconds{250}; ///< after which clients have given up
    std::vector<phase> phases;
    std::uint64_t seed = 1;

    /// Returns the requests per second that the server can serve if nothing is slow.
    [[nodiscard]] double capacity() const noexcept;
    [[nodiscard]] std::chrono::seconds length() const noexcept;
};

/// Returns steady load, a slow dependency, overload, and recovery after each.
[[nodiscard]] scenario usual_scenario(std::uint64_t seed);

/// Requests by their fate; `late` ones were served after their client had given up.
struct counts {
    std::size_t in_time = 0;
    std::size_t late = 0;
    std::size_t denied = 0;

    [[nodiscard]] std::size_t all() const noexcept { return in_time + late + denied; }
    counts& operator+=(const counts& other) noexcept;
};

/// The requests that arrived in a second.
struct second {
    counts requests;
    std::int64_t limit = 0;      ///< at its end; 0 without a limit
    std::size_t most_inside = 0; ///< the most requests that waited or were being served
};

/// Returns the first second of a phase, and the one after its last.
[[nodiscard]] std::pair<std::size_t, std::size_t> seconds_of(const scenario& all,
                                                             std::size_t phase);

/// Returns a sentence: what the server can serve.
[[nodiscard]] std::string describe(const scenario& all);

/// What a server has done with the requests of a scenario.
struct record {
    std::string name;
    std::vector<second> seconds;

    /// Returns the sum over a phase.
    [[nodiscard]] counts of(const scenario& all, std::size_t phase) const;
};

/// @param limit that the server has, or null
[[nodiscard]] record serve(const scenario& all, std::string name, adaptive_limit* limit);

/// Returns the options with which the algorithms are compared: their defaults, but the limit begins
/// with the number of workers, and the maximum is too high to help.
[[nodiscard]] adaptive_options compared_options(const scenario& all, adaptive_algorithm algorithm);

/// Returns the records of a server without a limit, and with one of each algorithm.
[[nodiscard]] std::vector<record> compare(const scenario& all);

/// Returns the most requests of a phase that any server could have answered in time: those that
/// arrived, or those that its workers can serve.
[[nodiscard]] double possible(const scenario& all, std::size_t phase, const counts& requests);

} // namespace colimit::benchmark::overload
