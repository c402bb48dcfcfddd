// SPDX-License-Identifier: BSL-1.0
//
// Reads range by range, up to the first problem. A node that has no address is left out, with its
// slots: the other entries are as good without it.

#include <redis/cluster/announced_host.hpp>
#include <redis/cluster/slot_map_reader.hpp>

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
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

/// Servers have ids of 40 digits.
constexpr std::uint32_t longest_id = 64;

class reader {
  public:
    reader(const resp::decoder& reply, std::string_view bytes, std::string_view asked_host)
        : reply_(reply), bytes_(bytes), asked_host_(asked_host), rest_(reply.nodes().subspan(1)) {}

    [[nodiscard]] bool read_ranges() {
        const auto& all = reply_.first();
        if (all.kind != resp::kind::array)
            return fail(expected("an array of ranges", all.kind));
        if (all.size > hash_slot_count)
            return fail(std::to_string(all.size) + " ranges, more than 16384");
        for (std::uint32_t i = 1; i <= all.size; ++i) {
            if (!read_range()) {
                problem_.insert(0, "range " + std::to_string(i) + ": ");
                return false;
            }
            if (unusable_.empty() && !left_out_.empty())
                unusable_ = "range " + std::to_string(i) + ": " + left_out_;
        }
        if (!ranges_.empty() || unusable_.empty())
            return true;
        return fail(std::move(unusable_)); // no master has an address
    }

    [[nodiscard]] std::vector<std::string> ids() { return {ids_.begin(), ids_.end()}; }

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
            auto node = std::optional<host_port>{};
            if (!read_node(node) || !(i == 2 ? add_slots(*first, *last, std::move(node))
                                             : add_replica(std::move(node))))
                return false;
        }
        return true;
    }

    [[nodiscard]] std::optional<std::uint16_t> read_slot() {
        const auto& slot = take();
        if (slot.kind != resp::kind::integer)
            fail(expected("a slot", slot.kind));
        else if (slot.integer < 0 || slot.integer >= std::int64_t{hash_slot_count})
            fail("slot " + std::to_string(slot.integer) + " is not 0 to 16383");
        else
            return static_cast<std::uint16_t>(slot.integer);
        return std::nullopt;
    }

    /// Reads a node: nullopt if it has no address.
    [[nodiscard]] bool read_node(std::optional<host_port>& node) {
        const auto& all = take();
        if (all.kind != resp::kind::array || all.size < 2)
            return fail(all.kind != resp::kind::array ? expected("a node", all.kind)
                                                      : "a node without a host and a port");
        const auto& host = take();
        const auto is_text = host.kind == resp::kind::bulk || host.kind == resp::kind::simple;
        if (!is_text && host.kind != resp::kind::null)
            return fail(expected("a host", host.kind));
        const auto& port = take();
        if (port.kind != resp::kind::integer)
            return fail(expected("a port", port.kind));
        if (port.integer < 0 || port.integer > std::int64_t{max_port})
            return fail("port " + std::to_string(port.integer) + " is not 1 to 65535");
        auto named = is_text ? reply_.text(host, bytes_) : std::string_view{};
        const auto ip = read_facts(all.size - 2);
        if (is_nameless(named))
            named = ip;
        if (named.empty())
            named = asked_host_;
        if (port.integer == 0)
            left_out_ = "port 0 is not 1 to 65535";
        else if (!is_host(named))
            left_out_ = "a host that is neither a name nor an IP address";
        else
            node = host_port{std::string{named}, static_cast<std::uint16_t>(port.integer)};
        return true;
    }

    /// Reads what follows a node's port: its id, and names with values, or other values. Returns
    /// its IP address, or an empty text.
    [[nodiscard]] std::string_view read_facts(std::uint32_t count) {
        if (count == 0)
            return {};
        const auto& id = rest_.front();
        if (id.kind == resp::kind::bulk && id.size != 0 && id.size <= longest_id)
            ids_.emplace(reply_.text(id, bytes_));
        skip();
        auto ip = std::string_view{};
        for (std::uint32_t i = 1; i < count; ++i) {
            const auto& facts = rest_.front();
            if (facts.kind == resp::kind::array || facts.kind == resp::kind::map)
                ip = ip_among(rest_.subspan(1, facts.size));
            skip();
        }
        return ip;
    }

    /// Returns the value after the name `ip`.
    [[nodiscard]] std::string_view ip_among(std::span<const resp::node> facts) const {
        const auto is_text = [](const resp::node& n) { return n.kind == resp::kind::bulk; };
        for (std::size_t i = 0; i + 1 < facts.size() && is_text(facts[i]); i += 2)
            if (reply_.text(facts[i], bytes_) == "ip" && is_text(facts[i + 1]))
                return reply_.text(facts[i + 1], bytes_);
        return {};
    }

    [[nodiscard]] bool add_slots(std::uint16_t first, std::uint16_t last,
                                 std::optional<host_port> master) {
        for (std::size_t slot = first; slot <= last; ++slot) {
            if (owned_[slot])
                return fail("slot " + std::to_string(slot) + " is in another range, too");
            owned_[slot] = true;
        }
        if (!master)
            return true;
        // A master has a slot, so there are no more of them than slots.
        const auto index = static_cast<std::uint16_t>(masters_.size());
        const auto [at, is_new] = masters_.try_emplace(*std::move(master), index);
        ranges_.push_back({first, last, at->second});
        return true;
    }

    [[nodiscard]] bool add_replica(std::optional<host_port> replica) {
        if (!replica || !replicas_.insert(*std::move(replica)).second ||
            replicas_.size() <= most_replicas)
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
    std::set<std::string, std::less<>> ids_;
    std::string left_out_; ///< why the last node without an address has none
    std::string unusable_; ///< the first such reason, with its range
    std::vector<slot_map::range> ranges_;
    std::bitset<hash_slot_count> owned_;
    std::string problem_;
};

} // namespace

slot_map_result read_slot_map(const resp::decoder& reply, std::string_view bytes,
                              std::string_view asked_host) {
    if (resp::is_error(reply.first().kind))
        return {.problem = std::string{reply.text(reply.first(), bytes)}, .is_refused = true};
    auto from = reader{reply, bytes, asked_host};
    if (!from.read_ranges())
        return {.problem = std::move(from.problem())};
    return {.map = from.map(), .ids = from.ids()};
}

} // namespace colimit::redis
