// SPDX-License-Identifier: BSL-1.0
//
// Commands on strings.

#include <server_module/fake_commands.hpp>

#include <algorithm>
#include <bit>
#include <span>

namespace colimit::test::fake {
namespace {

constexpr std::size_t longest_string = 512U << 20U;

} // namespace

/// Returns these bytes of the string; negative positions count from its end.
std::string_view commands::range_of(std::int64_t first, std::int64_t last) {
    const auto* found = get<bytes>(w[1]);
    const auto text = found == nullptr ? std::string_view{} : found->view();
    const auto size = static_cast<std::int64_t>(text.size());
    first = std::max<std::int64_t>(0, first < 0 ? first + size : first);
    last = std::min(size - 1, last < 0 ? last + size : last);
    if (first > last)
        return {};
    return text.substr(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first + 1));
}

reply commands::set() {
    auto expires = value::no_expiry;
    auto keeps = false;
    auto* old = d.find(w[1]);
    for (std::size_t i = 3; i < w.size(); ++i) {
        const auto option = upper(w[i]);
        if (option == "KEEPTTL")
            keeps = true;
        else if ((option == "XX" && old == nullptr) || (option == "NX" && old != nullptr))
            return {};
        else if (option == "PX" && i + 1 < w.size())
            expires = d.now_ms_ + integer_in(w[++i]);
        else if (option == "PXAT" && i + 1 < w.size())
            expires = integer_in(w[++i]);
        else if (option != "XX" && option != "NX")
            throw command_error{"ERR syntax error"};
    }
    if (keeps && old != nullptr)
        expires = old->expires_ms;
    d.put(w[1], {bytes{w[2]}, expires});
    if (expires != value::no_expiry)
        expire_at(w[1], expires);
    return ok_reply();
}

reply commands::set_range() {
    const auto at = integer_in(w[2]);
    if (at < 0)
        throw command_error{"ERR offset is out of range"};
    auto* found = get<bytes>(w[1]);
    if (w[3].empty())
        return number_reply(found == nullptr ? 0 : static_cast<std::int64_t>(found->size()));
    const auto first = static_cast<std::size_t>(at);
    if (first + w[3].size() > longest_string)
        throw command_error{"ERR string exceeds maximum allowed size (proto-max-bulk-len)"};
    auto& to = get_or_create<bytes>(w[1]);
    to.resize(std::max(to.size(), first + w[3].size()));
    std::ranges::copy(w[3], to.data() + first);
    return number_reply(static_cast<std::int64_t>(to.size()));
}

reply commands::get_string() {
    const auto* found = get<bytes>(w[1]);
    return found == nullptr ? reply{} : text_reply(found->view());
}

reply commands::mget() {
    auto all = reply{.kind = reply_kind::array};
    for (const auto& key : std::span{w}.subspan(1)) {
        const auto* found = d.find(key);
        const auto* text = found == nullptr ? nullptr : std::get_if<bytes>(&found->content);
        all.elements.push_back(text == nullptr ? reply{} : text_reply(text->view()));
    }
    return all;
}

reply commands::get_range() {
    return text_reply(range_of(integer_in(w[2]), integer_in(w[3])));
}

reply commands::strlen() {
    const auto* found = get<bytes>(w[1]);
    return number_reply(found == nullptr ? 0 : static_cast<std::int64_t>(found->size()));
}

reply commands::bitcount() {
    const auto is_whole = w.size() == 2;
    auto ones = 0;
    for (const auto c : range_of(is_whole ? 0 : integer_in(w[2]), is_whole ? -1 : integer_in(w[3])))
        ones += std::popcount(static_cast<unsigned char>(c));
    return number_reply(ones);
}

reply commands::getdel() {
    auto was = get_string();
    d.erase(w[1]);
    return was;
}

reply commands::add(std::int64_t sign) {
    auto* found = get<bytes>(w[1]);
    const auto more = integer_in(w[2]);
    const auto was = found == nullptr ? 0 : integer_in(std::string{found->view()});
    if (found == nullptr)
        found = &get_or_create<bytes>(w[1]);
    found->assign(std::to_string(was + sign * more));
    return number_reply(was + sign * more);
}
reply commands::incrby() {
    return add(1);
}
reply commands::decrby() {
    return add(-1);
}

} // namespace colimit::test::fake
