// SPDX-License-Identifier: BSL-1.0
//
// What the script does with a row, over two maps.

#include "row_model.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace colimit::differential {
namespace {

constexpr std::size_t head_bytes = 80;

} // namespace

std::optional<std::string> row_model::find(const std::string& field) const {
    for (const auto& h : hashes_)
        if (const auto found = h.fields.find(field); found != h.fields.end())
            return found->second;
    return std::nullopt;
}

row_model::head row_model::read_head() const {
    auto read = head{};
    const auto found = hashes_[new_hash].fields.find("");
    if (found == hashes_[new_hash].fields.end() || found->second.size() != head_bytes)
        return read;
    std::memcpy(&read.since, found->second.data(), 8);
    std::memcpy(&read.ends, found->second.data() + 8, 8);
    return read;
}

bool row_model::turns(const core::plan& rules, std::int64_t now) const {
    const auto h = read_head();
    const auto at = static_cast<double>(now);
    return h.since >= 0 && h.since <= at && at - h.since >= static_cast<double>(rules.generation);
}

void row_model::open(const core::plan& rules, std::int64_t now, std::int64_t least_ms,
                     bool supplied) {
    const auto at = static_cast<double>(now);
    auto [since, ends] = read_head();
    if (turns(rules, now)) {
        hashes_[old_hash] = std::exchange(hashes_[new_hash], {});
        since = at;
    } else if (!(since >= 0 && since <= at)) {
        since = at;
    } else if (ends >= at + static_cast<double>(rules.generation)) {
        return;
    }
    const auto lives = std::max(2 * rules.generation / 1000 + 1000, least_ms);
    ends = supplied ? 0 : static_cast<double>((now / 1000 + lives) * 1000);
    auto bytes = std::string(head_bytes, '\0');
    std::memcpy(bytes.data(), &since, 8);
    std::memcpy(bytes.data() + 8, &ends, 8);
    hashes_[new_hash].fields[""] = bytes;
    hashes_[new_hash].lives_for = lives;
}

void row_model::write(const std::string& field, const std::string& value) {
    hashes_[new_hash].fields[field] = value;
}

void row_model::erase(const std::string& field) {
    for (auto& h : hashes_)
        h.fields.erase(field);
}

} // namespace colimit::differential
