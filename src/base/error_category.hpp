// SPDX-License-Identifier: BSL-1.0
//
// The category of `errc`. Objects of classes derived from it compare equal to it (they share its
// id), so codes with a specific message equal the plain ones. This holds within Boost.System only:
// as standard categories they are compared by address, which cannot be changed, since a message
// depends only on the category and the value.

#pragma once

#include <colimit/error.hpp>

#include <string>

namespace colimit::detail {

class code_category : public boost::system::error_category {
  public:
    constexpr code_category() noexcept : error_category(0xc0117e5a5c9b3d41U) {}

    [[nodiscard]] const char* name() const noexcept override { return "colimit"; }
    [[nodiscard]] std::string message(int value) const override;
    [[nodiscard]] boost::system::error_condition
    default_error_condition(int value) const noexcept override;

  protected:
    ~code_category() = default;
};

} // namespace colimit::detail
