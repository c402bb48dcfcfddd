// SPDX-License-Identifier: BSL-1.0
//
// Connections as two queues of segments.

#include "network.hpp"

#include <hash/fnv1a.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace colimit::simulation {

std::int64_t network::delay() {
    return weather.latency + machine_.random().between(0, weather.jitter);
}

std::vector<std::shared_ptr<connection>> network::connections_of(const host& of) {
    std::erase_if(connections_, [](const auto& c) { return c.expired(); });
    auto found = std::vector<std::shared_ptr<connection>>{};
    for (const auto& weak : connections_)
        if (auto c = weak.lock(); c && c->is_of(of))
            found.push_back(std::move(c));
    return found;
}

void network::remove(const host& what) {
    std::erase_if(hosts_, [&](const auto& h) { return h.second == &what; });
    for (const auto& weak : connections_)
        if (const auto c = weak.lock())
            c->forget(what);
}

int network::connect(socket& from, const socket_name& to) {
    auto* const at = from.is_unix() ? nullptr : find(to.place);
    if (from.is_unix() || (at == nullptr && loopback::has(to.place)))
        return local_.connect(from, to);
    auto made = std::make_shared<connection>(*this, from, at, ++count_);
    if (machine_.random().percent(weather.lost_connects))
        made->fall_silent();
    if (machine_.random().percent(weather.slow_connects))
        made->delay_until(machine_.now() + machine_.random().magnitude(second));
    connections_.push_back(made);
    from.begin_connecting(made);
    made->open();
    return -EINPROGRESS;
}

connection::connection(network& of, socket& client, simulation::host* server, std::uint64_t number)
    : network_(of), client_(&client), host_(server), server_(server), number_(number),
      latency_(of.delay()) {
    if (of.os().flaw() == flaw::varies)
        latency_ += static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(this) >> 12U) % 100;
}

bool connection::has_room() const noexcept {
    return in_flight_ < network_.weather.buffer;
}

long connection::send(std::string_view bytes) {
    const auto room = network_.weather.buffer - std::min(in_flight_, network_.weather.buffer);
    const auto taken = std::min(bytes.size(), room);
    if (taken == 0)
        return -EAGAIN;
    in_flight_ += taken;
    push(to_server, {kind::data, std::string{bytes.substr(0, taken)}});
    if (is_silent_ && !is_acknowledged_ && user_timeout_ != 0)
        network_.os().at(network_.os().now() + user_timeout_, [self = shared_from_this()] {
            if (self->client_ != nullptr)
                self->client_->on_failure(ETIMEDOUT);
        });
    return static_cast<long>(taken);
}

void connection::leave(bool /*is_reset*/) {
    client_ = nullptr;
    push(to_server, {kind::end, {}});
}

void connection::reply(std::string bytes, std::int64_t at) {
    push(to_client, {kind::data, std::move(bytes)}, at);
}

void connection::reset() {
    server_ = nullptr;
    for (auto& p : pipes_)
        p.segments.clear();
    push(to_client, {kind::reset, {}});
}

void connection::fall_silent() {
    is_silent_ = true;
    is_acknowledged_ = network_.os().random().percent(50);
}

void connection::push(direction d, segment s, std::int64_t earliest) {
    auto& m = network_.os();
    auto& p = pipes_[d];
    auto at = std::max(m.now(), earliest) + latency_ +
              (network_.weather.jitter == 0 ? 0 : m.random().between(0, network_.weather.jitter));
    if (m.random().percent(network_.weather.spikes))
        at += m.random().magnitude(50 * millisecond);
    s.at = p.last = std::max(p.last, at);
    p.segments.push_back(std::move(s));
    if (p.segments.size() == 1)
        pump_at(d, p.last);
}

void connection::pump_at(direction d, std::int64_t time) {
    network_.os().at(time, [self = shared_from_this(), d] { self->pump(d); });
}

void connection::pump(direction d) {
    auto& p = pipes_[d];
    const auto now = network_.os().now();
    while (!p.segments.empty()) {
        auto& next = p.segments.front();
        const auto blocked_until =
            std::max(stalled_until_, host_ != nullptr ? host_->cut_until : std::int64_t{0});
        next.at = std::max(next.at, blocked_until);
        if (next.at > now)
            return pump_at(d, next.at);
        if (is_silent_)
            return p.segments.clear();
        auto s = std::move(next);
        p.segments.pop_front();
        deliver(d, std::move(s));
    }
}

void connection::deliver(direction d, segment s) {
    constexpr std::size_t traced = 64; // the rest of a long one is the text of a script
    network_.os().trace(std::string_view{s.bytes}.substr(0, traced),
                        number_ * 16 + static_cast<std::uint64_t>(s.kind) * 2 + d, s.bytes.size());
    d == to_server ? deliver_to_server(std::move(s)) : deliver_to_client(std::move(s));
}

void connection::deliver_to_server(segment s) {
    in_flight_ -= s.bytes.size();
    if (s.kind == kind::connect) {
        if (server_ != nullptr)
            server_->on_connect();
        is_accepted_ = server_ != nullptr && server_->is_up;
        if (!is_accepted_)
            server_ = nullptr;
        return push(to_client, {is_accepted_ ? kind::accept : kind::refuse, {}});
    }
    if (client_ != nullptr)
        client_->on_room();
    if (server_ == nullptr)
        return;
    if (s.kind == kind::data)
        return server_->on_bytes(*this, s.bytes);
    server_->on_end(*this);
    server_ = nullptr;
}

void connection::deliver_to_client(segment s) {
    if (client_ == nullptr)
        return;
    switch (s.kind) {
    case kind::accept:
        return client_->on_connected();
    case kind::refuse:
        return client_->on_failure(ECONNREFUSED);
    case kind::data:
        return client_->on_data(s.bytes);
    default:
        return client_->on_failure(ECONNRESET);
    }
}

} // namespace colimit::simulation
