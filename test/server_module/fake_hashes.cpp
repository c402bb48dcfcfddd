// SPDX-License-Identifier: BSL-1.0
//
// Commands on hashes.

#include <server_module/fake_commands.hpp>

#include <cstddef>

namespace colimit::test::fake {

reply commands::hset() {
    if (w.size() % 2 != 0)
        throw command_error{"ERR wrong number of arguments for 'hset' command"};
    auto& to = get_or_create<hash>(w[1]);
    auto added = std::int64_t{0};
    for (std::size_t i = 2; i < w.size(); i += 2)
        added += to.insert_or_assign(w[i], w[i + 1]).second ? 1 : 0;
    return number_reply(added);
}

reply commands::hdel() {
    auto* from = get<hash>(w[1]);
    auto gone = std::int64_t{0};
    for (std::size_t i = 2; from != nullptr && i < w.size(); ++i)
        gone += static_cast<std::int64_t>(from->erase(w[i]));
    if (from != nullptr)
        erase_if_empty(w[1], *from);
    return number_reply(gone);
}

reply commands::hmget() {
    const auto* from = get<hash>(w[1]);
    auto all = reply{.kind = reply_kind::array};
    for (std::size_t i = 2; i < w.size(); ++i) {
        const auto found = from == nullptr ? hash::const_iterator{} : from->find(w[i]);
        const auto is_there = from != nullptr && found != from->end();
        all.elements.push_back(is_there ? text_reply(found->second) : reply{});
    }
    return all;
}

} // namespace colimit::test::fake
