// SPDX-License-Identifier: BSL-1.0
//
// Made when it is first needed, for the whole process.

#include <once_policy.hpp>
#include <redis/key.hpp>
#include <redis/wire.hpp>

namespace colimit::detail {

const std::shared_ptr<const policy_data>& once_policy() {
    static const auto made = [] {
        auto data = std::make_shared<policy_data>();
        data->wire = redis::encode_plan(data->plan);
        data->identity = data->wire;
        data->fingerprint = redis::key_hash(data->identity);
        data->identify("");
        return std::shared_ptr<const policy_data>{std::move(data)};
    }();
    return made;
}

} // namespace colimit::detail
