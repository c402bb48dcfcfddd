// SPDX-License-Identifier: BSL-1.0
//
// The key under which a service counts a client. An operator has an address from a log, or a user
// as it is written there; the service has the network of the address, and other forms that a key
// template prescribes. A command for a key that no service uses would report success and do
// nothing.

#pragma once

#include <colimit/policy_document.hpp>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace tool {

/// The keys of a policy are of another form.
struct other_form : std::runtime_error {
    other_form(const std::string& problem, std::string of_keys)
        : std::runtime_error(problem), form(std::move(of_keys)) {}
    std::string form; ///< of these keys: `user=VALUE|ip=ADDRESS;route=/login`
};

/// Returns the key under any policy: `ip=` fields are the networks that `key::address` writes, and
/// all else is left as it is. An IPv6 address needs the length of its prefix, as services choose
/// it.
/// @throws std::runtime_error if a field `ip=` is not one of a key, or a key with fields of the
/// library is not one that it writes
[[nodiscard]] std::string service_key(std::string_view given);

/// Returns the key under a policy of a document: with the document's prefixes and, if a route uses
/// the policy, of the form of its key template.
/// @throws other_form if the key has other fields than the template; std::runtime_error if a field
/// has a value that no key has
[[nodiscard]] std::string service_key(std::string_view given,
                                      const colimit::policy_document& document,
                                      std::string_view policy);

} // namespace tool
