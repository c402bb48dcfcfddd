// SPDX-License-Identifier: BSL-1.0
//
// The decoder's flat nodes become a tree; its depth is bounded by the decoder.

#include <tool/server/reply.hpp>

#include <cstddef>

namespace tool {
namespace {

namespace resp = colimit::redis::resp;

[[nodiscard]] reply_kind kind_of(resp::kind k) noexcept {
    if (resp::is_container(k))
        return reply_kind::array;
    if (resp::is_error(k))
        return reply_kind::error;
    if (k == resp::kind::null)
        return reply_kind::nil;
    return k == resp::kind::integer || k == resp::kind::boolean ? reply_kind::integer
                                                                : reply_kind::text;
}

[[nodiscard]] reply copy_node(const resp::decoder& from, std::string_view bytes, std::size_t& at) {
    const auto& node = from.nodes()[at++];
    auto made = reply{.kind = kind_of(node.kind),
                      .text = std::string{from.text(node, bytes)},
                      .integer = node.integer,
                      .elements = {}};
    if (made.kind == reply_kind::array)
        for (std::uint32_t i = 0; i < node.size; ++i)
            made.elements.push_back(copy_node(from, bytes, at));
    return made;
}

} // namespace

reply copy_reply(const resp::decoder& decoded, std::string_view bytes) {
    auto at = std::size_t{0};
    return copy_node(decoded, bytes, at);
}

} // namespace tool
