// SPDX-License-Identifier: BSL-1.0
//
// All headers of colimit, except the adapter `colimit/beast.hpp`. A file that needs less can
// include one of these.

#pragma once

#include <colimit/adaptive_limit.hpp>
#include <colimit/advanced_config.hpp>
#include <colimit/audit_record.hpp>
#include <colimit/bloom_filter.hpp>
#include <colimit/client_address.hpp>
#include <colimit/config.hpp>
#include <colimit/decision.hpp>
#include <colimit/diagnostics.hpp>
#include <colimit/error.hpp>
#include <colimit/failure_mode.hpp>
#include <colimit/guard_options.hpp>
#include <colimit/http.hpp>
#include <colimit/http_guard.hpp>
#include <colimit/http_key.hpp>
#include <colimit/http_request.hpp>
#include <colimit/http_verdict.hpp>
#include <colimit/json.hpp>
#include <colimit/key.hpp>
#include <colimit/limiter.hpp>
#include <colimit/limits.hpp>
#include <colimit/local_limiter.hpp>
#include <colimit/metrics.hpp>
#include <colimit/module_use.hpp>
#include <colimit/options.hpp>
#include <colimit/policy.hpp>
#include <colimit/policy_document.hpp>
#include <colimit/policy_set.hpp>
#include <colimit/policy_source.hpp>
#include <colimit/redis_cell.hpp>
#include <colimit/routes.hpp>
#include <colimit/rule.hpp>
#include <colimit/rule_text.hpp>
#include <colimit/rules.hpp>
#include <colimit/seen_item.hpp>
#include <colimit/sketch_verbs.hpp>
#include <colimit/slot.hpp>
#include <colimit/statistics.hpp>
#include <colimit/storage.hpp>
