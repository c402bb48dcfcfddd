// SPDX-License-Identifier: BSL-1.0
//
// A library that a server preloads, so that a test can step the server's clock or stop it. The file
// that COLIMIT_CLOCK_FILE names has three numbers of microseconds: an offset, which it adds; the
// time at which the clock stands still, or 0; and by how much the clock goes on at each reading, as
// if the machine was halted before it.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

constexpr std::int64_t microseconds_per_second = 1'000'000;
constexpr std::int64_t nanoseconds_per_second = 1'000'000'000;

struct clock_file {
    std::int64_t offset;
    std::int64_t stands_at;
    std::int64_t halt;
};

const volatile clock_file* shared = nullptr;
std::atomic<std::int64_t> halted = 0; // in all

[[gnu::constructor]] void map_file() {
    const auto* name = std::getenv("COLIMIT_CLOCK_FILE");
    const auto file = name == nullptr ? -1 : ::open(name, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    void* mapped = ::mmap(nullptr, sizeof *shared, PROT_READ, MAP_SHARED, file, 0);
    ::close(file);
    if (mapped != MAP_FAILED)
        shared = static_cast<const clock_file*>(mapped);
}

} // namespace

// The server module reads this clock.
extern "C" int clock_gettime(clockid_t clock, timespec* into) noexcept {
    const auto failed = ::syscall(SYS_clock_gettime, clock, into) != 0;
    if (failed || clock != CLOCK_REALTIME || shared == nullptr)
        return failed ? -1 : 0;
    if (const auto time = shared->stands_at; time != 0) {
        into->tv_sec = time / microseconds_per_second;
        into->tv_nsec = time % microseconds_per_second * 1'000;
        return 0;
    }
    const auto offset = shared->offset + (halted += shared->halt);
    const auto ns = into->tv_nsec + offset % microseconds_per_second * 1'000;
    const auto carry = ns < 0 ? -1 : ns / nanoseconds_per_second;
    into->tv_sec += offset / microseconds_per_second + carry;
    into->tv_nsec = ns - carry * nanoseconds_per_second;
    return 0;
}

extern "C" int gettimeofday(timeval* into, void* /*zone*/) noexcept {
    auto now = timespec{};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    into->tv_sec = now.tv_sec;
    into->tv_usec = now.tv_nsec / 1'000;
    return 0;
}
