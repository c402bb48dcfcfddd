// SPDX-License-Identifier: BSL-1.0
//
// The steps, the buckets, the ticks.

#include <tool/replay/timeline.hpp>

#include <tool/frame/format.hpp>

#include <algorithm>
#include <array>

namespace tool::replay {

namespace {

using namespace std::chrono;

// Without 90 minutes: with hourly events every other bar would be twice as high.
constexpr std::array<seconds, 29> steps{
    seconds{1},  seconds{2},  seconds{5}, seconds{10}, seconds{15}, seconds{30},
    minutes{1},  minutes{2},  minutes{3}, minutes{5},  minutes{10}, minutes{15},
    minutes{20}, minutes{30}, hours{1},   hours{2},    hours{3},    hours{4},
    hours{6},    hours{8},    hours{12},  days{1},     days{2},     days{4},
    days{7},     days{14},    days{28},   days{56},    days{112}};

/// Returns the index of the step of this length, counted from 1970.
std::int64_t place(sys_seconds time, seconds step) {
    return time.time_since_epoch() / step;
}

/// Returns the shortest step that is a multiple of `base` and of which `most` are enough.
seconds choose_step(sys_seconds first, sys_seconds last, std::size_t most, seconds base) {
    const auto fits = [&](seconds step) {
        const auto count = place(last, step) - place(first, step) + 1;
        return step % base == seconds{0} && count <= static_cast<std::int64_t>(most);
    };
    if (const auto* const found = std::ranges::find_if(steps, fits); found != steps.end())
        return *found;
    auto step = std::max(steps.back(), base); // a century in a narrow terminal
    while (!fits(step))
        step *= 2;
    return step;
}

/// Returns the part of `2015-05-17 10:05:03` that differs from tick to tick.
std::string label(sys_seconds time, seconds step, seconds whole) {
    const auto text = utc(time);
    if (step % days{1} == seconds{0})
        return whole < days{300} ? text.substr(5, 5) : text.substr(0, 10);
    if (whole > days{1})
        return text.substr(5, 11);
    return step % minutes{1} == seconds{0} ? text.substr(11, 5) : text.substr(11, 8);
}

} // namespace

timeline make_timeline(const std::vector<request>& requests, const std::vector<verdict>& verdicts,
                       std::size_t most) {
    const auto first = floor<seconds>(requests.front().time);
    const auto last = floor<seconds>(requests.back().time);
    const auto step = choose_step(first, last, std::max<std::size_t>(most, 1), seconds{1});
    const auto count = static_cast<std::size_t>(place(last, step) - place(first, step)) + 1;
    timeline result{sys_seconds{step * place(first, step)}, step, std::vector<std::size_t>(count),
                    std::vector<std::size_t>(count)};
    for (std::size_t i = 0; i < requests.size(); ++i) {
        const auto at = static_cast<std::size_t>((requests[i].time - result.start) / step);
        ++result.requests[at];
        result.limited[at] += verdicts[i] == allowed ? 0U : 1U;
    }
    return result;
}

std::vector<tick> ticks(const timeline& line, std::size_t most) {
    const auto end = line.end();
    const auto step = choose_step(line.start, end, std::max<std::size_t>(most, 1), line.step);
    std::vector<tick> result;
    for (auto i = place(line.start + step - seconds{1}, step); sys_seconds{step * i} <= end; ++i)
        result.push_back(
            {sys_seconds{step * i}, label(sys_seconds{step * i}, step, end - line.start)});
    return result;
}

} // namespace tool::replay
