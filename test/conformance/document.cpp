// SPDX-License-Identifier: BSL-1.0
//
// Reading JSON, with complaints that say where.

#include "document.hpp"

#include <boost/json/parse.hpp>

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>

namespace colimit::conformance {

json::value read_document(const std::string& file) {
    auto in = std::ifstream{file, std::ios::binary};
    const auto text = std::string{std::istreambuf_iterator<char>{in}, {}};
    if (!in.is_open() || in.bad() || text.empty())
        throw bad_file{file + ": cannot be read, or is empty"};
    auto ec = boost::json::error_code{};
    auto document = json::parse(text, ec);
    if (ec)
        throw bad_file{file + ": is not JSON: " + ec.message()};
    return document;
}

element element::at(std::string_view name) const {
    auto found = find(name);
    if (!found)
        complain("the member '" + std::string{name} + "' is missing");
    return *std::move(found);
}

std::optional<element> element::find(std::string_view name) const {
    if (!value_->is_object())
        complain("must be an object");
    const auto* found = value_->get_object().if_contains(name);
    if (found == nullptr || found->is_null())
        return std::nullopt;
    return element{*found, path_ + (path_.empty() ? "" : ".") + std::string{name}};
}

std::vector<element> element::items() const {
    if (!value_->is_array())
        complain("must be an array");
    auto all = std::vector<element>{};
    for (const auto& item : value_->get_array())
        all.emplace_back(item, path_ + '[' + std::to_string(all.size()) + ']');
    return all;
}

std::string element::text() const {
    if (!value_->is_string())
        complain("must be a text");
    return std::string{value_->get_string()};
}

bool element::boolean() const {
    if (!value_->is_bool())
        complain("must be true or false");
    return value_->get_bool();
}

std::int64_t element::integer() const {
    using int_limits = std::numeric_limits<std::int64_t>;
    if (value_->is_int64())
        return value_->get_int64();
    if (value_->is_uint64())
        return int_limits::max();
    const auto real = number();
    if (real != std::floor(real))
        complain("must be a whole number");
    constexpr auto edge = 9223372036854775808.0;
    return real >= edge    ? int_limits::max()
           : real <= -edge ? int_limits::min()
                           : static_cast<std::int64_t>(real);
}

std::int64_t element::natural() const {
    const auto n = integer();
    if (n < 0)
        complain("must not be negative");
    return n;
}

double element::number() const {
    if (!value_->is_number())
        complain("must be a number");
    return value_->to_number<double>();
}

void element::complain(std::string_view what) const {
    throw bad_file{(path_.empty() ? "the document" : path_) + ": " + std::string{what}};
}

} // namespace colimit::conformance
