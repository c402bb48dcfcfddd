// SPDX-License-Identifier: BSL-1.0
//
// Any bytes as the key of a command: what is a key of a service stays one, and nothing else passes
// as a key of its routes.
#include <tool/frame/service_key.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

const colimit::policy_document& document() {
    static const auto parsed = colimit::parse_policy_document(R"({
        "policies": {"ip": "1/s", "more": {"rules": "1/s", "key": "user|ip+route+method+tag:t"},
                     "header": {"rules": "1/s", "key": "header:X-Key|global"}},
        "routes": [{"path": "/a", "policies": ["ip"]}, {"path": "/b", "policy": "more"},
                   {"path": "/*", "policy": "header"}]})");
    return parsed;
}

template<class Make>
std::optional<std::string> made_by(Make make) {
    try {
        return make();
    } catch (const std::runtime_error&) {
        return std::nullopt;
    }
}

} // namespace

// The name and type are libFuzzer's.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes{reinterpret_cast<const char*>(data), size};
    for (const auto* const policy : {"", "ip", "more", "header"}) {
        const std::string_view name = policy;
        const auto key_of = [&](std::string_view given) {
            return made_by([&] {
                return name.empty() ? tool::service_key(given)
                                    : tool::service_key(given, document(), name);
            });
        };
        const auto key = key_of(bytes);
        if (!key)
            continue;
        if (name == "ip" && !key->starts_with("ip=") && !key->starts_with("all#"))
            std::abort();
        // An address of IPv6 whose prefix is all of it has no length in a key.
        if (const auto again = key_of(*key); again != key && (!name.empty() || again))
            std::abort();
    }
    return 0;
}
