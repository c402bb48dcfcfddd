// SPDX-License-Identifier: BSL-1.0
//
// Metrics of sources of policies.

#include <api/metric_labels.hpp>
#include <api/metric_text.hpp>
#include <colimit/metrics.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace colimit {
namespace {

/// Writes all metrics of some sources.
class writer_of_sources {
  public:
    explicit writer_of_sources(std::span<const policy_source_metrics> sources)
        : sources_(sources), labels_(texts_of_labels("sources", sources)) {}

    [[nodiscard]] std::string write() {
        write("colimit_policies_loads_total", "counter",
              "Documents of policies that were in force so far.",
              [](metric& to, const policy_status& s, const std::string& labels) {
                  to.add(labels, s.loads);
              });
        write("colimit_policies_version", "gauge", "Version of the document in force.",
              [](metric& to, const policy_status& s, const std::string& labels) {
                  if (s.version)
                      to.add(labels, std::to_string(*s.version));
              });
        write("colimit_policies_loaded_timestamp_seconds", "gauge",
              "Unix time since which the document is in force.",
              [](metric& to, const policy_status& s, const std::string& labels) {
                  to.add(labels, seconds(s.since));
              });
        write("colimit_policies_limiting_routes", "gauge",
              "Routes of the document in force that limit requests.",
              [](metric& to, const policy_status& s, const std::string& labels) {
                  to.add(labels, std::uint64_t{s.limiting_routes});
              });
        write("colimit_policies_unlikely_routes", "gauge",
              "Routes of the document in force that would limit requests, but hardly any matches.",
              [](metric& to, const policy_status& s, const std::string& labels) {
                  to.add(labels, std::uint64_t{s.unlikely_routes});
              });
        write("colimit_policies_problem", "gauge",
              "1 while the source has this problem, 0 for the others.",
              [](metric& to, const policy_status& s, const std::string& labels) {
                  using enum policy_event_kind;
                  for (const auto kind : {refused, older, unavailable})
                      to.add(joined(labels, "problem", to_string(kind)),
                             std::uint64_t{s.problem && s.problem->kind == kind});
                  to.add(joined(labels, "problem", to_string(copy_failed)),
                         std::uint64_t{s.copy_problem.has_value()});
              });
        return std::move(out_);
    }

  private:
    /// @param each writes the samples of one source
    template<std::invocable<metric&, const policy_status&, const std::string&> Each>
    void write(std::string_view name, std::string_view type, std::string_view help, Each each) {
        auto of = metric{out_, name, type, help};
        for (std::size_t i = 0; i < sources_.size(); ++i)
            each(of, sources_[i].status, labels_[i]);
    }

    std::span<const policy_source_metrics> sources_;
    std::vector<std::string> labels_; ///< of each source
    std::string out_;
};

} // namespace

policy_source_metrics metrics_of(const policy_source& of, std::vector<metric_label> labels) {
    return {.labels = std::move(labels), .status = of.status()};
}

std::string to_prometheus(std::span<const policy_source_metrics> sources) {
    return writer_of_sources{sources}.write();
}

std::string to_prometheus(const policy_source_metrics& one) {
    return to_prometheus(std::span{&one, 1});
}

} // namespace colimit
