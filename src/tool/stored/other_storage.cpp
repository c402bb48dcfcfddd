// SPDX-License-Identifier: BSL-1.0
//
// The hashes of a policy exist as long as any key in them has a state, so they also say how the
// service stores a key that has none now.

#include <colimit/detail/access.hpp>
#include <policy/policy_data.hpp>
#include <redis/protocol/key.hpp>
#include <tool/frame/format.hpp>
#include <tool/stored/key_name.hpp>
#include <tool/stored/other_storage.hpp>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace tool {
namespace {

namespace redis = colimit::redis;

[[nodiscard]] bool has_any(servers& at, const words& redis_keys) {
    auto command = words{"EXISTS"};
    command.insert(command.end(), redis_keys.begin(), redis_keys.end());
    return at.ask(at.of(redis_keys.front()), {command}).front().integer > 0;
}

[[nodiscard]] bool has_packed_states(servers& at, const colimit::detail::policy_data& policy,
                                     std::string_view prefix, const redis::key_tags& tags) {
    for (std::size_t i = 0; i < tags.shards(); ++i) {
        std::string shard;
        redis::append_shard(shard, policy.prefix(prefix), policy.name, i, tags);
        if (has_any(at, {shard + "new", shard + "old"}))
            return true;
    }
    return false;
}

} // namespace

void require_no_other_storage(servers& at, const limited_key& limited, std::string_view prefix,
                              const redis::key_tags& tags, std::string_view expected) {
    const auto& policy = *colimit::detail::access::data(limited.limit);
    const auto name = std::string{limited.limit.name()};
    std::string state;
    redis::append_key(state, policy.prefix(prefix), policy.name, limited.key, tags);
    if (policy.compiled.packed) {
        if (has_any(at, {state}))
            throw std::runtime_error{"--packed: the state of " + shown(limited.key) +
                                     " under policy " + name +
                                     " is not packed (expected --policies with the document of "
                                     "the service, or no --packed)"};
    } else if (!policy.compiled.has_bare_keys && !has_any(at, {state}) &&
               has_packed_states(at, policy, prefix, tags)) {
        throw std::runtime_error{"--rule: the states of policy " + name +
                                 " are packed on this server (" + std::string{expected} + ')'};
    }
}

void require_no_other_mode(servers& at, const limited_key& limited, std::string_view prefix,
                           const redis::key_tags& tags, bool is_multi) {
    const auto& policy = colimit::detail::access::data(limited.limit)->compiled;
    if (policy.packed || policy.has_bare_keys)
        return;
    const auto names_of = [&](bool of_multi) {
        words names;
        for (const auto& p : places_of(limited.limit, limited.key, prefix, tags, of_multi))
            names.push_back(p.redis_key);
        return names;
    };
    const auto own = names_of(is_multi);
    auto others = names_of(!is_multi);
    std::erase_if(others, [&](const auto& name) { return std::ranges::count(own, name) != 0; });
    if (!others.empty() && has_any(at, others) && !has_any(at, own))
        throw std::runtime_error{
            "--mode: the state of " + shown(limited.key) + " under policy " +
            std::string{limited.limit.name()} + " is that of another mode " +
            (is_multi ? "(got multi, expected script or function)" : "(expected multi)")};
}

} // namespace tool
