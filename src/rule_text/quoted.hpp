// SPDX-License-Identifier: BSL-1.0
//
// Quotes text from users in messages. Messages are shown in terminals and logs, so the text must
// not have control characters.

#ifndef COLIMIT_RULE_TEXT_QUOTED_HPP
#define COLIMIT_RULE_TEXT_QUOTED_HPP

#include <string>
#include <string_view>

namespace colimit::text {

/// Returns the bytes in a form that is safe in messages: in quotes, truncated after 24, printable
/// ASCII only.
[[nodiscard]] std::string quoted(std::string_view bytes);

} // namespace colimit::text

#endif
