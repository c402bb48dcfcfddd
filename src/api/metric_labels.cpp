// SPDX-License-Identifier: BSL-1.0
//
// Prometheus rejects a whole text for one label that is not valid: so labels are checked here.

#include <api/metric_labels.hpp>
#include <colimit/error.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <utility>

namespace colimit {
namespace {

/// @param where such as `limiters[0].labels`
[[noreturn]] void refuse(const std::string& where, std::size_t label, const std::string& reason) {
    throw error{errc::invalid_argument, where + "[" + std::to_string(label) + "]" + reason};
}

[[nodiscard]] bool is_name(std::string_view text) noexcept {
    constexpr auto letters =
        std::string_view{"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789"};
    return !text.empty() && !text.starts_with("__") && (text[0] < '0' || text[0] > '9') &&
           text.find_first_not_of(letters) == std::string_view::npos;
}

/// Returns the length of the UTF-8 character that the text begins with, or 0.
[[nodiscard]] std::size_t character(std::string_view text) noexcept {
    const auto byte = [&](std::size_t i) -> unsigned {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
    };
    const auto first = byte(0);
    const auto length = first < 0x80   ? 1U
                        : first < 0xc2 ? 0U
                        : first < 0xe0 ? 2U
                        : first < 0xf0 ? 3U
                        : first < 0xf5 ? 4U
                                       : 0U;
    // The second byte is limited where fewer bytes would do, for surrogates and above U+10FFFF.
    const auto least = first == 0xe0 ? 0xa0U : first == 0xf0 ? 0x90U : 0x80U;
    const auto most = first == 0xed ? 0x9fU : first == 0xf4 ? 0x8fU : 0xbfU;
    for (auto i = 1U; i < length; ++i)
        if (byte(i) < (i == 1 ? least : 0x80U) || byte(i) > (i == 1 ? most : 0xbfU))
            return 0;
    return length;
}

[[nodiscard]] bool is_utf8(std::string_view text) noexcept {
    while (!text.empty()) {
        const auto length = character(text);
        if (length == 0)
            return false;
        text.remove_prefix(length);
    }
    return true;
}

[[nodiscard]] std::string escaped(std::string_view value) {
    auto text = std::string{};
    for (const auto c : value) {
        if (c == '\\' || c == '"')
            text += '\\';
        c == '\n' ? text += "\\n" : text += c;
    }
    return text;
}

/// Returns the labels in the order of their names, in which equal ones are equal texts. For
/// Prometheus, a label without a value is equivalent to none.
[[nodiscard]] std::string text_of(std::vector<metric_label> labels, const std::string& where) {
    constexpr auto own = std::to_array<std::string_view>(
        {"outcome", "source", "code", "state", "policy", "problem", "le"});
    for (std::size_t i = 0; i < labels.size(); ++i) {
        const auto& [name, value] = labels[i];
        if (!is_name(name))
            refuse(where, i,
                   ".name: not a name of a label (got \"" + escaped(name) +
                       "\", expected letters, digits and _, not beginning with a digit "
                       "or __)");
        if (std::ranges::find(own, name) != own.end())
            refuse(where, i, ".name: the metrics use it themselves (got \"" + name + "\")");
        if (!is_utf8(value))
            refuse(where, i, ".value: not UTF-8");
        for (std::size_t j = 0; j < i; ++j)
            if (labels[j].name == name)
                refuse(where, i,
                       ".name: labels[" + std::to_string(j) + "] has it, too (got \"" + name +
                           "\")");
    }
    std::erase_if(labels, [](const metric_label& label) { return label.value.empty(); });
    std::ranges::sort(labels, {}, &metric_label::name);
    auto text = std::string{};
    for (const auto& [name, value] : labels)
        text = joined(text, name, value);
    return text;
}

} // namespace

std::string joined(std::string_view labels, std::string_view name, std::string_view value) {
    auto text = std::string{labels};
    text.append(labels.empty() ? "" : ",").append(name).append("=\"");
    return text.append(escaped(value)).append("\"");
}

std::vector<std::string> texts_of_labels(std::string_view what,
                                         const std::vector<std::vector<metric_label>>& labels) {
    auto texts = std::vector<std::string>{};
    auto known = std::set<std::string>{};
    for (std::size_t i = 0; i < labels.size(); ++i) {
        const auto where = std::string{what} + "[" + std::to_string(i) + "].labels";
        texts.push_back(text_of(labels[i], where));
        if (!known.insert(texts.back()).second)
            throw error{errc::invalid_argument,
                        where + ": another element has the same (got {" + texts.back() + "})"};
    }
    return texts;
}

} // namespace colimit
