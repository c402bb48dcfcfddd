// SPDX-License-Identifier: BSL-1.0
//
// Warnings about what a document believes of clients: keys that they can invent, and a header field
// that they may have written.

#pragma once

#include <tool/lint/findings.hpp>

#include <colimit/policy_document.hpp>

#include <span>
#include <string_view>
#include <vector>

namespace tool::lint {

/// Returns whether the policy denies any call: a part of it is not in shadow mode.
[[nodiscard]] bool may_deny(const colimit::policy& p) noexcept;

/// Adds the findings about `trusted_proxies`.
void look_at_networks(std::span<const std::string_view> networks, std::vector<finding>& found);

/// Adds the findings about a valid document, in the order of its routes.
void look_at_trust(const colimit::policy_document& document, std::vector<finding>& found);

} // namespace tool::lint
