// SPDX-License-Identifier: BSL-1.0
//
// Judges calls with request ids: all answers to an id are one, and what was granted to it was
// charged once.

#pragma once

#include "checker.hpp"
#include "record.hpp"

#include <cstdint>
#include <vector>

namespace colimit::oracle {

struct request_judgement {
    /// Of the ids, each taken as one call. Its double-counted tokens are those of an id that was
    /// charged more than once.
    judgement ids = {};
    std::int64_t sent = 0;      ///< calls
    std::int64_t answered = 0;  ///< by the store
    std::int64_t different = 0; ///< ids with answers that differ
};

/// @param executed what the server counted
[[nodiscard]] request_judgement judge(std::vector<sent_request> all, const totals& executed);

void add(request_judgement& to, const request_judgement& more);

} // namespace colimit::oracle
