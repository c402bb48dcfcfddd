// SPDX-License-Identifier: BSL-1.0
//
// One id of a `seen_many` or `probably_seen_many`.

#pragma once

#include <colimit/decision.hpp>
#include <colimit/error.hpp>

#include <string_view>

namespace colimit {

/// An id for `seen_many` and `probably_seen_many`, which write its outcome into the other members.
/// The items must live until the call completes; the bytes of their ids until it is initiated.
struct seen_item {
    std::string_view id;
    /// Whether the id was seen before; false after an error.
    bool seen = false;
    error_code ec{};
    /// What has decided it: `fallback`, `fail_open` or `fail_closed` if the server did not.
    decision_source source = decision_source::store;
};

} // namespace colimit
