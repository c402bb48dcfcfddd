// SPDX-License-Identifier: BSL-1.0
//
// The result of a RESP decoder as text that a test can compare and a failure can show:
//
//   array[bulk "abc" array[integer 7]] in 20 bytes
//   malformed at 3: a number beyond 64 bits

#pragma once

#include <redis/protocol/resp.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::test {

namespace resp = redis::resp;

[[nodiscard]] inline std::string_view name(resp::kind k) {
    constexpr std::string_view names[] = {
        "simple", "error", "integer", "bulk", "null",       "array",    "map",
        "set",    "push",  "boolean", "real", "big_number", "verbatim", "blob_error"};
    return names[static_cast<std::size_t>(k)];
}

/// Takes the nodes of one value, with what it contains, off the front of `nodes`.
[[nodiscard]] inline std::string
describe(const resp::decoder& d, std::span<const resp::node>& nodes, std::string_view bytes) {
    if (nodes.empty())
        return "NOTHING";
    const auto n = nodes.front();
    nodes = nodes.subspan(1);
    auto out = std::string{name(n.kind)};
    if (resp::is_container(n.kind)) {
        out += '[';
        for (std::uint32_t i = 0; i < n.size; ++i)
            out += (i > 0 ? " " : "") + describe(d, nodes, bytes);
        return out + ']';
    }
    if (n.kind == resp::kind::integer || n.kind == resp::kind::boolean)
        return out + ' ' + std::to_string(n.integer);
    if (n.kind == resp::kind::null)
        return out;
    return out + " \"" + std::string{d.text(n, bytes)} + '"';
}

/// The complete reply of `d`, which `bytes` begin with.
[[nodiscard]] inline std::string describe(const resp::decoder& d, std::string_view bytes) {
    auto nodes = d.nodes();
    auto out = describe(d, nodes, bytes);
    if (!nodes.empty())
        out += " and " + std::to_string(nodes.size()) + " nodes too many";
    return out + " in " + std::to_string(d.consumed()) + " bytes";
}

/// Reads a stream that arrives in pieces. All that is there of the current reply is handed over in
/// a buffer of just that size each time, so that a sanitizer sees a read beyond it.
class resp_reader {
  public:
    void receive(std::string_view piece) {
        pending_ += piece;
        auto more = true;
        while (more) {
            const auto bytes = std::vector<char>(pending_.begin(), pending_.end());
            more = take(std::string_view{bytes.data(), bytes.size()});
        }
    }

    /// One line for each reply, and one for a violation.
    [[nodiscard]] const std::vector<std::string>& log() const noexcept { return log_; }

    /// Bytes of a reply that is not complete.
    [[nodiscard]] std::size_t pending() const noexcept { return pending_.size(); }

  private:
    bool take(std::string_view bytes) {
        const auto known = !decoder_.violation().empty();
        switch (decoder_.feed(bytes)) {
        case resp::progress::need_more:
            return false;
        case resp::progress::complete:
            log_.push_back(describe(decoder_, bytes));
            pending_.erase(0, decoder_.consumed());
            decoder_.next();
            return true;
        case resp::progress::malformed:
            if (!known)
                log_.push_back("malformed at " + std::to_string(decoder_.position()) + ": " +
                               std::string{decoder_.violation()});
            return false;
        }
        return false;
    }

    resp::decoder decoder_;
    std::string pending_;
    std::vector<std::string> log_;
};

/// The log of a stream that arrives at once.
[[nodiscard]] inline std::vector<std::string> read_whole(std::string_view stream) {
    auto reader = resp_reader{};
    reader.receive(stream);
    return reader.log();
}

/// Returns the result for a stream of one reply; "need more" if it is incomplete.
[[nodiscard]] inline std::string read_one(std::string_view stream) {
    const auto log = read_whole(stream);
    return log.empty() ? "need more" : log.front();
}

} // namespace colimit::test
