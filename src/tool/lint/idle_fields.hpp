// SPDX-License-Identifier: BSL-1.0
//
// Warnings about options of policies that change no decision.

#pragma once

#include <tool/lint/findings.hpp>

#include <colimit/policy_document.hpp>

#include <vector>

namespace tool::lint {

/// Adds the findings about a valid document, in the order of the names of policies.
void look_at_idle_fields(const colimit::policy_document& document, std::vector<finding>& found);

} // namespace tool::lint
