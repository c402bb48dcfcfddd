// SPDX-License-Identifier: BSL-1.0
//
// Commands on keys of any type.

#include <server_module/fake_commands.hpp>

#include <algorithm>
#include <span>
#include <utility>

namespace colimit::test::fake {

reply commands::del() {
    auto gone = std::int64_t{0};
    for (const auto& key : std::span{w}.subspan(1)) {
        gone += d.find(key) != nullptr ? 1 : 0;
        d.erase(key);
    }
    return number_reply(gone);
}

reply commands::expire(std::int64_t from) {
    const auto at = from + integer_in(w[2]);
    if (d.find(w[1]) == nullptr)
        return number_reply(0);
    expire_at(w[1], at);
    return number_reply(1);
}
reply commands::pexpireat() {
    return expire(0);
}
reply commands::pexpire() {
    return expire(d.now_ms_);
}

reply commands::exists() {
    const auto all = std::span{w}.subspan(1);
    return number_reply(
        std::ranges::count_if(all, [this](const auto& key) { return d.find(key) != nullptr; }));
}

reply commands::pttl() {
    const auto* found = d.find(w[1]);
    if (found == nullptr)
        return number_reply(-2);
    const auto end = found->expires_ms;
    return number_reply(end == value::no_expiry ? -1 : end - d.now_ms_);
}

reply commands::persist() {
    auto* found = d.find(w[1]);
    const auto had_end = found != nullptr && found->expires_ms != value::no_expiry;
    if (had_end)
        found->expires_ms = value::no_expiry;
    return number_reply(had_end ? 1 : 0);
}

reply commands::renamenx() {
    if (d.find(w[1]) != nullptr && d.find(w[2]) != nullptr)
        return number_reply(0);
    (void)rename();
    return number_reply(1);
}

reply commands::rename() {
    auto* from = d.find(w[1]);
    if (from == nullptr)
        throw command_error{"ERR no such key"};
    if (w[1] != w[2]) {
        auto moved = std::move(*from);
        d.erase(w[1]);
        d.put(w[2], std::move(moved));
    }
    return ok_reply();
}

} // namespace colimit::test::fake
