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

void network::connect(socket& from, place to) {
    auto made = std::make_shared<connection>(*this, from, find(to), ++count_);
    if (machine_.random().percent(weather.lost_connects))
        made->fall_silent();
    if (machine_.random().percent(weather.slow_connects))
        made->delay_until(machine_.now() + machine_.random().magnitude(second));
    connections_.push_back(made);
    from.connection_ = made;
    from.state_ = socket::state::connecting;
    made->open();
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

std::size_t connection::send(std::string_view bytes) {
    const auto room = network_.weather.buffer - std::min(in_flight_, network_.weather.buffer);
    const auto taken = std::min(bytes.size(), room);
    if (taken == 0)
        return 0;
    in_flight_ += taken;
    push(to_server, {kind::data, std::string{bytes.substr(0, taken)}});
    if (is_silent_ && !is_acknowledged_ && user_timeout != 0)
        network_.os().at(network_.os().now() + user_timeout, [self = shared_from_this()] {
            if (self->client_ != nullptr)
                self->client_->on_failure(ETIMEDOUT);
        });
    return taken;
}

void connection::leave() {
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

std::uint32_t socket::ready() const noexcept {
    switch (state_) {
    case state::fresh:
        return EPOLLOUT | EPOLLHUP;
    case state::connecting:
        return 0;
    case state::connected:
        return (connection_->has_room() ? EPOLLOUT : 0U) | (available() != 0 ? EPOLLIN : 0U);
    default:
        return EPOLLIN | EPOLLOUT | EPOLLERR | EPOLLHUP;
    }
}

void socket::on_close() {
    if (connection_)
        connection_->leave();
    connection_.reset();
    state_ = state::ended;
}

long socket::send(std::string_view bytes) {
    if (state_ != state::connected)
        return -EPIPE;
    const auto taken = connection_->send(bytes);
    return taken == 0 ? -EAGAIN : static_cast<long>(taken);
}

long socket::receive(char* into, std::size_t most) {
    if (available() == 0) {
        if (state_ == state::failed)
            return error_ != 0 ? -take_error() : 0;
        return state_ == state::connected ? -EAGAIN : 0;
    }
    auto size = std::min(most, static_cast<std::size_t>(available()));
    auto& random = network_.os().random();
    if (random.percent(network_.weather.short_reads))
        size = 1 + random.below(size);
    std::memcpy(into, in_.data() + read_, size);
    read_ += size;
    if (read_ == in_.size()) {
        in_.clear();
        read_ = 0;
    }
    return static_cast<long>(size);
}

void socket::set_user_timeout(std::int64_t ms) noexcept {
    if (connection_)
        connection_->user_timeout = ms * millisecond;
}

void socket::on_connected() {
    state_ = state::connected;
    network_.os().raise(*this, ready());
}

void socket::on_data(std::string_view bytes) {
    in_.append(bytes);
    auto& m = network_.os();
    if (m.flaw() == flaw::loses_sockets && m.random().percent(1))
        return;
    m.raise(*this, EPOLLIN);
}

void socket::on_failure(int error) {
    state_ = state::failed;
    error_ = error;
    in_.clear();
    read_ = 0;
    network_.os().raise(*this, ready());
}

void socket::on_room() {
    if (state_ == state::connected)
        network_.os().raise(*this, EPOLLOUT);
}

} // namespace colimit::simulation
