// SPDX-License-Identifier: BSL-1.0
//
// Names, backlogs and the two ends of a connection within the process.

#include "loopback.hpp"

#include "network.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>

namespace colimit::simulation {

/// One end. What it sends is in the buffer of the other one at once.
class loopback::end final : public link {
  public:
    end(socket& own, const std::shared_ptr<socket>& peer) : own_(own), peer_(peer) {}

    long send(std::string_view bytes) override {
        const auto peer = open_peer();
        if (!peer && own_.is_unix())
            return -EPIPE;
        if (!peer) { // the bytes leave, and the answer to them is a reset
            own_.on_reset(EPIPE);
            return static_cast<long>(bytes.size());
        }
        if (peer->ignores_input_ && own_.is_unix())
            return -EPIPE;
        const auto taken = std::min(bytes.size(), room_of(*peer));
        is_blocked_ = taken < bytes.size();
        if (taken == 0)
            return -EAGAIN;
        peer->on_data(bytes.substr(0, taken));
        return static_cast<long>(taken);
    }

    [[nodiscard]] bool has_room() const noexcept override {
        const auto peer = open_peer();
        return !peer || room_of(*peer) != 0;
    }

    void on_room() override {
        if (const auto peer = open_peer();
            peer && std::exchange(static_cast<end&>(*peer->link_).is_blocked_, false))
            peer->on_room();
    }

    void end_sending() override {
        if (const auto peer = open_peer())
            peer->on_end();
    }

    void leave(bool is_reset) override {
        const auto peer = open_peer();
        if (!peer)
            return;
        if (is_reset)
            return peer->on_reset(ECONNRESET);
        peer->has_sent_end_ = peer->has_sent_end_ || own_.is_unix();
        peer->on_end();
    }

  private:
    /// Returns null if the peer has been closed, or has been reset.
    [[nodiscard]] std::shared_ptr<socket> open_peer() const noexcept {
        auto peer = peer_.lock();
        return peer && peer->is_connected() ? peer : nullptr;
    }
    [[nodiscard]] std::size_t room_of(const socket& peer) const noexcept {
        const auto all = peer.receive_buffer + own_.send_buffer;
        return all - std::min(all, static_cast<std::size_t>(peer.available()));
    }

    socket& own_;
    std::weak_ptr<socket> peer_;
    bool is_blocked_ = false; ///< something was not taken
};

namespace {

[[nodiscard]] std::shared_ptr<socket> shared(socket& s) {
    return std::static_pointer_cast<socket>(s.shared_from_this());
}

} // namespace

bool loopback::overlap(place a, place b) noexcept {
    return a.port == b.port && (a.ip == b.ip || a.ip == any || b.ip == any);
}

std::uint16_t loopback::free_port() {
    do {
        last_port_ = last_port_ == 60'999 ? first_port : static_cast<std::uint16_t>(last_port_ + 1);
    } while (std::ranges::any_of(
        bound_, [&](const socket* s) { return s->name().place.port == last_port_; }));
    return last_port_;
}

int loopback::bind(socket& what, socket_name to) {
    if (what.is_unix()) {
        if (::mknod(to.path.c_str(), S_IFSOCK | 0777, 0) != 0)
            return errno == EEXIST ? -EADDRINUSE : -errno;
        paths_[to.path] = &what;
    } else {
        if (!has(to.place))
            return -EADDRNOTAVAIL;
        if (to.place.port == 0)
            to.place.port = free_port();
        const auto is_in_the_way = [&](const socket* s) {
            return overlap(s->name().place, to.place) &&
                   (s->is_listening() || !s->reuses_address || !what.reuses_address);
        };
        if (std::ranges::any_of(bound_, is_in_the_way))
            return -EADDRINUSE;
        bound_.push_back(&what);
    }
    what.name_ = std::move(to);
    return 0;
}

int loopback::listen(socket& what, std::size_t backlog) {
    const auto is_bound = std::ranges::find(bound_, &what) != bound_.end();
    if (!what.is_unix() && !is_bound)
        if (const auto failed = bind(what, {}); failed != 0)
            return failed;
    if (std::ranges::any_of(bound_, [&](const socket* s) {
            return s != &what && s->is_listening() && overlap(s->name().place, what.name().place);
        }))
        return -EADDRINUSE;
    what.state_ = socket::state::listening;
    what.backlog_ = backlog;
    return 0;
}

socket* loopback::listener_at(place at) const {
    const auto found = std::ranges::find_if(
        bound_, [&](const socket* s) { return s->is_listening() && overlap(s->name().place, at); });
    return found == bound_.end() ? nullptr : *found;
}

int loopback::connect(socket& from, const socket_name& to) {
    if (from.is_unix()) {
        struct stat found{};
        if (::stat(to.path.c_str(), &found) != 0)
            return -errno;
        const auto at = paths_.find(to.path);
        if (at == paths_.end() || !at->second->is_listening())
            return -ECONNREFUSED;
        auto& listener = *at->second;
        if (is_full(listener))
            return -EAGAIN;
        join(listener, from);
        return 0;
    }
    if (from.name_.place.port == 0)
        from.name_.place = {first_address, free_port()};
    from.state_ = socket::state::connecting;
    knock(from, second);
    return -EINPROGRESS;
}

/// A server whose backlog is full drops the request, which the client repeats.
void loopback::knock(socket& from, std::int64_t pause) {
    auto* const listener = listener_at(from.peer_name_.place);
    if (listener == nullptr)
        return from.on_failure(ECONNREFUSED);
    if (!is_full(*listener))
        return join(*listener, from);
    auto& m = from.network_.os();
    m.at(m.now() + pause, [this, pause, weak = std::weak_ptr{shared(from)}] {
        if (const auto again = weak.lock(); again && again->state_ == socket::state::connecting)
            knock(*again, 2 * pause);
    });
}

/// As Linux counts.
bool loopback::is_full(const socket& listener) noexcept {
    return listener.pending_.size() > listener.backlog_;
}

void loopback::join(socket& listener, socket& from) {
    const auto made = std::make_shared<socket>(from.network_, from.is_unix());
    made->name_ = from.peer_name_;
    made->peer_name_ = from.name_;
    made->receive_buffer = listener.receive_buffer;
    made->send_buffer = listener.send_buffer;
    made->link_ = std::make_shared<end>(*made, shared(from));
    made->on_connected();
    from.link_ = std::make_shared<end>(from, made);
    from.on_connected();
    listener.pending_.push_back(made);
    listener.raise(EPOLLIN);
}

void loopback::close(socket& what) {
    std::erase(bound_, &what);
    std::erase_if(paths_, [&](const auto& p) { return p.second == &what; });
    for (const auto& s : what.pending_)
        s->link_->leave(true);
    what.pending_.clear();
}

} // namespace colimit::simulation
