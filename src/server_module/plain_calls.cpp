// SPDX-License-Identifier: BSL-1.0
//
// Reads a string, makes calls, and writes it.

#include <core/state_encoding.hpp>
#include <server_module/plain_calls.hpp>

namespace colimit::server_module {

void plain_calls::begin(std::size_t key) {
    key_ = key;
    value_.emplace(run_, names_[key - first_]);
    if (!results_.has_value_of(key))
        results_.set_found(key, value_->read());
    const auto found = results_.value(key);
    states_.load(found);
    if (rules_.has_bare_keys && found && !has_only_own_states(rules_, *found, states_.state()))
        results_.report_conflict(key);
}

void plain_calls::make(const listed_call& call, pass how) {
    if (!results_.is_fine(key_))
        return;
    if (how == pass::move)
        return states_.move_to_now(run_.now());
    results_.add_granted(states_.make(request_of(call, how), call.times));
    finds_stale_ = finds_stale_ || states_.finds_stale();
}

void plain_calls::finish() {
    const auto found = results_.value(key_);
    if (value_->is_taken(found))
        results_.report_conflict(key_);
    else if (auto& change = states_.change(); change.any)
        if (const auto error = save(run_, *value_, found, change); !error.empty())
            results_.fail(key_, error);
    value_.reset();
}

} // namespace colimit::server_module
