// SPDX-License-Identifier: BSL-1.0
//
// One of several checks that are made together.

#ifndef COLIMIT_CHECK_ITEM_HPP
#define COLIMIT_CHECK_ITEM_HPP

#include <colimit/decision.hpp>
#include <colimit/error.hpp>
#include <colimit/options.hpp>
#include <colimit/policy.hpp>

#include <string_view>

namespace colimit {

/// For `allow_many` and `allow_all`, which write the answer into `ec` and `result`. The checks must
/// live until the call completes; their keys until it is initiated.
struct check_item {
    std::string_view key;
    colimit::policy policy;
    check_options options{};
    error_code ec{};
    decision result{};
};

} // namespace colimit

#endif
