// SPDX-License-Identifier: BSL-1.0
//
// Asks a Sentinel and reads its replies.

#include <base/bytes.hpp>
#include <redis/sentinel/sentinel_requests.hpp>

#include <algorithm>
#include <limits>

namespace colimit::redis {
namespace {

constexpr std::string_view channel = "+switch-master";
constexpr std::uint64_t max_epoch = std::numeric_limits<std::uint64_t>::max();

/// Returns the names of all masters in the reply of INFO, separated by commas; its lines are
///
///     master0:name=mymaster,status=ok,address=192.0.2.1:6379,slaves=2,sentinels=3
[[nodiscard]] std::string names_in(std::string_view info) {
    constexpr std::string_view field = ":name=";
    auto names = std::string{};
    for (auto at = info.find(field); at != std::string_view::npos; at = info.find(field, at)) {
        at += field.size();
        const auto name = info.substr(at, info.find_first_of(",\r\n", at) - at);
        names.append(names.empty() ? "" : ", ").append(name);
    }
    return names;
}

} // namespace

void sentinel_requests::begin_connection(const server_facts& /*server*/) {
    is_subscribed_ = asks_names_ = false;
    is_asked_ = true;
    answers_ = 0;
}

void sentinel_requests::lose_connection(std::uint64_t /*sent*/) {
    awaited_.clear();
    statement_.reset();
}

void sentinel_requests::write(std::string& out, std::uint64_t /*stream_position*/,
                              std::int64_t now) {
    if (!std::exchange(is_subscribed_, true)) {
        resp::append_command(out, {"SUBSCRIBE", channel});
        awaited_.push_back(question::subscribe);
    }
    resp::append_command(out, {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", name_});
    awaited_.push_back(question::address);
    if (asks_names_) {
        resp::append_command(out, {"INFO", "sentinel"});
        awaited_.push_back(question::names);
    }
    resp::append_command(out, {"SENTINEL", "MASTER", name_});
    awaited_.push_back(question::epoch);
    is_asked_ = false;
    sent_at_ = now;
    heard_ = {};
    is_usable_ = true;
}

/// The address is null, or two texts. If it is null, this is stated after the names are known and
/// reported, so that a call which ends for this reason finds it in `last_error`. Hosts are compared
/// in lower case: Sentinels may spell the same name differently.
bool sentinel_requests::read_address(const resp::decoder& reply, std::string_view bytes) {
    const auto nodes = reply.nodes();
    if (nodes.front().kind == resp::kind::null) {
        is_usable_ = std::exchange(asks_names_, true);
        is_asked_ = is_asked_ || !is_usable_;
        return true;
    }
    asks_names_ = false;
    if (nodes.size() != 3)
        return false;
    auto host = std::string{reply.text(nodes[1], bytes)};
    std::ranges::transform(host, host.begin(), detail::lower);
    const auto port = detail::read_decimal(reply.text(nodes[2], bytes), max_port);
    is_usable_ = is_host(host) && port.value_or(0) != 0;
    if (is_usable_)
        heard_.master = host_port{std::move(host), static_cast<std::uint16_t>(*port)};
    else
        report({.code = errc::unavailable,
                .phase = phase::reply,
                .text = "it names a master whose address is not valid"});
    return true;
}

void sentinel_requests::read_epoch(const resp::decoder& reply, std::string_view bytes) {
    const auto nodes = reply.nodes();
    for (std::size_t i = 1; i + 1 < nodes.size(); i += 2)
        if (reply.text(nodes[i], bytes) == "config-epoch")
            heard_.epoch =
                detail::read_decimal(reply.text(nodes[i + 1], bytes), max_epoch).value_or(0);
}

void sentinel_requests::report_unknown(std::string_view info) {
    const auto names = names_in(info);
    report({.code = errc::invalid_config,
            .phase = phase::reply,
            .text = "it knows no master " + name_ + "; it knows",
            .is_own = true,
            .detail = names.empty() ? "none" : names});
}

std::optional<recovery> sentinel_requests::read_reply(const resp::decoder& reply,
                                                      std::string_view bytes) {
    if (awaited_.empty())
        return std::nullopt;
    const auto what = awaited_.front();
    awaited_.pop_front();
    const auto& first = reply.first();
    if (resp::is_error(first.kind)) {
        const auto meaning = classify(reply.text(first, bytes));
        // A Sentinel that does not know the master has replied so to the question for its address.
        if (what != question::epoch || meaning.code == errc::auth_failed)
            report({.code = meaning.code, .phase = phase::reply, .text = reply.text(first, bytes)});
        // Without an epoch it would be believed before or after the others at random.
        if (what == question::address ||
            (what == question::epoch && meaning.code == errc::auth_failed))
            return std::max(meaning.recovery, recovery::reconnect_late);
    } else if (what == question::subscribe) {
        return std::nullopt; // the reply is a push
    } else if (what == question::address) {
        if (!read_address(reply, bytes))
            return std::nullopt;
    } else if (what == question::epoch) {
        read_epoch(reply, bytes);
    } else {
        report_unknown(reply.text(first, bytes));
    }
    if (awaited_.empty() && is_usable_) {
        statement_ = heard_;
        ++answers_;
    }
    return recovery::keep;
}

/// Reads the confirmation of SUBSCRIBE, or that a master has changed:
///
///     message +switch-master "name old-host old-port new-host new-port"
void sentinel_requests::read_push(const resp::decoder& message, std::string_view bytes) {
    const auto nodes = message.nodes();
    if (nodes.size() != 4)
        return;
    const auto kind = message.text(nodes[1], bytes);
    if (kind == "subscribe" && !awaited_.empty() && awaited_.front() == question::subscribe) {
        awaited_.pop_front();
        return;
    }
    const auto payload = message.text(nodes[3], bytes);
    if (kind == "message" && message.text(nodes[2], bytes) == channel &&
        payload.starts_with(name_) && payload.substr(name_.size()).starts_with(' '))
        is_asked_ = true;
}

} // namespace colimit::redis
