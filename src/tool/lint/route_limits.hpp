// SPDX-License-Identifier: BSL-1.0
//
// Warnings about routes: limits that can never deny a request, routes that leave no request to
// later ones, and fields about addresses that no limit reads.

#pragma once

#include <tool/lint/findings.hpp>

#include <colimit/policy_document.hpp>

#include <vector>

namespace tool::lint {

/// Adds the findings about a valid document with routes.
void look_at_limits(const colimit::policy_document& document, std::vector<finding>& found);

} // namespace tool::lint
