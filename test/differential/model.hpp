// SPDX-License-Identifier: BSL-1.0
//
// The executable model: the C++ arithmetic over a plain map, one call after another. It keeps for
// each key the bytes that a server should hold, so what it expects can be compared byte by byte.

#ifndef COLIMIT_TEST_DIFFERENTIAL_MODEL_HPP
#define COLIMIT_TEST_DIFFERENTIAL_MODEL_HPP

#include <core/evaluate.hpp>
#include <redis/wire.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace colimit::differential {

/// A key as the server should hold it.
struct model_key {
    std::optional<std::string> value;
    /// Something else than a string is there.
    bool foreign = false;
};

class model {
  public:
    explicit model(std::size_t keys) : keys_(keys) {}

    /// @param asked with its clock set
    core::effect answer(const core::plan& rules, std::size_t key, const core::question& asked,
                        decision& out) {
        auto state = redis::decode_value(rules, keys_[key].value);
        const auto effect = core::evaluate(rules, state, asked, out);
        if (effect == core::effect::store)
            keys_[key].value = redis::encode_value(rules, state, 0);
        if (effect == core::effect::erase)
            keys_[key].value.reset();
        return effect;
    }

    /// How long after `now`, which is not before its last call, the key's state matters.
    [[nodiscard]] std::int64_t recovery_time(const core::plan& rules, std::size_t key,
                                             std::int64_t now) const {
        auto state = redis::decode_value(rules, keys_[key].value);
        decision ignored;
        const auto peek = core::question{core::verb::peek, 0, 0, now};
        (void)core::evaluate(rules, state, peek, ignored);
        return core::recovery_time(rules, state);
    }

    [[nodiscard]] model_key& operator[](std::size_t key) { return keys_[key]; }
    [[nodiscard]] std::size_t size() const noexcept { return keys_.size(); }

  private:
    std::vector<model_key> keys_;
};

} // namespace colimit::differential

#endif
