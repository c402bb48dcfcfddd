// SPDX-License-Identifier: BSL-1.0
//
// Reads and writes records. Their keys are not open while others are.

#include <base/bytes.hpp>
#include <core/request_record.hpp>
#include <server_module/request_records.hpp>
#include <server_module/string_value.hpp>

#include <string>

namespace colimit::server_module {

bool request_records::admit(std::size_t key) {
    if (!results_.is_fine(key))
        return false;
    const auto record = string_value{run_, names_[key]};
    if (const auto found = record.read()) {
        if (core::is_like_record(*found)) {
            results_.set_record(key, *found);
        } else {
            results_.set_found(key, std::nullopt);
            results_.report_conflict(key);
        }
        return false;
    }
    return true;
}

void request_records::require_room(std::size_t key) {
    if (!results_.is_fine(key))
        return;
    if (run_.is_full())
        results_.fail(key, over_maxmemory);
    else if (string_value{run_, names_[key]}.is_foreign())
        results_.report_conflict(key);
}

void request_records::write(const listed_call& call, std::string_view facts) {
    auto made = core::request_record{.verb = call.request.verb,
                                     .cost = call.request.cost,
                                     .at_least = call.request.at_least,
                                     .digests = call.digests,
                                     .now = run_.now()};
    made.value = results_.value(call.key);
    made.facts = facts;
    auto bytes = std::string{};
    core::append_record(bytes, made);
    auto record = string_value{run_, names_[call.key]};
    if (record.is_taken(std::nullopt)) // the command names the key for something else, too
        return results_.report_conflict(call.key);
    record.write(bytes, run_.expiry_in(ttl_ms_));
    written_[call.key] = true;
}

void request_records::undo_failed() {
    for (std::size_t key = 0; key < names_.size(); ++key)
        if (written_[key] && !results_.is_fine(key))
            if (auto record = string_value{run_, names_[key]}; record.read())
                record.erase();
}

} // namespace colimit::server_module
