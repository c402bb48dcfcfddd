// SPDX-License-Identifier: BSL-1.0
//
// The system calls that Asio and the clocks of the standard library make, defined in the program
// itself, so that the linker prefers them to those of the C library. While there is a simulated
// machine, they work on its descriptors and clocks; otherwise, and for other descriptors, they are
// passed on to the system.

#include "network.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <random>
#include <ranges>
#include <utility>

namespace sim = colimit::simulation;

namespace {

/// An eventfd that was written to, as that of Asio always is.
struct event_descriptor final : sim::descriptor {
    [[nodiscard]] std::uint32_t ready() const noexcept override { return EPOLLIN; }
};

[[nodiscard]] bool is_simulated(int fd) noexcept {
    return sim::machine::is_simulated(fd) && sim::machine::current() != nullptr;
}

/// Returns null for another kind of descriptor, or none.
template<class T>
[[nodiscard]] std::shared_ptr<T> open_as(int fd) noexcept {
    return std::dynamic_pointer_cast<T>(sim::machine::current()->find(fd));
}

/// Returns the result of a system call, of which negative ones are errors.
template<class T>
[[nodiscard]] T result(T value) noexcept {
    if (value >= 0)
        return value;
    errno = static_cast<int>(-value);
    return -1;
}

/// Calls the function with the socket.
/// @return what it returns
template<class Function>
[[nodiscard]] auto with_socket(int fd, const Function& f) {
    const auto s = open_as<sim::socket>(fd);
    using type = decltype(f(*s));
    return result(s ? f(*s) : type{-EBADF});
}

[[nodiscard]] ssize_t receive(int fd, void* into, std::size_t size) {
    return with_socket(fd,
                       [&](sim::socket& s) { return s.receive(static_cast<char*>(into), size); });
}

[[nodiscard]] ssize_t send_to(int fd, const void* from, std::size_t size) {
    return with_socket(
        fd, [&](sim::socket& s) { return s.send({static_cast<const char*>(from), size}); });
}

[[nodiscard]] sim::socket_name name_of(const sockaddr* address, socklen_t size) {
    if (address->sa_family == AF_UNIX) {
        constexpr auto begin = offsetof(sockaddr_un, sun_path);
        const auto* path = reinterpret_cast<const sockaddr_un*>(address)->sun_path;
        return {.path = {path, ::strnlen(path, size - begin)}};
    }
    const auto* internet = reinterpret_cast<const sockaddr_in*>(address);
    return {.place = {ntohl(internet->sin_addr.s_addr), ntohs(internet->sin_port)}};
}

/// Writes as much of the name as there is room for, and its whole size.
void write_name(bool is_unix, const sim::socket_name& name, sockaddr* into, socklen_t* size) {
    if (into == nullptr)
        return;
    auto local = sockaddr_un{};
    local.sun_family = AF_UNIX;
    name.path.copy(local.sun_path, sizeof local.sun_path - 1);
    auto internet = sockaddr_in{};
    internet.sin_family = AF_INET;
    internet.sin_addr.s_addr = htonl(name.place.ip);
    internet.sin_port = htons(name.place.port);
    const auto* const from = is_unix ? static_cast<const void*>(&local) : &internet;
    const auto path_size = name.path.empty() ? 0 : name.path.size() + 1;
    const auto all = is_unix ? offsetof(sockaddr_un, sun_path) + path_size : sizeof internet;
    std::memcpy(into, from, std::min<std::size_t>(*size, all));
    *size = static_cast<socklen_t>(all);
}

/// An entry of the result of `getaddrinfo`, which has the address of its first member.
struct found_address {
    addrinfo info{};
    sockaddr_in address{};
};

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
    return m->open(std::make_shared<sim::epoll>());
}

int epoll_ctl(int epoll, int operation, int fd, epoll_event* event) noexcept {
    if (!is_simulated(epoll))
        return static_cast<int>(::syscall(SYS_epoll_ctl, epoll, operation, fd, event));
    if (auto* m = sim::machine::current(); !m->is_own_thread()) {
        m->from_thread([=, e = *event]() mutable { epoll_ctl(epoll, operation, fd, &e); });
        return 0;
    }
    const auto by = open_as<sim::epoll>(epoll);
    const auto what = open_as<sim::descriptor>(fd);
    if (!by || !what)
        return result(-EBADF);
    if (operation == EPOLL_CTL_DEL)
        by->remove(*what);
    else if (const auto timer = std::dynamic_pointer_cast<sim::timer>(what))
        by->add(timer, *event);
    else
        by->add(*what, *event);
    return 0;
}

