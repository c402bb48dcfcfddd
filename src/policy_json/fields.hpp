// SPDX-License-Identifier: BSL-1.0
//
// Access to a document with the position of each value: errors begin with its path,
// `policies.login.rules[1].limit`.

#pragma once

#include <colimit/error.hpp>
#include <colimit/rule.hpp>
#include <policy_json/value.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace colimit::json {

/// A value and its position.
class node_ref {
  public:
    node_ref(const json::document& d, const json::value& v, std::string path)
        : document_(&d), value_(&v), path_(std::move(path)) {}

    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    [[nodiscard]] bool is(json::kind k) const noexcept { return value_->kind == k; }
    [[nodiscard]] std::string_view name() const noexcept { return document_->text(value_->name); }
    /// Returns the name of a member of an object.
    [[nodiscard]] std::string_view name_of(std::size_t i) const noexcept {
        return document_->text(document_->inside(*value_, i).name);
    }
    /// Returns the number of values in an array or object.
    [[nodiscard]] std::size_t size() const noexcept {
        return is(kind::array) || is(kind::object) ? value_->content.size : 0;
    }
    /// For arrays.
    [[nodiscard]] node_ref element(std::size_t i) const;
    /// For objects.
    [[nodiscard]] node_ref member(std::size_t i) const;

    /// Return the value as this type, or throw.
    [[nodiscard]] std::int64_t integer(std::int64_t least, std::int64_t most) const;
    [[nodiscard]] bool boolean() const;
    [[nodiscard]] std::string_view text(std::string_view expected) const;
    /// Returns a name of `[A-Za-z0-9_.-]`.
    [[nodiscard]] std::string_view name_text() const;
    /// Returns a duration in microseconds.
    [[nodiscard]] std::int64_t duration() const;

    /// Throws errc::invalid_policy.
    [[noreturn]] void refuse(const std::string& reason) const;
    /// `must be a whole number, is null`.
    [[noreturn]] void unexpected(std::string_view expected) const;

    /// Runs `make`, and adds the path to errors that it throws.
    template<class Make>
    auto with_path(Make&& make) const {
        try {
            return make();
        } catch (const error& e) {
            refuse(e.reason());
        }
    }

  private:
    /// Returns the text of a string or number.
    [[nodiscard]] std::string_view written() const noexcept {
        return document_->text(value_->content);
    }
    [[nodiscard]] std::string described() const;

    const json::document* document_;
    const json::value* value_;
    std::string path_;
};

/// An object with known fields, each at most once.
class fields {
  public:
    /// Throws if the value is not an object, or if a field is given twice.
    explicit fields(node_ref object);

    /// Throws if a field is not one of these.
    void allow_only(std::span<const std::string_view> names) const;

    [[nodiscard]] bool has(std::string_view name) const noexcept {
        return find(name) != object_.size();
    }
    /// Throws if the object has no such field.
    [[nodiscard]] node_ref operator[](std::string_view name) const;

    [[nodiscard]] const node_ref& object() const noexcept { return object_; }

  private:
    [[nodiscard]] std::size_t find(std::string_view name) const noexcept;

    node_ref object_;
};

/// Reads a rule that is written as an object.
/// @throws colimit::error errc::invalid_policy, also if the rule is not valid.
[[nodiscard]] rule read_rule(const node_ref& object);

} // namespace colimit::json
