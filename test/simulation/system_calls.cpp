// SPDX-License-Identifier: BSL-1.0
//
// The system calls that Asio and the clocks of the standard library make, defined in the program
// itself, so that the linker prefers them to those of the C library. While there is a simulated
// machine, they work on its descriptors and clocks; otherwise, and for other descriptors, they are
// passed on to the system.

#include "network.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <ctime>
#include <memory>
#include <random>

namespace sim = colimit::simulation;

namespace {

/// An eventfd that was written to, as that of Asio always is.
struct event_descriptor final : sim::descriptor {
    [[nodiscard]] std::uint32_t ready() const noexcept override { return EPOLLIN; }
};

[[nodiscard]] bool is_simulated(int fd) noexcept {
    return sim::machine::is_simulated(fd) && sim::machine::current() != nullptr;
}

/// Returns the socket; null for another descriptor, or none.
[[nodiscard]] std::shared_ptr<sim::socket> socket_of(int fd) noexcept {
    return std::dynamic_pointer_cast<sim::socket>(sim::machine::current()->find(fd));
}

/// Returns the result of a system call, of which negative ones are errors.
template<class T>
[[nodiscard]] T result(T value) noexcept {
    if (value >= 0)
        return value;
    errno = static_cast<int>(-value);
    return -1;
}

[[nodiscard]] ssize_t receive(int fd, void* into, std::size_t size) {
    const auto s = socket_of(fd);
    return result<ssize_t>(s ? s->receive(static_cast<char*>(into), size) : -EBADF);
}

[[nodiscard]] ssize_t send_to(int fd, const void* from, std::size_t size) {
    const auto s = socket_of(fd);
    return result<ssize_t>(s ? s->send({static_cast<const char*>(from), size}) : -EBADF);
}

[[nodiscard]] bool is_system_clock(clockid_t which) noexcept {
    return which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE;
}

} // namespace

/// libstdc++ would read the processor's random numbers.
std::random_device::result_type std::random_device::_M_getval() {
    if (auto* m = sim::machine::current())
        return m->device();
    return 1; // of the process, which all runs share
}