int epoll_wait(int epoll, epoll_event* into, int most, int timeout) {
    if (!is_simulated(epoll))
        return static_cast<int>(::syscall(SYS_epoll_wait, epoll, into, most, timeout));
    const auto by = open_as<sim::epoll>(epoll);
    return by ? sim::machine::current()->wait(*by, into, most, timeout) : result(-EBADF);
}

int timerfd_create(int clock, int flags) noexcept {
    auto* m = sim::machine::current();
    if (m == nullptr)
        return static_cast<int>(::syscall(SYS_timerfd_create, clock, flags));
    return m->open(std::make_shared<sim::timer>());
}

int timerfd_settime(int fd, int flags, const itimerspec* to, itimerspec* old) noexcept {
    if (!is_simulated(fd))
        return static_cast<int>(::syscall(SYS_timerfd_settime, fd, flags, to, old));
    auto* m = sim::machine::current();
    const auto us = to->it_value.tv_sec * sim::second + (to->it_value.tv_nsec + 999) / 1'000;
    m->set_timer(*open_as<sim::timer>(fd), flags == TFD_TIMER_ABSTIME ? us : m->now() + us);
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

/// Finds the names that the machine knows. Asio calls it with the port as a number.
int getaddrinfo(const char* host, const char* port, const addrinfo* /*wanted*/, addrinfo** result) {
    auto* m = sim::machine::current();
    const auto found = m == nullptr ? decltype(m->names.end()){} : m->names.find(host);
    if (m == nullptr || found == m->names.end())
        return EAI_NONAME;
    if (found->second.time != 0)
        m->sleep_in_thread(found->second.time);
    *result = nullptr;
    for (const auto ip : found->second.addresses | std::views::reverse) {
        auto* const made = new found_address;
        made->address.sin_family = AF_INET;
        made->address.sin_addr.s_addr = htonl(ip);
        made->address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(port)));
        made->info.ai_family = AF_INET;
        made->info.ai_socktype = SOCK_STREAM;
        made->info.ai_addrlen = sizeof made->address;
        made->info.ai_addr = reinterpret_cast<sockaddr*>(&made->address);
        made->info.ai_next = std::exchange(*result, &made->info);
    }
    return 0;
}

void freeaddrinfo(addrinfo* all) noexcept {
    while (all != nullptr)
        delete reinterpret_cast<found_address*>(std::exchange(all, all->ai_next));
}

int socket(int family, int type, int protocol) noexcept {
    auto* m = sim::machine::current();
    if (m == nullptr)
        return static_cast<int>(::syscall(SYS_socket, family, type, protocol));
    if (family != AF_UNIX && family != AF_INET)
        return result(-EAFNOSUPPORT);
    return m->open(std::make_shared<sim::socket>(*m->attached, family == AF_UNIX));
}

int bind(int fd, const sockaddr* to, socklen_t size) noexcept {
    if (!is_simulated(fd))
        return static_cast<int>(::syscall(SYS_bind, fd, to, size));
    return with_socket(fd, [&](sim::socket& s) { return s.bind(name_of(to, size)); });
}

int listen(int fd, int backlog) noexcept {
    if (!is_simulated(fd))
        return static_cast<int>(::syscall(SYS_listen, fd, backlog));
    return with_socket(fd, [&](sim::socket& s) { return s.listen(backlog); });
}

int accept(int fd, sockaddr* from, socklen_t* size) {
    if (!is_simulated(fd))
        return static_cast<int>(::syscall(SYS_accept, fd, from, size));
    return with_socket(fd, [&](sim::socket& s) {
        if (!s.is_listening())
            return -EINVAL;
        auto accepted = s.accept();
        if (!accepted)
            return -EAGAIN;
        write_name(s.is_unix(), accepted->peer_name(), from, size);
        return sim::machine::current()->open(std::move(accepted));
    });
}

int getsockname(int fd, sockaddr* into, socklen_t* size) noexcept {
    if (!is_simulated(fd))
        return static_cast<int>(::syscall(SYS_getsockname, fd, into, size));
    return with_socket(fd, [&](const sim::socket& s) {
        write_name(s.is_unix(), s.name(), into, size);
        return 0;
    });
}

int getpeername(int fd, sockaddr* into, socklen_t* size) noexcept {
    if (!is_simulated(fd))
        return static_cast<int>(::syscall(SYS_getpeername, fd, into, size));
    return with_socket(fd, [&](const sim::socket& s) {
        if (!s.is_connected())
            return -ENOTCONN;
        write_name(s.is_unix(), s.peer_name(), into, size);
        return 0;
    });
}

