// SPDX-License-Identifier: BSL-1.0
//
// Makes the policy of `once` on its first use.

#include <core/policy_encoding.hpp>
#include <hash/fnv1a.hpp>
#include <policy/policy_data.hpp>

namespace colimit::detail {

const policy_pointer& once_policy() {
    static const auto made = [] {
        auto data = std::make_shared<policy_data>();
        data->wire = core::encode_policy(data->compiled);
        data->identity = data->wire;
        data->fingerprint = hash::fnv1a_64(data->identity);
        data->identify("");
        return policy_pointer{std::move(data)};
    }();
    return made;
}

} // namespace colimit::detail
