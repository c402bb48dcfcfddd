// SPDX-License-Identifier: BSL-1.0
//
// Bloom filters: validates them and makes the representation that stores read.

#include <colimit/bloom_filter.hpp>
#include <colimit/error.hpp>
#include <core/policy_encoding.hpp>
#include <hash/fnv1a.hpp>
#include <policy/policy_data.hpp>

#include <cmath>
#include <string>

namespace colimit {
namespace {

[[noreturn]] void refuse(std::string_view name, const std::string& reason) {
    throw error{errc::invalid_policy, "filter '" + std::string{name} + "': " + reason};
}

void check_settings(std::string_view name, const bloom_settings& s) {
    if (s.capacity < 1 || s.capacity > limits::max_filter_ids)
        refuse(name, "capacity: out of range (got " + std::to_string(s.capacity) +
                         ", expected 1 to " + std::to_string(limits::max_filter_ids) + ")");
    if (std::isnan(s.error_rate) || s.error_rate < limits::min_error_rate ||
        s.error_rate > limits::max_error_rate)
        refuse(name, "error_rate: out of range (got " + std::to_string(s.error_rate) +
                         ", expected 0.000001 to 0.5)");
    if (s.ttl < limits::min_filter_ttl || s.ttl > limits::max_filter_ttl)
        refuse(name, "ttl: out of range (got " + std::to_string(s.ttl.count()) +
                         " us, expected 1 ms to 366 days)");
}

[[nodiscard]] std::shared_ptr<const detail::policy_data>
make(std::string_view name, const core::bloom_shape& shape,
     const detail::policy_options& options = {}) {
    auto data = std::make_shared<detail::policy_data>();
    data->name = name;
    data->options = options;
    data->filter = shape;
    data->wire = core::encode_filter(shape);
    data->identity = "seen:" + std::string{data->prefix("")} + ":" + data->name + ":" +
                     std::to_string(core::filter_tag(shape));
    data->fingerprint = hash::fnv1a_64(data->identity);
    data->identify(data->identity);
    return data;
}

} // namespace

bloom_filter::bloom_filter(std::string_view name, const bloom_settings& settings)
    : settings_(settings) {
    core::check_name(name, "the filter's name", true, errc::invalid_policy);
    check_settings(name, settings);
    data_ =
        make(name, core::make_bloom(settings.capacity, settings.error_rate, settings.ttl.count()));
}

bloom_filter bloom_filter::with_prefix(std::string_view prefix) const {
    const auto options =
        detail::policy_options{.has_prefix = true, .prefix = detail::inline_name{prefix}};
    core::check_name(options.prefix.view(), "filter '" + std::string{name()} + "': the prefix",
                     options.prefix.fits(), errc::invalid_policy);
    auto changed = *this;
    changed.data_ = make(name(), *data_->filter, options);
    return changed;
}

std::string_view bloom_filter::name() const noexcept {
    return data_->name;
}

std::int64_t bloom_filter::bytes() const noexcept {
    return data_->filter->bytes();
}

} // namespace colimit