int connect(int fd, const sockaddr* to, socklen_t size) {
    if (!is_simulated(fd))
        return static_cast<int>(::syscall(SYS_connect, fd, to, size));
    return with_socket(fd, [&](sim::socket& s) { return s.connect(name_of(to, size)); });
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
    const auto* part = message->msg_iov;
    while (part->iov_len == 0 && part + 1 != message->msg_iov + message->msg_iovlen)
        ++part;
    return receive(fd, part->iov_base, part->iov_len);
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
    auto sent = ssize_t{0};
    for (std::size_t i = 0; i < message->msg_iovlen; ++i) {
        const auto& part = message->msg_iov[i];
        const auto n = send_to(fd, part.iov_base, part.iov_len);
        if (n < 0)
            return sent != 0 ? sent : n;
        sent += n;
        if (static_cast<std::size_t>(n) < part.iov_len)
            break;
    }
    return sent;
}

ssize_t write(int fd, const void* from, std::size_t size) {
    if (!is_simulated(fd))
        return ::syscall(SYS_write, fd, from, size);
    if (open_as<event_descriptor>(fd))
        return static_cast<ssize_t>(size);
    return send_to(fd, from, size);
}

int shutdown(int fd, int how) noexcept {
    if (!is_simulated(fd))
        return static_cast<int>(::syscall(SYS_shutdown, fd, how));
    return with_socket(fd, [&](sim::socket& s) { return s.shutdown(how); });
}

// The C library declares that poll does not read its first argument, but it does.
int simulated_poll(pollfd* of, nfds_t count, int timeout) asm("poll");
int simulated_poll(pollfd* of, nfds_t count, int timeout) {
    if (count == 0 || !is_simulated(of->fd))
        return static_cast<int>(::syscall(SYS_poll, of, count, timeout));
    auto* m = sim::machine::current();
    const auto d = m->find(of->fd);
    const auto wanted = static_cast<unsigned>(of->events) | POLLERR | POLLHUP;
    if (d)
        m->wait(*d, wanted, timeout);
    of->revents = static_cast<short>(d ? d->ready() & wanted : POLLNVAL);
    return of->revents != 0 ? 1 : 0;
}

int nanosleep(const timespec* time, timespec* left) {
    auto* m = sim::machine::current();
    if (m == nullptr)
        return static_cast<int>(::syscall(SYS_nanosleep, time, left));
    m->stand_still(time->tv_sec * sim::second + (time->tv_nsec + 999) / 1'000);
    return 0;
}

int setsockopt(int fd, int level, int name, const void* value, socklen_t size) noexcept {
    if (!is_simulated(fd))
        return static_cast<int>(::syscall(SYS_setsockopt, fd, level, name, value, size));
    return with_socket(fd, [&](sim::socket& s) {
        const auto number = *static_cast<const int*>(value);
        if (level == IPPROTO_TCP && name == TCP_USER_TIMEOUT)
            s.set_user_timeout(number);
        if (level != SOL_SOCKET)
            return 0;
        if (name == SO_REUSEADDR)
            s.reuses_address = number != 0;
        if (name == SO_RCVBUF)
            s.receive_buffer = static_cast<std::size_t>(number);
        if (name == SO_SNDBUF)
            s.send_buffer = static_cast<std::size_t>(number);
        if (name == SO_LINGER) {
            const auto* const l = static_cast<const linger*>(value);
            s.resets_on_close = l->l_onoff != 0 && l->l_linger == 0;
        }
        return 0;
    });
}

int getsockopt(int fd, int level, int name, void* value, socklen_t* size) noexcept {
    if (!is_simulated(fd))
        return static_cast<int>(::syscall(SYS_getsockopt, fd, level, name, value, size));
    *static_cast<int*>(value) = name == SO_ERROR ? open_as<sim::socket>(fd)->take_error() : 0;
    return 0;
}

int ioctl(int fd, unsigned long request, ...) noexcept {
    std::va_list rest;
    va_start(rest, request);
    auto* value = va_arg(rest, void*);
    va_end(rest);
    if (!is_simulated(fd))
        return static_cast<int>(::syscall(SYS_ioctl, fd, request, value));
    if (const auto s = open_as<sim::socket>(fd); s && request == FIONREAD)
        *static_cast<int*>(value) = s->available();
    return 0;
}
}
