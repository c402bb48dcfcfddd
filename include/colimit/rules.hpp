// SPDX-License-Identifier: BSL-1.0
//
// Several rules without a policy: `allow(key, rules{gcra(2, 1s), sliding_log(5, 1min)})`.

#pragma once

#include <colimit/limits.hpp>
#include <colimit/rule.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <utility>

namespace colimit {

/// 1 to 8 rules that are checked together: every verb and `check_item` take them as a policy. A
/// plain value, and trivially destructible: GCC 12 rejects a braced list of rules in an expression
/// with a co_await, and accepts this.
class rules {
  public:
    template<std::same_as<rule>... Others>
        requires(sizeof...(Others) < limits::max_rules_per_policy)
    constexpr explicit rules(const rule& first, const Others&... others) noexcept
        : all_{filled_with(first, std::make_index_sequence<limits::max_rules_per_policy>{})},
          size_{1 + sizeof...(Others)} {
        [[maybe_unused]] auto next = all_.begin();
        ((*++next = others), ...);
    }

    [[nodiscard]] constexpr const rule* data() const noexcept { return all_.data(); }
    [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
    [[nodiscard]] constexpr const rule* begin() const noexcept { return data(); }
    [[nodiscard]] constexpr const rule* end() const noexcept { return data() + size_; }
    [[nodiscard]] constexpr const rule& operator[](std::size_t i) const noexcept { return all_[i]; }

  private:
    using storage = std::array<rule, limits::max_rules_per_policy>;

    template<std::size_t... I>
    [[nodiscard]] static constexpr storage filled_with(const rule& one,
                                                       std::index_sequence<I...> /*all*/) noexcept {
        return {{(static_cast<void>(I), one)...}};
    }

    storage all_;
    std::size_t size_;
};

} // namespace colimit
