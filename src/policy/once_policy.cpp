// SPDX-License-Identifier: BSL-1.0
//
// Constructed on first use, for the whole process.

#include <core/policy_encoding.hpp>
#include <hash/fnv1a.hpp>
#include <policy/once_policy.hpp>

namespace colimit::detail {

const std::shared_ptr<const policy_data>& once_policy() {
    static const auto made = [] {
        auto data = std::make_shared<policy_data>();
        data->wire = core::encode_policy(data->compiled);
        data->identity = data->wire;
        data->fingerprint = hash::fnv1a_64(data->identity);
        data->identify("");
        return std::shared_ptr<const policy_data>{std::move(data)};
    }();
    return made;
}

} // namespace colimit::detail