extern "C" {

int clock_gettime(clockid_t which, timespec* into) noexcept {
    const auto* m = sim::machine::current();
    if (m == nullptr || which == CLOCK_PROCESS_CPUTIME_ID)
        return static_cast<int>(::syscall(SYS_clock_gettime, which, into));
    const auto us = is_system_clock(which) ? m->system_now() : m->now();
    into->tv_sec = us / sim::second;
    into->tv_nsec = us % sim::second * 1'000;
    return 0;
}

int epoll_create1(int flags) noexcept {
    auto* m = sim::machine::current();
    if (m == nullptr)
        return static_cast<int>(::syscall(SYS_epoll_create1, flags));
    return m->open(std::make_shared<event_descriptor>());
}

int epoll_ctl(int epoll, int operation, int fd, epoll_event* event) noexcept {
    if (!is_simulated(epoll))
        return static_cast<int>(::syscall(SYS_epoll_ctl, epoll, operation, fd, event));
    return sim::machine::current()->control(operation, fd, event);
}

int epoll_wait(int epoll, epoll_event* into, int most, int timeout) {
    if (!is_simulated(epoll))
        return static_cast<int>(::syscall(SYS_epoll_wait, epoll, into, most, timeout));
    return sim::machine::current()->wait(into, most, timeout);
}

int timerfd_create(int clock, int flags) noexcept {
    auto* m = sim::machine::current();
    if (m == nullptr)
        return static_cast<int>(::syscall(SYS_timerfd_create, clock, flags));
    return m->open_timer();
}

int timerfd_settime(int fd, int flags, const itimerspec* to, itimerspec* old) noexcept {
    if (!is_simulated(fd))
        return static_cast<int>(::syscall(SYS_timerfd_settime, fd, flags, to, old));
    auto* m = sim::machine::current();
    const auto us = to->it_value.tv_sec * sim::second + (to->it_value.tv_nsec + 999) / 1'000;
    m->set_timer(flags == TFD_TIMER_ABSTIME ? us : m->now() + us);
    if (old != nullptr)
        *old = {};
    return 0;
}

int eventfd(unsigned count, int flags) noexcept {
    auto* m = sim::machine::current();
    if (m == nullptr)
        return static_cast<int>(::syscall(SYS_eventfd2, count, flags));
    return m->open(std::make_shared<event_descriptor>());
}

int socket(int family, int type, int protocol) noexcept {
    auto* m = sim::machine::current();
    if (m == nullptr)
        return static_cast<int>(::syscall(SYS_socket, family, type, protocol));
    return m->open(std::make_shared<sim::socket>(*m->attached));
}

int connect(int fd, const sockaddr* to, socklen_t size) {
    if (!is_simulated(fd))
        return static_cast<int>(::syscall(SYS_connect, fd, to, size));
    const auto s = socket_of(fd);
    const auto* address = reinterpret_cast<const sockaddr_in*>(to);
    s->connect({ntohl(address->sin_addr.s_addr), ntohs(address->sin_port)});
    return result(-EINPROGRESS);
}

int close(int fd) {
    if (!is_simulated(fd))
        return static_cast<int>(::syscall(SYS_close, fd));
    sim::machine::current()->close(fd);
    return 0;
}

ssize_t recv(int fd, void* into, std::size_t size, int flags) {
    if (!is_simulated(fd))
        return ::syscall(SYS_recvfrom, fd, into, size, flags, nullptr, nullptr);
    return receive(fd, into, size);
}

ssize_t recvmsg(int fd, msghdr* message, int flags) {
    if (!is_simulated(fd))
        return ::syscall(SYS_recvmsg, fd, message, flags);
    return receive(fd, message->msg_iov->iov_base, message->msg_iov->iov_len);
}

ssize_t read(int fd, void* into, std::size_t size) {
    if (!is_simulated(fd))
        return ::syscall(SYS_read, fd, into, size);
    return receive(fd, into, size);
}

ssize_t send(int fd, const void* from, std::size_t size, int flags) {
    if (!is_simulated(fd))
        return ::syscall(SYS_sendto, fd, from, size, flags, nullptr, 0);
    return send_to(fd, from, size);
}

ssize_t sendmsg(int fd, const msghdr* message, int flags) {
    if (!is_simulated(fd))
        return ::syscall(SYS_sendmsg, fd, message, flags);
    return send_to(fd, message->msg_iov->iov_base, message->msg_iov->iov_len);
}

ssize_t write(int fd, const void* from, std::size_t size) {
    if (!is_simulated(fd))
        return ::syscall(SYS_write, fd, from, size);
    return static_cast<ssize_t>(size); // to the eventfd
}

int shutdown(int fd, int how) noexcept {
    return is_simulated(fd) ? 0 : static_cast<int>(::syscall(SYS_shutdown, fd, how));
}

// The C library declares that poll does not read its first argument, but it does.
int simulated_poll(pollfd* of, nfds_t count, int timeout) asm("poll");
int simulated_poll(pollfd* of, nfds_t count, int timeout) {
    if (count == 0 || !is_simulated(of->fd))
        return static_cast<int>(::syscall(SYS_poll, of, count, timeout));
    const auto d = sim::machine::current()->find(of->fd);
    const auto ready = d ? d->ready() : std::uint32_t{EPOLLERR};
    of->revents = static_cast<short>(ready & (static_cast<unsigned>(of->events) | POLLERR));
    return of->revents != 0 ? 1 : 0;
}

int setsockopt(int fd, int level, int name, const void* value, socklen_t size) noexcept {
    if (!is_simulated(fd))
        return static_cast<int>(::syscall(SYS_setsockopt, fd, level, name, value, size));
    if (level == IPPROTO_TCP && name == TCP_USER_TIMEOUT)
        socket_of(fd)->set_user_timeout(*static_cast<const int*>(value));
    return 0;
}

int getsockopt(int fd, int level, int name, void* value, socklen_t* size) noexcept {
    if (!is_simulated(fd))
        return static_cast<int>(::syscall(SYS_getsockopt, fd, level, name, value, size));
    *static_cast<int*>(value) = name == SO_ERROR ? socket_of(fd)->take_error() : 0;
    return 0;
}

int ioctl(int fd, unsigned long request, ...) noexcept {
    std::va_list rest;
    va_start(rest, request);
    auto* value = va_arg(rest, void*);
    va_end(rest);
    if (!is_simulated(fd))
        return static_cast<int>(::syscall(SYS_ioctl, fd, request, value));
    if (const auto s = socket_of(fd); s && request == FIONREAD)
        *static_cast<int*>(value) = s->available();
    return 0;
}
}
