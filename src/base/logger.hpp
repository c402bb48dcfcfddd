// SPDX-License-Identifier: BSL-1.0
//
// Composes the lines of `config::log`. Copies write to the same function, one after the other: a
// socket's handlers write without the limiter's lock. A line is only composed if its level is
// logged, so a logger that is off costs a comparison; parts that allocate memory are functions or
// error codes, whose texts are made here, where a failure loses the line.

#pragma once

#include <base/bytes.hpp>
#include <colimit/error.hpp>
#include <colimit/log.hpp>

#include <concepts>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace colimit::detail {

class logger {
  public:
    logger() = default;
    explicit logger(const log_options& to)
        : level_(to.level), shared_(to.write ? std::make_shared<shared>(to.write) : nullptr) {}

    [[nodiscard]] bool logs(log_level l) const noexcept { return shared_ && l <= level_; }

    /// Writes a line of texts, whole numbers, error codes, and functions that return a text.
    template<class... Parts>
    void write(log_level l, const Parts&... parts) const noexcept {
        if (!logs(l))
            return;
        try {
            auto line = std::string{};
            (append(line, parts), ...);
            const std::lock_guard guard{shared_->mutex};
            shared_->write(l, line);
        } catch (...) { // NOLINT(bugprone-empty-catch): the line is lost, as documented
        }
    }

  private:
    struct shared {
        explicit shared(std::function<void(log_level, std::string_view)> to)
            : write(std::move(to)) {}

        std::function<void(log_level, std::string_view)> write;
        std::mutex mutex;
    };

    static void append(std::string& to, std::string_view text) {
        for (const auto c : text)
            if (c >= ' ' && c <= '~')
                to += c;
            else
                to.append("\\x").append(
                    std::string_view{hex_of<2>(static_cast<unsigned char>(c)).data(), 2});
    }
    static void append(std::string& to, std::integral auto number) {
        to += std::string_view{decimal{number}};
    }

    static void append(std::string& to, const error_code& why) { append(to, why.message()); }
    static void append(std::string& to, const std::invocable auto& text) { append(to, text()); }

    log_level level_ = log_level::warning;
    std::shared_ptr<shared> shared_;
};

} // namespace colimit::detail
