// SPDX-License-Identifier: BSL-1.0
//
// The range of each option. NaN is in none of them.

#include <adaptive/options_check.hpp>
#include <base/enumerator.hpp>
#include <colimit/error.hpp>

#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace colimit::adaptive {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::int64_t most = 1'000'000;
constexpr milliseconds hour = std::chrono::hours{1};

[[nodiscard]] std::string text_of(std::int64_t value) {
    return std::to_string(value);
}
[[nodiscard]] std::string text_of(milliseconds value) {
    return std::to_string(value.count()) + " ms";
}
[[nodiscard]] std::string text_of(microseconds value) {
    return std::to_string(value.count()) + " us";
}
[[nodiscard]] std::string text_of(double value) {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    return {digits.data(), end};
}

/// The options of one algorithm, by their names.
class section {
  public:
    explicit section(std::string_view name) : name_(name) {}

    template<class Value>
    void range(std::string_view option, Value value, Value from, Value to) const {
        require(value >= from && value <= to, option, value, text_of(from) + " to " + text_of(to));
    }
    /// A fraction above 0, up to 1.
    void weight(std::string_view option, double value) const {
        require(value > 0 && value <= 1, option, value, "above 0, up to 1");
    }
    template<class Value>
    void order(std::string_view least, Value min, std::string_view greatest, Value max) const {
        require(min <= max, least, min,
                "at most " + std::string{greatest} + ", which is " + text_of(max));
    }
    template<class Value>
    void require(bool is_valid, std::string_view option, Value value,
                 const std::string& expected) const {
        if (!is_valid)
            throw error{errc::invalid_argument, "adaptive_options::" + std::string{name_} + "." +
                                                    std::string{option} + ": out of range (got " +
                                                    text_of(value) + ", expected " + expected +
                                                    ")"};
    }

    template<class Options>
    void limits(const Options& o) const {
        range("min_limit", o.min_limit, std::int64_t{1}, most);
        range("max_limit", o.max_limit, std::int64_t{1}, most);
        order("min_limit", o.min_limit, "max_limit", o.max_limit);
        range("initial_limit", o.initial_limit, o.min_limit, o.max_limit);
    }

  private:
    std::string_view name_;
};

void check(const gradient2_options& o) {
    const section options{"gradient2"};
    options.limits(o);
    options.weight("smoothing", o.smoothing);
    options.range("queue_size", o.queue_size, std::int64_t{1}, most);
    options.range("tolerance", o.tolerance, 1.0, 1000.0);
    options.range("long_window", o.long_window, std::int64_t{1}, most);
    options.range("min_window", o.min_window, milliseconds{100}, hour);
    options.range("max_window", o.max_window, milliseconds{100}, hour);
    options.order("min_window", o.min_window, "max_window", o.max_window);
    options.range("min_samples", o.min_samples, std::int64_t{10}, most);
    options.range("min_latency", o.min_latency, microseconds{0}, microseconds{hour});
}

void check(const brpc_options& o) {
    const section options{"brpc"};
    options.limits(o);
    options.range("window", o.window, milliseconds{1}, hour);
    options.range("min_samples", o.min_samples, std::int64_t{1}, most);
    options.range("max_samples", o.max_samples, std::int64_t{1}, most);
    options.order("min_samples", o.min_samples, "max_samples", o.max_samples);
    options.range("sampling_interval", o.sampling_interval, microseconds{0}, microseconds{hour});
    options.range("remeasure_interval", o.remeasure_interval, milliseconds{1}, 24 * hour);
    options.weight("remeasure_ratio", o.remeasure_ratio);
    options.weight("smoothing", o.smoothing);
    options.range("max_explore", o.max_explore, 0.0, 10.0);
    options.range("min_explore", o.min_explore, 0.0, o.max_explore);
    options.range("explore_step", o.explore_step, 0.0, o.max_explore);
    options.range("latency_tolerance", o.latency_tolerance, 0.0, 1000.0);
    options.range("failure_weight", o.failure_weight, 0.0, 1000.0);
    options.require(o.failure_threshold >= 0 && o.failure_threshold < 1, "failure_threshold",
                    o.failure_threshold, "0 to less than 1");
}

} // namespace

void check(const adaptive_options& options) {
    using enum adaptive_algorithm;
    check_enumerator([] { return "adaptive_options::algorithm"; }, options.algorithm,
                     {gradient2, brpc}, errc::invalid_argument);
    if (options.algorithm == gradient2)
        check(options.gradient2);
    else
        check(options.brpc);
}

} // namespace colimit::adaptive
