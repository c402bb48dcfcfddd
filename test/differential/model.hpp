// SPDX-License-Identifier: BSL-1.0
//
// The executable model: the C++ arithmetic over a plain map, one call after another. It keeps for
// each key the bytes that a server should hold, so what it expects can be compared byte by byte.

#pragma once

#include "history.hpp"

#include <core/evaluate.hpp>
#include <core/event_log.hpp>
#include <core/hyperloglog.hpp>
#include <core/slot_set.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace colimit::differential {

/// A key as the server should hold it, with its log, its sketches and its holders.
struct model_key {
    std::optional<std::string> value;
    /// Something else than a string is there.
    bool foreign = false;
    core::event_log log;
    core::slot_set slots;
    std::map<std::uint32_t, std::unique_ptr<core::hyperloglog>> sketches; ///< by their rules' tags
};

class model {
  public:
    struct joint_answer {
        decision answer;
        core::effect effect = core::effect::nothing;
    };

    explicit model(std::size_t keys) : keys_(keys) {}

    /// @param asked with its clock set
    core::effect answer(const core::compiled_policy& rules, std::size_t key,
                        const core::call_request& request, decision& out);

    /// Returns the fencing token of the last call.
    [[nodiscard]] std::uint64_t token() const noexcept { return token_; }

    /// All or nothing: evaluates all checks at `now`, and charges all if all allow.
    std::vector<joint_answer> answer_together(const std::vector<policy>& versions,
                                              const std::vector<key_call>& calls, std::int64_t now);

    /// Returns how long after `now`, which is not before its last call, the key's state matters.
    [[nodiscard]] std::int64_t recovery_time(const core::compiled_policy& rules, std::size_t key,
                                             std::int64_t now) const;

    [[nodiscard]] model_key& operator[](std::size_t key) { return keys_[key]; }
    [[nodiscard]] std::size_t size() const noexcept { return keys_.size(); }

  private:
    std::vector<model_key> keys_;
    std::uint64_t token_ = 0;
};

} // namespace colimit::differential
