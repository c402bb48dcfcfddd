// SPDX-License-Identifier: BSL-1.0
//
// The library's access to what its public types hide.

#pragma once

namespace colimit::detail {

struct access {
    /// Returns the representation of a policy or a Bloom filter, which the stores read.
    template<class T>
    [[nodiscard]] static const auto& data(const T& of) noexcept {
        return of.data_;
    }
    /// Returns the options of a policy.
    template<class Policy>
    [[nodiscard]] static const auto& options(const Policy& of) noexcept {
        return of.options();
    }
    /// Removes the statuses of all rules.
    template<class Statuses>
    static void clear(Statuses& of) noexcept {
        of.size_ = 0;
    }
    /// Appends the status of another rule.
    template<class Statuses>
    static auto& append(Statuses& to) noexcept {
        return to.append();
    }
};

} // namespace colimit::detail
