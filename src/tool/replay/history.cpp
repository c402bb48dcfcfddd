// SPDX-License-Identifier: BSL-1.0
//
// Servers write a line at the end of a request, with the time of its start: so logs are nearly in
// order, and a limiter that read them in that order would see its clock step back.

#include <tool/replay/history.hpp>

#include <tool/frame/format.hpp>
#include <tool/replay/access_log.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

namespace tool::replay {

namespace {

/// After this many bytes without a valid line, the rest is not tried.
constexpr std::uint64_t patience = 1 << 20;

constexpr std::size_t text_kept = 200;

class reader {
  public:
    reader(const limits& tried, const std::optional<json_fields>& json)
        : tried_(&tried), json_(json ? std::optional<json_reader>{*json} : std::nullopt) {}

    void take(const text_line& line) {
        ++lines_;
        bytes_ += line.text.size() + 1;
        has_zero_ = has_zero_ || line.text.find('\0') != std::string_view::npos;
        const auto problem = line.is_cut ? "is longer than 65,536 bytes" : add(line.text);
        if (!problem.empty())
            reject(line.text, problem);
    }

    [[nodiscard]] bool is_hopeless() const noexcept {
        return result_.requests.empty() && bytes_ >= patience;
    }

    /// Returns why nothing could be read.
    [[nodiscard]] std::string problem() const {
        if (lines_ == 0)
            return "is empty";
        if (has_zero_)
            return "is binary, not a log";
        return (json_ ? "is not a log of JSON lines with these fields: line 1 "
                      : "is not an access log in the common or combined format: line 1 ") +
               result_.first_unreadable.front().problem;
    }

    [[nodiscard]] history& result() noexcept { return result_; }
    [[nodiscard]] std::size_t lines() const noexcept { return lines_; }

  private:
    /// Returns why a line cannot be added; empty if it was.
    std::string_view add(std::string_view text) {
        const auto [read, problem] = json_ ? json_->read(text) : read_log_line(text);
        if (!read)
            return problem;
        std::uint32_t checks = 0;
        if (tried_->has_keys()) {
            auto [call, call_problem] = tried_->call_of(*read);
            if (!call_problem.empty())
                return call_problem;
            checks = place_of(std::move(call));
        }
        result_.requests.push_back({read->time, client(tried_->client_of(read->client)), checks});
        return {};
    }

    void reject(std::string_view text, std::string_view problem) {
        ++result_.unreadable;
        if (result_.first_unreadable.size() < history::unreadable_kept)
            result_.first_unreadable.push_back(
                {lines_, escaped(text.substr(0, text_kept)), std::string{problem}});
    }

    std::uint32_t client(std::string_view name) {
        if (const auto found = places_.find(name); found != places_.end())
            return found->second;
        const auto place = static_cast<std::uint32_t>(result_.clients.size());
        places_.emplace(result_.clients.emplace_back(name), place);
        return place;
    }

    std::uint32_t place_of(call checks) {
        std::string bytes; // no key has a line break
        for (const auto& each : checks)
            bytes += std::to_string(each.policy) + ' ' + each.key + '\n';
        const auto place = static_cast<std::uint32_t>(result_.calls.size());
        const auto [found, is_new] = calls_.try_emplace(std::move(bytes), place);
        if (is_new)
            result_.calls.push_back(std::move(checks));
        return found->second;
    }

    const limits* tried_;
    std::optional<json_reader> json_;
    history result_;
    // Of views of result_.clients. Flat, as a log may have a million clients.
    boost::unordered_flat_map<std::string_view, std::uint32_t> places_;
    std::unordered_map<std::string, std::uint32_t> calls_;
    std::size_t lines_ = 0;
    std::uint64_t bytes_ = 0;
    bool has_zero_ = false;
};

/// Returns whether a resolver may have made this name: in DNS names have a dot.
bool is_host(std::string_view client) noexcept {
    return client == "localhost" || client.find_first_of(".:") != std::string_view::npos;
}

/// Request ids, users or containers as the first words of lines would be so many clients.
void require_hosts(const std::string& path, const std::deque<std::string>& clients) {
    if (2 * static_cast<std::size_t>(std::ranges::count_if(clients, is_host)) < clients.size())
        throw input_error{escaped(path) + " has words such as '" +
                          escaped(*std::ranges::find_if_not(clients, is_host)) +
                          "' where the client should be: most are neither addresses nor host "
                          "names, which have a dot"};
}

} // namespace

history load(const std::string& path, const limits& tried, const std::optional<json_fields>& json,
             progress& shown) {
    line_source source{path};
    reader lines{tried, json};
    shown.begin("reading", source.size());
    while (const auto line = source.next()) {
        lines.take(*line);
        if (lines.is_hopeless())
            break;
        if (lines.lines() % 1024 == 0)
            shown.advance(source.position());
    }
    shown.end();
    if (lines.result().requests.empty())
        throw input_error{escaped(path) + ' ' + lines.problem()};
    auto result = std::move(lines.result());
    if (!json)
        require_hosts(path, result.clients);
    result.out_of_order = put_in_order(result.requests);
    return result;
}

std::size_t put_in_order(std::vector<request>& requests) {
    std::size_t count = 0;
    auto latest = colimit::time_point::min();
    for (const auto& r : requests) {
        count += r.time < latest ? 1U : 0U;
        latest = std::max(latest, r.time);
    }
    if (count == 0)
        return 0;
    // Sorts as std::stable_sort does, which clang does not compile from GCC 12's library without a
    // warning.
    std::vector<std::size_t> places(requests.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    std::ranges::sort(places, {}, [&](std::size_t i) { return std::pair{requests[i].time, i}; });
    std::vector<request> sorted;
    sorted.reserve(requests.size());
    for (const auto place : places)
        sorted.push_back(requests[place]);
    requests = std::move(sorted);
    return count;
}

} // namespace tool::replay
