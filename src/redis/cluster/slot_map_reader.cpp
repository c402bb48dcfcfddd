// SPDX-License-Identifier: BSL-1.0
//
// The first problem is kept, and later ranges are only skipped, so that the connection stays in
// step with the server.

#include <base/bytes.hpp>
#include <redis/cluster/announced_host.hpp>
#include <redis/cluster/slot_map_reader.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace colimit::redis {
namespace {

using resp::progress;

/// Returns how a message names a value of this kind.
[[nodiscard]] std::string_view name_of(resp::kind k) noexcept {
    constexpr std::array<std::string_view, 14> names{"a status",
                                                     "an error",
                                                     "an integer",
                                                     "a string",
                                                     "null",
                                                     "an array",
                                                     "a map",
                                                     "a set",
                                                     "a push",
                                                     "a boolean",
                                                     "a real number",
                                                     "a big number",
                                                     "a verbatim string",
                                                     "an error"};
    return names[static_cast<std::size_t>(k)];
}

[[nodiscard]] std::string expected(std::string_view what, resp::kind got) {
    return "expected " + std::string{what} + ", got " + std::string{name_of(got)};
}

/// Returns the number of nodes of the first value, with all that it contains.
[[nodiscard]] std::size_t extent(std::span<const resp::node> values) noexcept {
    auto at = std::size_t{0};
    for (auto left = std::size_t{1}; left > 0; --left, ++at)
        if (resp::is_container(values[at].kind))
            left += values[at].size;
    return at;
}

} // namespace

progress slot_map_reader::feed(std::string_view bytes) {
    consumed_ = 0;
    if (state_ != progress::need_more || (!has_header_ && !read_header(bytes)))
        return state_;
    while (ranges_read_ < range_count_) {
        const auto rest = bytes.substr(consumed_);
        const auto fed = decoder_.feed(rest);
        if (fed == progress::need_more)
            return state_;
        ++ranges_read_;
        if (fed == progress::malformed) {
            end_malformed(decoder_.violation());
            return state_;
        }
        if (problem_.empty())
            read_range(decoder_.nodes(), rest);
        consumed_ += decoder_.consumed();
        decoder_.next();
    }
    state_ = progress::complete;
    return state_;
}

/// Reads the number of ranges; returns false if it is incomplete, or this is not an array.
bool slot_map_reader::read_header(std::string_view bytes) {
    constexpr std::string_view longest = "*16384\r\n";
    if (bytes.empty())
        return false;
    if (bytes.front() != '*' || bytes.starts_with("*-")) {
        read_other(bytes);
        return false;
    }
    const auto end = bytes.substr(0, longest.size()).find("\r\n");
    if (end == std::string_view::npos) {
        if (bytes.size() >= longest.size())
            end_malformed("more than 16384 ranges, or not a number of ranges");
        return false;
    }
    const auto count = detail::read_decimal(bytes.substr(1, end - 1), slot_count);
    if (!count) {
        end_malformed("more than 16384 ranges, or not a number of ranges");
        return false;
    }
    range_count_ = static_cast<std::size_t>(*count);
    consumed_ = end + 2;
    has_header_ = true;
    return true;
}

/// Reads a reply that is not a map.
void slot_map_reader::read_other(std::string_view bytes) {
    state_ = decoder_.feed(bytes);
    if (state_ == progress::malformed)
        return end_malformed(decoder_.violation());
    if (state_ == progress::need_more)
        return;
    const auto& first = decoder_.first();
    is_refused_ = resp::is_error(first.kind);
    problem_ = is_refused_ ? std::string{decoder_.text(first, bytes)}
                           : expected("an array of ranges", first.kind);
    consumed_ = decoder_.consumed();
}

void slot_map_reader::read_range(nodes values, std::string_view bytes) {
    auto first = std::uint16_t{0};
    auto last = std::uint16_t{0};
    if (!read_slots(values, first, last))
        return;
    auto at = std::size_t{3};
    for (auto i = std::uint32_t{2}; i < values.front().size; ++i) {
        auto node = read_node(values.subspan(at), bytes);
        if (!node)
            return;
        const auto is_added =
            i == 2 ? add_slots(first, last, std::move(*node)) : add_replica(std::move(*node));
        if (!is_added)
            return;
        at += extent(values.subspan(at));
    }
}

