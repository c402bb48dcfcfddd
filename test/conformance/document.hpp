// SPDX-License-Identifier: BSL-1.0
//
// Values of a JSON document that know where they stand, so that a complaint about a file can say
// what is wrong and where: `suites[3].steps[0].t_ns: must be a whole number`.

#pragma once

#include <boost/json/value.hpp>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colimit::conformance {

namespace json = boost::json;

/// The file is not one of cases.
struct bad_file : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The document in a file.
[[nodiscard]] json::value read_document(const std::string& file);

class element {
  public:
    element(const json::value& value, std::string path) : value_(&value), path_(std::move(path)) {}

    /// A member that must be there.
    [[nodiscard]] element at(std::string_view name) const;
    /// A member that may be absent or null.
    [[nodiscard]] std::optional<element> find(std::string_view name) const;
    [[nodiscard]] std::vector<element> items() const;

    [[nodiscard]] std::string text() const;
    [[nodiscard]] bool boolean() const;
    /// A whole number; one beyond 64 bits is the nearest that they hold.
    [[nodiscard]] std::int64_t integer() const;
    /// The same, 0 or more.
    [[nodiscard]] std::int64_t natural() const;
    /// Any number, for what need not be whole.
    [[nodiscard]] double number() const;

    [[nodiscard]] bool is_text() const noexcept { return value_->is_string(); }
    [[nodiscard]] bool is_whole() const noexcept {
        return value_->is_int64() || value_->is_uint64();
    }
    [[noreturn]] void complain(std::string_view what) const;

  private:
    const json::value* value_;
    std::string path_;
};

} // namespace colimit::conformance
