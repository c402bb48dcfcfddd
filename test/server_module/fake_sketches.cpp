// SPDX-License-Identifier: BSL-1.0
//
// Commands on HyperLogLogs.

#include <server_module/fake_commands.hpp>

#include <cstring>
#include <functional>
#include <span>

namespace colimit::test::fake {
namespace {

// A sketch has the head of a real one, in its sparse encoding, and then the hashes of its members.
constexpr std::size_t sketch_head = 16;
constexpr std::size_t sketch_encoding_at = 4;
constexpr std::size_t sketch_count_at = 8;
constexpr unsigned char invalid_count = 0x80;

[[nodiscard]] bool is_sketch(std::string_view text) noexcept {
    return text.size() >= sketch_head && text.starts_with("HYLL") && text[sketch_encoding_at] == 1;
}

} // namespace

bytes* commands::get_sketch(const std::string& key) {
    auto* found = get<bytes>(key);
    if (found != nullptr && !is_sketch(found->view()))
        throw command_error{"WRONGTYPE Key is not a valid HyperLogLog string value."};
    return found;
}

void commands::require_whole(const bytes& sketch) {
    if (sketch.size() % sizeof(std::uint64_t) != 0)
        throw command_error{"INVALIDOBJ Corrupted HLL object detected"};
}

reply commands::pfadd() {
    auto* found = get_sketch(w[1]);
    const auto is_new = found == nullptr;
    if (is_new)
        found = &std::get<bytes>(
            d.put(w[1], {bytes{{"HYLL\1\0\0\0\0\0\0\0\0\0\0\0", sketch_head}}}).content);
    require_whole(*found);
    auto text = std::string{found->view()};
    for (const auto& member : std::span{w}.subspan(2)) {
        const auto number = std::hash<std::string>{}(member);
        auto part = std::string(sizeof number, '\0');
        std::memcpy(part.data(), &number, sizeof number);
        auto is_known = false;
        for (auto at = sketch_head; at < text.size(); at += sizeof number)
            is_known = is_known || text.compare(at, sizeof number, part) == 0;
        if (!is_known)
            text += part;
    }
    const auto has_grown = is_new || text.size() != found->size();
    if (has_grown) {
        text[sketch_head - 1] = static_cast<char>(invalid_count);
        found->assign(text);
    }
    return number_reply(has_grown ? 1 : 0);
}

reply commands::pfcount() {
    auto* found = get_sketch(w[1]);
    if (found == nullptr)
        return number_reply(0);
    auto count = std::int64_t{0};
    std::memcpy(&count, found->data() + sketch_count_at, sizeof count);
    if (count >= 0)
        return number_reply(count);
    require_whole(*found);
    count = static_cast<std::int64_t>((found->size() - sketch_head) / sizeof(std::uint64_t));
    found->unshare();
    std::memcpy(found->data() + sketch_count_at, &count, sizeof count);
    return number_reply(count);
}

} // namespace colimit::test::fake
