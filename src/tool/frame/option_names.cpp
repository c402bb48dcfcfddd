// SPDX-License-Identifier: BSL-1.0
//
// Names at the beginning of a message are those of arguments; elsewhere they are words of a text.

#include <tool/frame/option_names.hpp>

#include <array>
#include <cstddef>
#include <utility>

namespace tool {
namespace {

using names = std::pair<std::string_view, std::string_view>;

/// A name that begins with another one comes first.
constexpr auto anywhere =
    std::to_array<names>({{"config::tls.ca_file", "--ca-file"},
                          {"config::tls.cert_file", "--cert-file"},
                          {"config::tls.key_file", "--key-file"},
                          {"config::tls.server_name", "--server-name"},
                          {"but cert_file", "but --cert-file"},
                          {"but key_file", "but --key-file"},
                          {"config::advanced.server_module", "--server-module"},
                          {"config::server", "--server"},
                          {"config::prefix", "--prefix"},
                          {"config::advanced.hash_tags", "--hash-tags"},
                          {"config::advanced.mode", "--mode"},
                          {"config::timeout", "--timeout"},
                          {"config::advanced.max_in_flight", "--callers"},
                          {"execution_mode::multi", "--mode multi"},
                          {"execution_mode::function", "--mode function"},
                          {"check_options::member", "--member"},
                          {"another at_least", "another --at-least"},
                          {"storage::shared_hash", "packed storage"}});

constexpr auto at_beginning = std::to_array<names>({{"cost:", "--cost:"},
                                                    {"at_least:", "--at-least:"},
                                                    {"member:", "--member:"},
                                                    {"request:", "--request:"},
                                                    {"duration", "--for"},
                                                    {"server address", "--server"}});

} // namespace

std::string with_option_names(std::string_view message) {
    auto text = std::string{message};
    for (const auto& [name, option] : at_beginning)
        if (message.starts_with(name))
            text.replace(0, name.size(), option);
    for (const auto& [name, option] : anywhere)
        for (auto at = text.find(name); at != std::string::npos; at = text.find(name, at))
            text.replace(at, name.size(), option);
    return text;
}

} // namespace tool
