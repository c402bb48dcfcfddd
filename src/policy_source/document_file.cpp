// SPDX-License-Identifier: BSL-1.0
//
// Files by the calls of POSIX: standard streams neither distinguish errors nor find a file's
// identity.

#include <policy_source/document_file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <system_error>
#include <utility>

namespace colimit::detail {
namespace {

/// An open file.
class descriptor {
  public:
    explicit descriptor(int number) noexcept : number_(number) {}
    ~descriptor() {
        if (is_open())
            (void)::close(number_);
    }
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;

    [[nodiscard]] bool is_open() const noexcept { return number_ >= 0; }
    [[nodiscard]] int number() const noexcept { return number_; }

  private:
    int number_;
};

[[nodiscard]] std::string words_of(int code) {
    return std::generic_category().message(code);
}

[[nodiscard]] file_content failure(int code) {
    return {.text = {}, .problem = "cannot be read: " + words_of(code)};
}

void check(bool succeeded, const char* what) {
    if (!succeeded)
        throw std::system_error{errno, std::generic_category(), what};
}

void write_all(int file, std::string_view text) {
    while (!text.empty()) {
        const auto written = ::write(file, text.data(), text.size());
        if (written < 0 && errno == EINTR)
            continue;
        check(written >= 0, "write");
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

[[nodiscard]] file_content read_all(int file, std::size_t most) {
    constexpr auto piece = std::size_t{64} * 1024;
    auto text = std::string{};
    while (text.size() <= most) {
        const auto size = text.size();
        text.resize(size + piece);
        const auto read = ::read(file, text.data() + size, piece);
        const auto code = errno;
        text.resize(size + (read > 0 ? static_cast<std::size_t>(read) : 0));
        if (read < 0 && code != EINTR)
            return failure(code);
        if (read == 0)
            return {.text = std::move(text), .problem = {}};
    }
    return {.text = {},
            .problem = "is too long (expected at most " + std::to_string(most) + " bytes)"};
}

} // namespace

file_content read_file(const std::string& path, std::size_t most) {
    // A pipe without a writer does not block.
    const auto file = descriptor{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (!file.is_open())
        return failure(errno);
    struct stat facts{};
    if (::fstat(file.number(), &facts) != 0)
        return failure(errno);
    if (!S_ISREG(facts.st_mode))
        return {.text = {},
                .problem = S_ISDIR(facts.st_mode) ? "is a directory" : "is not a regular file"};
    return read_all(file.number(), most);
}

void replace_file(const std::string& path, std::string_view text) {
    auto name = path + ".XXXXXX";
    const auto file = descriptor{::mkostemp(name.data(), O_CLOEXEC)};
    check(file.is_open(), "open");
    try {
        write_all(file.number(), text);
        check(::fsync(file.number()) == 0, "fsync");
        check(std::rename(name.c_str(), path.c_str()) == 0, "rename");
    } catch (...) {
        (void)::unlink(name.c_str());
        throw;
    }
}

watched_file::identity watched_file::identity_of(const std::string& path) {
    struct stat facts{};
    if (::stat(path.c_str(), &facts) != 0)
        return {};
    const auto nanoseconds = [](const timespec& t) {
        return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
    };
    return {.device = facts.st_dev,
            .inode = facts.st_ino,
            .size = facts.st_size,
            .modified = nanoseconds(facts.st_mtim),
            .changed = nanoseconds(facts.st_ctim)};
}

/// A change between the two steps is found at the next look, as the identity is the older one.
void watched_file::take(const identity& found) {
    identity_ = found;
    content_ = read_file(path_);
}

const file_content& watched_file::read() {
    is_settled_ = false;
    take(identity_of(path_));
    return content_;
}

std::optional<watched_file::look> watched_file::poll() {
    const auto found = identity_of(path_);
    const auto is_same = found == identity_;
    const auto is_unreadable = !content_.problem.empty() && found != identity{};
    if (is_same && is_settled_ && !is_unreadable)
        return std::nullopt;
    is_settled_ = false; // should memory run out
    const auto before = std::exchange(content_, {});
    take(found);
    is_settled_ = is_same && content_ == before;
    return look{content_, is_settled_};
}

} // namespace colimit::detail
