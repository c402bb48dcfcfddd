// SPDX-License-Identifier: BSL-1.0
//
// The library's access to what its public types hide.

#pragma once

#include <string_view>
#include <utility>

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
    /// Makes an object from its representation.
    template<class T, class Data>
    [[nodiscard]] static T make(Data&& data) {
        return T{std::forward<Data>(data)};
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
    /// Returns a key without a scope.
    template<class Key>
    [[nodiscard]] static Key empty_key() noexcept {
        return Key{};
    }
    /// Returns the key with another field, `name=value`.
    /// @param name no name of a scope, without `=`, `#` and `;`
    template<class Key>
    [[nodiscard]] static Key with_field(const Key& key, std::string_view name,
                                        std::string_view value) noexcept {
        return key.with(name, value);
    }
    /// Returns the key with a field that is a name alone.
    template<class Key>
    [[nodiscard]] static Key with_name(const Key& key, std::string_view name) noexcept {
        return key.with(name);
    }
};

} // namespace colimit::detail
