// SPDX-License-Identifier: BSL-1.0
//
// What a policy is made into: the rules as they were given, the plan that the arithmetic reads, and
// the bytes that the scripts read. Made once, shared, never changed.

#ifndef COLIMIT_POLICY_DATA_HPP
#define COLIMIT_POLICY_DATA_HPP

#include <colimit/policy.hpp>
#include <core/plan.hpp>
#include <memory/siphash.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace colimit::detail {

struct policy_data {
    std::string name;
    std::vector<rule> rules;
    core::plan plan;
    /// The plan as lua/bucket.lua unpacks it. Two policies with equal names and equal wires ask the
    /// same.
    std::string wire;
    /// A hash of name and wire.
    std::uint64_t fingerprint = 0;
    /// Stands for the name in the keys of the in-process store.
    memory::digest id;
};

} // namespace colimit::detail

#endif
