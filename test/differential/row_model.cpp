// SPDX-License-Identifier: BSL-1.0
//
// The script's handling of a shard, with two maps.

#include "row_model.hpp"

#include <redis/script/wire.hpp>
#include <support/stored_value.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

namespace colimit::differential {
namespace {

constexpr std::size_t head_bytes = 80;
constexpr std::size_t numbers_at = 16;
constexpr std::size_t numbers_bytes = 20;
constexpr std::size_t brief_bytes = 16;

[[nodiscard]] std::string numbers_of(const core::compiled_policy& rules) {
    const auto own = test::encode_brief_numbers(rules);
    return own.empty() ? std::string(numbers_bytes, '\0') : own;
}

/// A time as a head has it; what is not a whole number of microseconds up to a century is 0.
[[nodiscard]] double span_at(const std::string& head, std::size_t place) {
    auto us = 0.0;
    std::memcpy(&us, head.data() + place, sizeof us);
    const auto fits = us >= 0 && us <= static_cast<double>(limits::max_recovery.count());
    return fits && us == std::floor(us) ? us : 0;
}

} // namespace

std::optional<std::string> row_model::find(const core::compiled_policy& rules,
                                           const std::string& field) const {
    for (const auto hash : {new_hash, old_hash}) {
        const auto found = hashes_[hash].fields.find(field);
        if (found == hashes_[hash].fields.end())
            continue;
        const auto numbers = read_head(rules, hash).numbers;
        if (found->second.size() != brief_bytes || numbers == numbers_of(rules))
            return found->second;
        return std::string(8, '\0') + numbers + found->second;
    }
    return std::nullopt;
}

bool row_model::is_brief(const core::compiled_policy& rules) const {
    const auto own = test::encode_brief_numbers(rules);
    return !own.empty() && read_head(rules, new_hash).numbers == own;
}

row_model::head row_model::read_head(const core::compiled_policy& rules, std::size_t hash) const {
    auto read = head{.numbers = numbers_of(rules)};
    const auto found = hashes_[hash].fields.find("");
    if (found == hashes_[hash].fields.end() || found->second.size() != head_bytes)
        return read;
    std::memcpy(&read.since, found->second.data(), 8);
    std::memcpy(&read.ends, found->second.data() + 8, 8);
    read.numbers = found->second.substr(numbers_at, numbers_bytes);
    read.longest = span_at(found->second, numbers_at + numbers_bytes);
    read.before = span_at(found->second, numbers_at + numbers_bytes + 8);
    return read;
}

double row_model::head::lasts(const core::compiled_policy& rules) const {
    return std::max({static_cast<double>(rules.generation), longest, before});
}

bool row_model::turns(const core::compiled_policy& rules, std::int64_t now) const {
    const auto h = read_head(rules, new_hash);
    const auto at = static_cast<double>(now);
    return h.since >= 0 && h.since <= at && at - h.since >= h.lasts(rules);
}

void row_model::open(const core::compiled_policy& rules, std::int64_t now, std::int64_t matters,
                     std::int64_t least_ms, bool supplied) {
    const auto at = static_cast<double>(now);
    const auto own = static_cast<double>(std::max(rules.generation, matters));
    auto h = read_head(rules, new_hash);
    if (!(h.since >= 0 && h.since <= at)) {
        h.since = at;
    } else if (at - h.since >= h.lasts(rules)) {
        const auto stays = read_head(rules, old_hash).longest;
        if (at - h.since < stays) {
            h.before = stays;
        } else {
            hashes_[old_hash] = std::exchange(hashes_[new_hash], {});
            h = {.since = at, .numbers = numbers_of(rules), .longest = 0, .before = h.longest};
        }
    } else if (h.longest >= own && h.ends >= at + h.lasts(rules)) {
        return;
    }
    h.longest = std::max(h.longest, own);
    const auto lives_us = static_cast<std::int64_t>(2 * std::max(h.longest, h.before));
    const auto lives = std::max(lives_us / 1000 + 1000, least_ms);
    h.ends = supplied ? 0 : static_cast<double>((now / 1000 + lives) * 1000);
    auto bytes = std::string(head_bytes, '\0');
    const auto put = [&](std::size_t place, double number) {
        std::memcpy(bytes.data() + place, &number, sizeof number);
    };
    put(0, h.since);
    put(8, h.ends);
    bytes.replace(numbers_at, numbers_bytes, h.numbers);
    put(numbers_at + numbers_bytes, h.longest);
    put(numbers_at + numbers_bytes + 8, h.before);
    hashes_[new_hash].fields[""] = bytes;
    hashes_[new_hash].lives_for = lives;
}

void row_model::write(const core::compiled_policy& rules, const std::string& field,
                      const std::string& value, bool brief) {
    const auto whole = std::string_view{value};
    const auto has_own_numbers = value.size() == 8 + numbers_bytes + brief_bytes &&
                                 whole.substr(8, numbers_bytes) == numbers_of(rules);
    hashes_[new_hash].fields[field] =
        brief && has_own_numbers ? whole.substr(8 + numbers_bytes) : whole;
}

void row_model::erase(const std::string& field) {
    for (auto& h : hashes_)
        h.fields.erase(field);
}

} // namespace colimit::differential
