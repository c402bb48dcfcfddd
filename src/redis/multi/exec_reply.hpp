// SPDX-License-Identifier: BSL-1.0
//
// The reply to EXEC: an array with the reply to each command.

#pragma once

#include <redis/protocol/reply_error.hpp>
#include <redis/protocol/resp.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace colimit::redis {

class exec_reply {
  public:
    exec_reply(const resp::decoder& reply, std::string_view bytes) noexcept
        : reply_(reply), bytes_(bytes), nodes_(reply.nodes().subspan(1)) {}

    /// Returns the nodes of the next element, with its nested nodes. There must be one.
    [[nodiscard]] std::span<const resp::node> next() noexcept {
        auto size = std::size_t{0};
        for (auto rest = std::size_t{1}; rest != 0; --rest) {
            const auto& n = nodes_[size++];
            rest += resp::is_container(n.kind) ? n.size : 0;
        }
        const auto element = nodes_.first(size);
        nodes_ = nodes_.subspan(size);
        return element;
    }

    [[nodiscard]] std::string_view text(const resp::node& n) const noexcept {
        return reply_.text(n, bytes_);
    }

    /// Keeps the error of a command if it is the first one.
    void note(const reply_error& what) noexcept {
        if (!error_)
            error_ = what;
    }
    [[nodiscard]] const std::optional<reply_error>& error() const noexcept { return error_; }

  private:
    const resp::decoder& reply_;
    std::string_view bytes_;
    std::span<const resp::node> nodes_;
    std::optional<reply_error> error_;
};

} // namespace colimit::redis
