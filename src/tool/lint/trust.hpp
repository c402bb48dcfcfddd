// SPDX-License-Identifier: BSL-1.0
//
// Warnings about what a document believes of clients: keys that they can invent, and a header field
// that they may have written.

#pragma once

#include <tool/lint/findings.hpp>

#include <colimit/policy_document.hpp>

#include <vector>

namespace tool::lint {

/// Adds the findings about a valid document, in the order of its routes.
void look_at_trust(const colimit::policy_document& document, std::vector<finding>& found);

} // namespace tool::lint
