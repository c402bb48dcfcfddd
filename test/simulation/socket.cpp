// SPDX-License-Identifier: BSL-1.0
//
// The states of a socket, and what epoll and the system calls say in each.

#include "socket.hpp"

#include "network.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace colimit::simulation {

std::uint32_t socket::ready() const noexcept {
    switch (state_) {
    case state::fresh:
        return EPOLLOUT | EPOLLHUP;
    case state::listening:
        return pending_.empty() ? 0U : EPOLLIN;
    case state::connecting:
        return 0;
    case state::connected: {
        auto events = std::uint32_t{0};
        if (has_sent_end_ || link_->has_room())
            events |= EPOLLOUT;
        if (available() != 0 || has_end_ || ignores_input_)
            events |= EPOLLIN;
        if (has_end_)
            events |= EPOLLRDHUP;
        if (has_end_ && has_sent_end_)
            events |= EPOLLHUP;
        return events;
    }
    default:
        return EPOLLIN | EPOLLOUT | EPOLLERR | EPOLLHUP;
    }
}

int socket::bind(socket_name to) {
    return state_ == state::fresh ? network_.local().bind(*this, std::move(to)) : -EINVAL;
}

int socket::listen(int backlog) {
    if (state_ != state::fresh && state_ != state::listening)
        return -EINVAL;
    return network_.local().listen(*this, static_cast<std::size_t>(std::max(backlog, 0)));
}

int socket::connect(socket_name to) {
    if (state_ == state::connecting)
        return -EALREADY;
    if (state_ == state::connected)
        return -EISCONN;
    if (state_ == state::listening)
        return -EINVAL;
    peer_name_ = std::move(to);
    return network_.connect(*this, peer_name_);
}

std::shared_ptr<socket> socket::accept() {
    if (pending_.empty())
        return nullptr;
    auto accepted = std::move(pending_.front());
    pending_.pop_front();
    return accepted;
}

void socket::on_close() {
    network_.local().close(*this);
    if (link_)
        link_->leave(available() != 0 || (resets_on_close && !is_unix_));
    link_.reset();
    state_ = state::ended;
}

long socket::send(std::string_view bytes) {
    if (state_ == state::fresh || state_ == state::connecting)
        return -ENOTCONN;
    if (error_ != 0)
        return -take_error();
    if (state_ != state::connected || has_sent_end_)
        return -EPIPE;
    return link_->send(bytes);
}

long socket::receive(char* into, std::size_t most) {
    if (available() == 0) {
        if (error_ != 0)
            return -take_error();
        if (state_ == state::fresh || state_ == state::connecting)
            return -ENOTCONN;
        return state_ == state::connected && !has_end_ && !ignores_input_ ? -EAGAIN : 0;
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
    if (link_)
        link_->on_room();
    return static_cast<long>(size);
}

int socket::shutdown(int how) {
    if (state_ != state::connected)
        return -ENOTCONN;
    if (how != SHUT_WR)
        ignores_input_ = true;
    if (how != SHUT_RD && !std::exchange(has_sent_end_, true))
        link_->end_sending();
    raise(ready());
    return 0;
}

void socket::set_user_timeout(std::int64_t ms) noexcept {
    if (link_)
        link_->set_user_timeout(ms * millisecond);
}

void socket::begin_connecting(std::shared_ptr<link> to) {
    link_ = std::move(to);
    state_ = state::connecting;
}

void socket::on_connected() {
    state_ = state::connected;
    raise(ready());
}

void socket::on_data(std::string_view bytes) {
    in_.append(bytes);
    auto& m = network_.os();
    if (m.flaw() == flaw::loses_sockets && m.random().percent(1))
        return;
    raise(EPOLLIN);
}

void socket::on_end() {
    has_end_ = true;
    raise(ready());
}

void socket::on_failure(int error) {
    in_.clear();
    read_ = 0;
    on_reset(error);
}

void socket::on_reset(int error) {
    state_ = state::failed;
    error_ = error;
    raise(ready());
}

void socket::on_room() {
    if (state_ == state::connected)
        raise(EPOLLOUT);
}

} // namespace colimit::simulation
