// SPDX-License-Identifier: BSL-1.0
//
// A policy source with its own context, and the events that it has sent.

#pragma once

#include <colimit/policy_source.hpp>
#include <support/certificates.hpp>
#include <support/coroutine_run.hpp>
#include <support/fresh_folder.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colimit::test {

/// Returns a document with a policy `api`.
[[nodiscard]] inline std::string document_with(std::string_view rules, std::int64_t version = 0) {
    const auto start = version == 0 ? "{" : "{\"version\": " + std::to_string(version) + ", ";
    return start + R"("policies": {"api": ")" + std::string{rules} +
           R"("}, "routes": [{"path": "/*", "policy": "api"}]})";
}

/// Events as text.
struct event_list {
    [[nodiscard]] auto to() {
        return [this](const policy_event& e) { lines.push_back(to_string(e)); };
    }
    [[nodiscard]] bool has(std::string_view line) const {
        return std::ranges::count(lines, line) != 0;
    }
    [[nodiscard]] auto count(std::string_view kind) const {
        return std::ranges::count_if(
            lines, [kind](const std::string& line) { return line.starts_with(kind); });
    }

    std::vector<std::string> lines;
};

/// A source with a file in a folder of its own, and perhaps a server.
class observed_source {
  public:
    using options = policy_source_options;

    template<class... Server>
    explicit observed_source(const std::string& first, options wanted = quick(),
                             const Server&... server)
        : source(make(first, std::move(wanted), server...)) {}

    [[nodiscard]] static options quick() {
        auto made = options{};
        made.poll_interval = std::chrono::milliseconds{10};
        return made;
    }

    [[nodiscard]] std::string path(std::string_view name = "policies.json") const {
        return folder_.path() + "/" + std::string{name};
    }
    void write(const std::string& text) const { write_file(path(), text); }
    /// Writes another file and renames it.
    void replace(const std::string& text) const {
        write_file(path("next"), text);
        std::filesystem::rename(path("next"), path());
    }
    void run_until(predicate holds) {
        try {
            test::run_until(context, holds);
        } catch (const std::runtime_error& e) { // with what the source has reported
            auto all = std::string{e.what()};
            for (const auto& line : events.lines)
                all += "\n    " + line;
            throw std::runtime_error{all};
        }
    }
    void run_until_rules(std::string_view rules) {
        run_until([&] { return text_of_rules() == rules; });
    }
    void run_until_event(std::string_view line) {
        run_until([&] { return events.has(line); });
    }
    /// The first rule of the policy `api`.
    [[nodiscard]] std::string text_of_rules() const {
        return to_string(source.current()->policies().at("api")[0]);
    }

    asio::io_context context{1};
    event_list events;

  private:
    fresh_folder folder_;

  public:
    policy_source source;

  private:
    template<class... Server>
    [[nodiscard]] policy_source make(const std::string& first, options wanted,
                                     const Server&... server) {
        write(first);
        wanted.on_event = events.to();
        return policy_source{context.get_executor(), path(), server..., wanted};
    }
};

} // namespace colimit::test
