// SPDX-License-Identifier: BSL-1.0
//
// Numbers, times and untrusted bytes as readable text.

#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace tool {

/// 1234567 as `1,234,567`.
[[nodiscard]] std::string grouped(std::size_t number);

/// `1 line`, `2 lines`.
[[nodiscard]] std::string counted(std::size_t number, std::string_view noun);

/// Returns 1 of 8 as `12.50 %`; of nothing as `0.00 %`. Only none is 0, and only all is 100.
[[nodiscard]] std::string percentage(std::size_t part, std::size_t whole);

/// `2015-05-17 10:05:03`, in UTC.
[[nodiscard]] std::string utc(std::chrono::sys_seconds time);

/// The two largest units: `3 d 11 h`, `45 s`.
[[nodiscard]] std::string duration(std::chrono::seconds time);

/// Returns printable ASCII unchanged, and everything else as `\xNN`, because terminals interpret
/// control characters.
[[nodiscard]] std::string escaped(std::string_view bytes);

/// As `escaped`, except that in a UTF-8 locale characters stay that take a column or two, so not
/// those that change the direction of text or are invisible.
[[nodiscard]] std::string shown(std::string_view bytes);

/// Returns the columns that a text of `shown` takes.
[[nodiscard]] std::size_t columns_of(std::string_view text);

/// Returns the size of the UTF-8 sequence at the beginning of the bytes, 1 to 4; 0 if it is not
/// valid.
[[nodiscard]] std::size_t utf8_size(std::string_view bytes) noexcept;

/// Returns the address without its password, for reports.
[[nodiscard]] std::string without_password(std::string_view address);

/// Returns `host:port` for errors, if its address has no credentials: the host alone if it is a
/// name, as in `user:12345`, where `@host` was forgotten, the port is a password.
[[nodiscard]] std::string without_port(std::string_view host);
/// As `without_password`, for errors: also without the ports that may be passwords.
[[nodiscard]] std::string without_secrets(std::string_view address);

/// Returns arguments, of which some may be misplaced addresses, with these as `without_secrets`.
[[nodiscard]] std::string without_addresses(std::string_view arguments);

} // namespace tool
