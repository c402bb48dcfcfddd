// SPDX-License-Identifier: BSL-1.0
//
// On connections of their own, which are closed while the load runs.

#include <tool/frame/server_options.hpp>
#include <tool/load/server_time.hpp>
#include <tool/server/servers.hpp>

#include <cstddef>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tool::load {

namespace {

/// Returns the number of `name:1.5` in a text of INFO.
double number_of(const std::string& info, std::string_view name) {
    const auto at = info.find(std::string{name} + ':');
    if (at == std::string::npos)
        throw std::runtime_error{"INFO has no " + std::string{name}};
    return std::strtod(info.c_str() + at + name.size() + 1, nullptr);
}

} // namespace

std::optional<double> server_seconds(const colimit::config& settings) {
    if (is_in_memory(settings.server))
        return std::nullopt;
    try {
        servers all{settings};
        double sum = 0;
        for (std::size_t i = 0; i < all.count(); ++i) {
            const auto info = all.ask_one(i, {"INFO", "cpu"}).text;
            sum += number_of(info, "used_cpu_user") + number_of(info, "used_cpu_sys");
        }
        return sum;
    } catch (const std::exception&) {
        // The load itself does not depend on it, and notices a signal, too, before it removes its
        // keys.
        return std::nullopt;
    }
}

} // namespace tool::load
