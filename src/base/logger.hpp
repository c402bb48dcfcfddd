// SPDX-License-Identifier: BSL-1.0
//
// Composes the lines of `config::log`. All lines of the process are written one after the other: a
// limiter has several loggers, and a socket's handlers write without its lock. A line is only
// composed if its level is logged, so a logger that is off costs a comparison; parts that allocate
// memory are functions or error codes, whose texts are made here, where a failure loses the line.

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

namespace colimit::detail {

class logger {
  public:
    logger() = default;
    explicit logger(const log_options& to)
        : level_(to.level),
          write_(to.write ? std::make_shared<const function>(to.write) : nullptr) {}

    [[nodiscard]] bool logs(log_level l) const noexcept { return write_ && l <= level_; }

    /// Writes a line of texts, whole numbers, error codes, and functions that return a text.
    template<class... Parts>
    void write(log_level l, const Parts&... parts) const noexcept {
        if (!logs(l))
            return;
        try {
            auto line = std::string{};
            (append(line, parts), ...);
            const std::lock_guard guard{mutex()};
            (*write_)(l, line);
        } catch (...) { // NOLINT(bugprone-empty-catch): the line is lost, as documented
        }
    }

  private:
    using function = std::function<void(log_level, std::string_view)>;

    [[nodiscard]] static std::mutex& mutex() noexcept {
        static std::mutex of_all_loggers; // one, though `write` is a template
        return of_all_loggers;
    }

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
    std::shared_ptr<const function> write_;
};

} // namespace colimit::detail
