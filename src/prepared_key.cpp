// SPDX-License-Identifier: BSL-1.0
//
// What is kept of a key that is prepared.

#include <colimit/prepared_key.hpp>
#include <policy_data.hpp>
#include <question_check.hpp>

namespace colimit {
namespace {

[[nodiscard]] std::string_view checked(std::string_view key) {
    detail::check_key(key);
    return key;
}

[[nodiscard]] std::array<std::uint64_t, 2> digest_of(std::string_view key, const policy& p) {
    const auto made = p.data()->digest(key);
    return {made.low, made.high};
}

} // namespace

prepared_key::prepared_key(std::string_view key, const colimit::policy& p)
    : key_(checked(key)), policy_(p), digest_(digest_of(key, p)) {}

} // namespace colimit
