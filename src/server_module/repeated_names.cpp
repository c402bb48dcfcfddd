// SPDX-License-Identifier: BSL-1.0
//
// Looks for names that are there twice: in a table of their indexes by hash, since a command may
// have thousands of keys.

#include <server_module/repeated_names.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace colimit::server_module {

bool have_repeated(std::span<api::string* const> names) {
    if (names.size() < 2)
        return false;
    const auto size = std::bit_ceil(2 * names.size());
    auto table = std::vector<std::uint32_t>(size); // an index + 1; 0: empty
    for (std::uint32_t i = 0; i < names.size(); ++i) {
        const auto name = api::text_of(names[i]);
        auto at = std::hash<std::string_view>{}(name) & (size - 1);
        for (; table[at] != 0; at = (at + 1) & (size - 1))
            if (api::text_of(names[table[at] - 1]) == name)
                return true;
        table[at] = i + 1;
    }
    return false;
}

} // namespace colimit::server_module
