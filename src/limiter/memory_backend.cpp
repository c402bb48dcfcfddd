// SPDX-License-Identifier: BSL-1.0
//
// Reads the clock, as the store has none.

#include <base/bytes.hpp>
#include <base/clocks.hpp>
#include <core/call_fault.hpp>
#include <limiter/memory_backend.hpp>

namespace colimit::detail {

stage_result memory_backend::start(operation& op, std::string_view key,
                                   const policy_pointer* policy) {
    if (op.kind == call_kind::ready)
        return stage_result::ended;
    if (op.kind == call_kind::all) {
        op.result = store_.allow_all(op.checks, time_of(op.request));
        return stage_result::ended;
    }
    const auto& rules = **policy;
    if (op.kind == call_kind::inspect) {
        static_cast<block_bits&>(*op.attached).set =
            filters_.inspect(number_of(key), rules, time_of(op.request));
        return stage_result::ended;
    }
    if (rules.filter) {
        const auto seen = filters_.decide(op.request.verb, key, rules, time_of(op.request));
        if (!seen)
            return ended(op, error_of(fault::filter_count));
        op.result.outcome = *seen ? outcome::denied : outcome::allowed;
        return stage_result::ended;
    }
    const auto sought = store_.seek(op.key_digest); // reads ahead while the clock is read
    op.request.now = time_of(op.request);
    auto wrong = fault::none;
    if (op.request.has_id)
        wrong = store_.decide_once(sought.id, rules, op.request, op.result);
    else
        store_.decide(sought, rules, op.request, op.result);
    if (op.request.verb == verb::acquire) {
        op.fencing_token = store_.fencing_token();
        if (store_.lacks_memory())
            wrong = fault::holder_room;
    }
    return wrong == fault::none ? stage_result::ended : ended(op, error_of(wrong));
}

} // namespace colimit::detail
