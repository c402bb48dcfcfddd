// SPDX-License-Identifier: BSL-1.0
//
// Numbers whose width is no power of two are written byte by byte.

#include <colimit/limits.hpp>
#include <core/log_value.hpp>

#include <algorithm>
#include <iterator>

namespace colimit::core {
namespace {

constexpr std::size_t time_bytes = 7;
constexpr std::size_t sum_bytes = 5;
constexpr std::size_t index_bytes = 3;
constexpr auto log_mark = 'l';

static_assert(log_head_bytes == sizeof(double) + 1 + time_bytes + sum_bytes + index_bytes);
static_assert(logged_event_bytes == time_bytes + sum_bytes);

template<std::size_t Size>
[[nodiscard]] std::int64_t read_low(const char* at) noexcept {
    auto number = std::uint64_t{0};
    std::memcpy(&number, at, Size);
    return static_cast<std::int64_t>(number);
}

template<std::size_t Size>
void append_low(std::string& out, std::int64_t number) {
    out.append(reinterpret_cast<const char*>(&number), Size); // NOLINT: its lowest bytes
}

} // namespace

std::int64_t events_in(std::size_t size) noexcept {
    const auto has_events =
        size > log_head_bytes && (size - log_head_bytes) % logged_event_bytes == 0;
    return has_events ? static_cast<std::int64_t>((size - log_head_bytes) / logged_event_bytes) : 0;
}

std::optional<log_head> read_log_head(std::string_view bytes) noexcept {
    const auto* at = bytes.data();
    if (bytes.size() < log_head_bytes || at[sizeof(double)] != log_mark)
        return std::nullopt;
    auto head = log_head{};
    head.expires = detail::read_number<double>(at);
    at += sizeof(double) + 1;
    head.longest = read_low<time_bytes>(at);
    head.before = read_low<sum_bytes>(at + time_bytes);
    head.first = read_low<index_bytes>(at + time_bytes + sum_bytes);
    return head;
}

logged_event read_event(const char* at) noexcept {
    return {.t = read_low<time_bytes>(at), .sum = read_low<sum_bytes>(at + time_bytes)};
}

std::vector<logged_event> kept_events(std::string_view value) {
    const auto head = read_log_head(value);
    auto events = std::vector<logged_event>{};
    if (!head)
        return events;
    for (auto i = head->first; i < events_in(value.size()); ++i) {
        const auto at = log_head_bytes + logged_event_bytes * static_cast<std::size_t>(i);
        const auto e = read_event(&value[at]);
        if (e.t <= limits::max_exact_integer)
            events.push_back(e);
    }
    const auto oldest = events.empty() ? 0 : events.back().t - head->longest + 1;
    const auto first = std::ranges::lower_bound(events, oldest, {}, &logged_event::t);
    const auto before = first == events.begin() ? head->before : std::prev(first)->sum;
    events.erase(events.begin(), first);
    for (auto& e : events)
        e.sum -= before;
    return events;
}

void append_log_head(std::string& out, const log_head& head) {
    detail::append_number(out, head.expires);
    out += log_mark;
    append_low<time_bytes>(out, head.longest);
    append_low<sum_bytes>(out, head.before);
    append_low<index_bytes>(out, head.first);
}

void append_event(std::string& out, logged_event e) {
    append_low<time_bytes>(out, e.t);
    append_low<sum_bytes>(out, e.sum);
}

void append_room(std::string& out, std::int64_t events) {
    out.append(static_cast<std::size_t>(events) * logged_event_bytes, '\xff');
}

} // namespace colimit::core
