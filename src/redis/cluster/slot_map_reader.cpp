// SPDX-License-Identifier: BSL-1.0
//
// Reads range by range, up to the first problem.

#include <redis/cluster/announced_host.hpp>
#include <redis/cluster/slot_map_reader.hpp>

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace colimit::redis {
namespace {

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

class reader {
  public:
    reader(const resp::decoder& reply, std::string_view bytes, std::string_view asked_host)
        : reply_(reply), bytes_(bytes), asked_host_(asked_host), rest_(reply.nodes().subspan(1)) {}

    [[nodiscard]] bool read_ranges() {
        const auto& all = reply_.first();
        if (all.kind != resp::kind::array)
            return fail(expected("an array of ranges", all.kind));
        if (all.size > slot_count)
            return fail(std::to_string(all.size) + " ranges, more than 16384");
        for (std::uint32_t i = 1; i <= all.size; ++i)
            if (!read_range()) {
                problem_.insert(0, "range " + std::to_string(i) + ": ");
                return false;
            }
        return true;
    }

    [[nodiscard]] slot_map map() {
        auto masters = std::vector<host_port>(masters_.size());
        for (const auto& [address, index] : masters_)
            masters[index] = address;
        return {std::move(masters), {replicas_.begin(), replicas_.end()}, std::move(ranges_)};
    }

    [[nodiscard]] std::string& problem() noexcept { return problem_; }

  private:
    /// Returns the next value; of a container, its elements follow.
    const resp::node& take() noexcept {
        const auto& taken = rest_.front();
        rest_ = rest_.subspan(1);
        return taken;
    }

    /// Skips a value with all that it contains.
    void skip() noexcept {
        for (auto left = std::size_t{1}; left > 0; --left)
            if (const auto& skipped = take(); resp::is_container(skipped.kind))
                left += skipped.size;
    }

    [[nodiscard]] bool read_range() {
        const auto& range = take();
        if (range.kind != resp::kind::array)
            return fail(expected("an array", range.kind));
        if (range.size < 3)
            return fail("expected its first and last slot and its master, got " +
                        std::to_string(range.size) + " values");
        const auto first = read_slot();
        const auto last = first ? read_slot() : std::nullopt;
        if (!last)
            return false;
        if (*first > *last)
            return fail("slot " + std::to_string(*first) + " comes after the last one, " +
                        std::to_string(*last));
        for (std::uint32_t i = 2; i < range.size; ++i) {
            auto node = read_node();
            if (!node || !(i == 2 ? add_slots(*first, *last, std::move(*node))
                                  : add_replica(std::move(*node))))
                return false;
        }
        return true;
    }

    [[nodiscard]] std::optional<std::uint16_t> read_slot() {
        const auto& slot = take();
        if (slot.kind != resp::kind::integer)
            fail(expected("a slot", slot.kind));
        else if (slot.integer < 0 || slot.integer >= std::int64_t{slot_count})
            fail("slot " + std::to_string(slot.integer) + " is not 0 to 16383");
        else
            return static_cast<std::uint16_t>(slot.integer);
        return std::nullopt;
    }

    [[nodiscard]] std::optional<host_port> read_node() {
        const auto& node = take();
        if (node.kind != resp::kind::array || node.size < 2) {
            fail(node.kind != resp::kind::array ? expected("a node", node.kind)
                                                : "a node without a host and a port");
            return std::nullopt;
        }
        const auto host = read_host();
        const auto port = host ? read_port() : std::nullopt;
        if (!port)
            return std::nullopt;
        for (std::uint32_t i = 2; i < node.size; ++i)
            skip();
        return host_port{std::string{*host}, *port};
    }

    [[nodiscard]] std::optional<std::string_view> read_host() {
        const auto& host = take();
        const auto is_text = host.kind == resp::kind::bulk || host.kind == resp::kind::simple;
        const auto named = is_text ? reply_.text(host, bytes_) : std::string_view{};
        if (!is_text && host.kind != resp::kind::null)
            fail(expected("a host", host.kind));
        else if (is_unknown_host(named))
            return asked_host_;
        else if (!is_host(named))
            fail("a host that is neither a name nor an IP address");
        else
            return named;
        return std::nullopt;
    }

    [[nodiscard]] std::optional<std::uint16_t> read_port() {
        const auto& port = take();
        if (port.kind != resp::kind::integer)
            fail(expected("a port", port.kind));
        else if (port.integer < 1 || port.integer > std::int64_t{max_port})
            fail("port " + std::to_string(port.integer) + " is not 1 to 65535");
        else
            return static_cast<std::uint16_t>(port.integer);
        return std::nullopt;
    }

    [[nodiscard]] bool add_slots(std::uint16_t first, std::uint16_t last, host_port master) {
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

    [[nodiscard]] bool add_replica(host_port replica) {
        if (!replicas_.insert(std::move(replica)).second || replicas_.size() <= most_replicas)
            return true;
        return fail("more than 16384 replicas");
    }

    bool fail(std::string what) {
        problem_ = std::move(what);
        return false;
    }

    const resp::decoder& reply_;
    std::string_view bytes_;
    std::string_view asked_host_;
    std::span<const resp::node> rest_;
    std::map<host_port, std::uint16_t> masters_; ///< with their indices
    std::set<host_port> replicas_;
    std::vector<slot_map::range> ranges_;
    std::bitset<slot_count> owned_;
    std::string problem_;
};

} // namespace

slot_map_result read_slot_map(const resp::decoder& reply, std::string_view bytes,
                              std::string_view asked_host) {
    if (resp::is_error(reply.first().kind))
        return {std::nullopt, std::string{reply.text(reply.first(), bytes)}, true};
    auto from = reader{reply, bytes, asked_host};
    if (!from.read_ranges())
        return {std::nullopt, std::move(from.problem())};
    return {from.map(), {}};
}

} // namespace colimit::redis
