// SPDX-License-Identifier: BSL-1.0
//
// How a message shows what a user wrote. Messages end up in terminals and logs, so nothing of it
// may act there.

#ifndef COLIMIT_RULE_TEXT_QUOTED_HPP
#define COLIMIT_RULE_TEXT_QUOTED_HPP

#include <string>
#include <string_view>

namespace colimit::text {

/// The user's bytes as a message can hold them: in quotes, cut after 24, printable ASCII only.
[[nodiscard]] std::string quoted(std::string_view bytes);

} // namespace colimit::text

#endif
