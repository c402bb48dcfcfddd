// SPDX-License-Identifier: BSL-1.0
//
// Collects the results of keys, and sends them.

#include <base/bytes.hpp>
#include <core/state_encoding.hpp>
#include <server_module/key_results.hpp>

namespace colimit::server_module {

void key_results::set_value(std::size_t key, std::string_view value) {
    auto& k = keys_[key];
    k.exists = true;
    k.at = bytes_.size();
    k.size = value.size();
    bytes_.append(value);
}

void key_results::set_found(std::size_t key, std::optional<std::string_view> value) {
    keys_[key].is_known = true;
    keys_[key].exists = false;
    if (value)
        set_value(key, value->size() > core::max_value_bytes ? ""sv : *value);
}

void key_results::set_record(std::size_t key, std::string_view bytes) {
    set_value(key, bytes);
    note(key, key_status::remembered);
}

std::optional<std::string_view> key_results::value(std::size_t key) const noexcept {
    const auto& k = keys_[key];
    if (!k.exists)
        return std::nullopt;
    return std::string_view{bytes_}.substr(k.at, k.size);
}

void key_results::fail(std::size_t key, std::string_view text) {
    set_value(key, text);
    note(key, key_status::error);
}

void key_results::send_value(const command_run& run, std::size_t key) const noexcept {
    if (const auto found = value(key))
        (void)api::send_string(run.where(), found->data(), found->size());
    else
        (void)api::send_null(run.where());
}

void key_results::send_header(const command_run& run, std::string_view nonce) const {
    auto header = std::string{nonce};
    header.append(" ").append(run.clock().stamp).append(" ");
    header.append(detail::decimal{granted_}).append(" ");
    if (all_are_fine_)
        header.append("-");
    for (std::size_t i = 0; !all_are_fine_ && i < keys_.size(); ++i)
        header.push_back(static_cast<char>(keys_[i].status));
    (void)api::send_string(run.where(), header.data(), header.size());
}

} // namespace colimit::server_module
