// SPDX-License-Identifier: BSL-1.0
//
// The commands of a Sentinel.

#include "sentinel_server.hpp"

namespace colimit::simulation {

namespace resp = redis::resp;

namespace {

constexpr std::int64_t per_request = 20; ///< microseconds
constexpr std::string_view channel = "+switch-master";

[[nodiscard]] std::string text_of(const redis::host_port& at) {
    return at.host + ' ' + std::to_string(at.port);
}

} // namespace

void sentinel_server::hear(const server& master, std::int64_t epoch) {
    if (!is_up || epoch <= epoch_)
        return;
    const auto news = name_ + ' ' + text_of(master_->address()) + ' ' + text_of(master.address());
    master_ = &master;
    epoch_ = epoch;
    auto message = std::string{">3\r\n"};
    resp::append_bulk(message, "message");
    resp::append_bulk(message, channel);
    resp::append_bulk(message, news);
    for (const auto& c : net().connections_of(*this))
        if (session_of(*c).is_subscribed)
            c->reply(message, os().now());
}

std::int64_t sentinel_server::execute(session& of, words command, std::string& out) {
    if (is_word(command[0], "HELLO")) {
        append_hello(out, "sentinel");
    } else if (is_word(command[0], "PING")) {
        out.append("+PONG\r\n");
    } else if (is_word(command[0], "SUBSCRIBE")) {
        of.is_subscribed = true;
        out.append(">3\r\n");
        resp::append_bulk(out, "subscribe");
        resp::append_bulk(out, channel);
        append_integer(out, 1);
    } else if (is_word(command[0], "SENTINEL")) {
        answer(command, out);
    } else {
        throw violation{"an unknown command for a Sentinel: " + std::string{command[0]}};
    }
    return per_request;
}

void sentinel_server::answer(words command, std::string& out) const {
    const auto& at = master_->address();
    if (is_word(command[1], "MASTER"))
        append_texts(out, {"name", name_, "config-epoch", std::to_string(epoch_)});
    else
        append_texts(out, {at.host, std::to_string(at.port)});
}

} // namespace colimit::simulation