bool slot_map_reader::read_slots(nodes values, std::uint16_t& first, std::uint16_t& last) {
    if (values.front().kind != resp::kind::array)
        return fail(expected("an array", values.front().kind));
    if (values.front().size < 3)
        return fail("expected its first and last slot and its master, got " +
                    std::to_string(values.front().size) + " values");
    for (const auto i : {1U, 2U}) {
        if (values[i].kind != resp::kind::integer)
            return fail(expected("a slot", values[i].kind));
        if (values[i].integer < 0 || values[i].integer >= std::int64_t{slot_count})
            return fail("slot " + std::to_string(values[i].integer) + " is not 0 to 16383");
    }
    if (values[1].integer > values[2].integer)
        return fail("slot " + std::to_string(values[1].integer) + " comes after the last one, " +
                    std::to_string(values[2].integer));
    first = static_cast<std::uint16_t>(values[1].integer);
    last = static_cast<std::uint16_t>(values[2].integer);
    return true;
}

std::optional<host_port> slot_map_reader::read_node(nodes values, std::string_view bytes) {
    const auto& node = values[0];
    if (node.kind != resp::kind::array || node.size < 2) {
        fail(node.kind != resp::kind::array ? expected("a node", node.kind)
                                            : "a node without a host and a port");
        return std::nullopt;
    }
    const auto& host = values[1];
    const auto is_text = host.kind == resp::kind::bulk || host.kind == resp::kind::simple;
    if (!is_text && host.kind != resp::kind::null) {
        fail(expected("a host", host.kind));
        return std::nullopt;
    }
    const auto named_host = is_text ? decoder_.text(host, bytes) : std::string_view{};
    if (!is_unknown_host(named_host) && !is_host(named_host)) {
        fail("a host that is neither a name nor an IP address");
        return std::nullopt;
    }
    const auto& port = values[2];
    if (port.kind != resp::kind::integer) {
        fail(expected("a port", port.kind));
        return std::nullopt;
    }
    if (port.integer < 1 || port.integer > std::int64_t{max_port}) {
        fail("port " + std::to_string(port.integer) + " is not 1 to 65535");
        return std::nullopt;
    }
    return host_port{is_unknown_host(named_host) ? asked_host_ : std::string{named_host},
                     static_cast<std::uint16_t>(port.integer)};
}

bool slot_map_reader::add_slots(std::uint16_t first, std::uint16_t last, host_port master) {
    for (std::size_t slot = first; slot <= last; ++slot) {
        if (owned_[slot])
            return fail("slot " + std::to_string(slot) + " is in another range, too");
        owned_[slot] = true;
    }
    // A master has a slot, so there are no more of them than slots.
    const auto index = static_cast<std::uint16_t>(masters_.size());
    const auto [at, is_new] = masters_.try_emplace(std::move(master), index);
    ranges_.push_back({first, last, at->second});
    return true;
}

bool slot_map_reader::add_replica(host_port replica) {
    if (!replicas_.insert(std::move(replica)).second || replicas_.size() <= most_replicas)
        return true;
    return fail("more than 16384 replicas");
}

bool slot_map_reader::fail(std::string_view what) {
    BOOST_ASSERT(problem_.empty());
    problem_ = "range " + std::to_string(ranges_read_) + ": " + std::string{what};
    return false;
}

void slot_map_reader::end_malformed(std::string_view what) {
    state_ = progress::malformed;
    if (problem_.empty())
        problem_ =
            (has_header_ ? "range " + std::to_string(ranges_read_) + ": " : "") + std::string{what};
}

slot_map_result slot_map_reader::take() {
    BOOST_ASSERT(state_ != progress::need_more);
    if (!problem_.empty())
        return {std::nullopt, std::move(problem_), is_refused_};
    auto masters = std::vector<host_port>(masters_.size());
    for (const auto& [address, index] : masters_)
        masters[index] = address;
    return {slot_map{std::move(masters), {replicas_.begin(), replicas_.end()}, std::move(ranges_)},
            {}};
}

slot_map_result read_slot_map(const resp::decoder& reply, std::string_view bytes,
                              std::string_view asked_host) {
    auto reader = slot_map_reader{asked_host};
    reader.feed(bytes.substr(0, reply.consumed()));
    return reader.take();
}

} // namespace colimit::redis
