// SPDX-License-Identifier: BSL-1.0
//
// A library that a server preloads, so that a test can step the server's clock: it adds an offset
// in microseconds, which it reads from the file that COLIMIT_CLOCK_FILE names.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

constexpr std::int64_t microseconds_per_second = 1'000'000;

const volatile std::int64_t* offset = nullptr;

[[gnu::constructor]] void map_offset() {
    const auto* name = std::getenv("COLIMIT_CLOCK_FILE");
    const auto file = name == nullptr ? -1 : ::open(name, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    void* mapped = ::mmap(nullptr, sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
    ::close(file);
    if (mapped != MAP_FAILED)
        offset = static_cast<const std::int64_t*>(mapped);
}

} // namespace

extern "C" int gettimeofday(timeval* into, void* /*zone*/) noexcept {
    auto now = timespec{};
    ::syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
    const auto us = now.tv_sec * microseconds_per_second + now.tv_nsec / 1'000 +
                    (offset == nullptr ? 0 : *offset);
    into->tv_sec = us / microseconds_per_second;
    into->tv_usec = us % microseconds_per_second;
    return 0;
}
