// SPDX-License-Identifier: BSL-1.0
//
// All headers of colimit. A file that needs less can include one of these.

#pragma once

#include <colimit/bloom_filter.hpp>
#include <colimit/config.hpp>
#include <colimit/decision.hpp>
#include <colimit/diagnostics.hpp>
#include <colimit/error.hpp>
#include <colimit/failure_mode.hpp>
#include <colimit/http.hpp>
#include <colimit/json.hpp>
#include <colimit/key.hpp>
#include <colimit/limiter.hpp>
#include <colimit/limits.hpp>
#include <colimit/local_limiter.hpp>
#include <colimit/options.hpp>
#include <colimit/policy.hpp>
#include <colimit/policy_set.hpp>
#include <colimit/redis_cell.hpp>
#include <colimit/rule.hpp>
#include <colimit/rule_text.hpp>
#include <colimit/rules.hpp>
#include <colimit/seen_item.hpp>
#include <colimit/sketch_verbs.hpp>
#include <colimit/statistics.hpp>
#include <colimit/storage.hpp>
