// SPDX-License-Identifier: BSL-1.0
//
// One check of an `allow_many` or `allow_all`.

#pragma once

#include <colimit/decision.hpp>
#include <colimit/error.hpp>
#include <colimit/options.hpp>
#include <colimit/policy.hpp>

#include <string_view>

namespace colimit {

/// A check for `allow_many` and `allow_all`, which write its outcome into `ec` and `result`. The
/// checks must live until the call completes; their keys until it is initiated.
struct check_item {
    std::string_view key;
    colimit::policy policy;
    check_options options{};
    error_code ec{};
    decision result{};
};

} // namespace colimit
