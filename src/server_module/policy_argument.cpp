// SPDX-License-Identifier: BSL-1.0
//
// Decodes policies, or finds the last one again.

#include <core/policy_encoding.hpp>
#include <server_module/policy_argument.hpp>

#include <string>

namespace colimit::server_module {
namespace {

/// Commands run on the main thread of the server only.
struct {
    std::string bytes;
    core::compiled_policy rules;
} last_policy;

} // namespace

core::compiled_policy take_policy(std::string_view& bytes) {
    if (!last_policy.bytes.empty() && bytes.starts_with(last_policy.bytes)) {
        bytes.remove_prefix(last_policy.bytes.size());
        return last_policy.rules;
    }
    const auto all = bytes;
    const auto rules = core::decode_policy(bytes);
    last_policy = {std::string{all.substr(0, all.size() - bytes.size())}, rules};
    return rules;
}

} // namespace colimit::server_module
