// SPDX-License-Identifier: BSL-1.0
//
// zlib's gzread ignores whatever follows the members of a gzip file, and would so lose the rest of
// a log. So the members are read one by one.

#include <tool/replay/unpacked_file.hpp>

#include <tool/frame/format.hpp>
#include <tool/frame/input.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <zlib.h>

namespace tool::replay {

namespace {

constexpr std::size_t piece = 65'536;
constexpr std::array<unsigned char, 2> gzip_mark{0x1f, 0x8b};
constexpr int gzip_only = 16; // beside the size of the window

/// Returns null if it cannot be opened, and errno says why.
[[nodiscard]] std::FILE* open_file(const std::string& path) {
    if (path != standard_input)
        return std::fopen(path.c_str(), "rb");
    const auto copy = dup(STDIN_FILENO);
    return copy < 0 ? nullptr : fdopen(copy, "rb");
}

} // namespace

void unpacked_file::closer::operator()(std::FILE* file) const noexcept {
    (void)std::fclose(file);
}

void unpacked_file::ender::operator()(z_stream_s* stream) const noexcept {
    inflateEnd(stream);
    delete stream;
}

void unpacked_file::fail(const std::string& why) const {
    throw input_error{"cannot read " + without_addresses(escaped(path_)) + ": " + why};
}

unpacked_file::unpacked_file(const std::string& path) : path_(path), buffer_(piece) {
    file_.reset(open_file(path));
    if (!file_)
        fail(std::strerror(errno));
    struct stat facts{};
    if (fstat(fileno(file_.get()), &facts) == 0 && S_ISREG(facts.st_mode))
        size_ = static_cast<std::uint64_t>(facts.st_size);
    fill();
    if (ahead_.size() < gzip_mark.size() ||
        !std::ranges::equal(ahead_.first(gzip_mark.size()), gzip_mark))
        return;
    auto stream = std::make_unique<z_stream>();
    if (inflateInit2(stream.get(), gzip_only + MAX_WBITS) != Z_OK)
        throw std::bad_alloc{};
    packed_.reset(stream.release());
}

bool unpacked_file::fill() {
    const auto count = std::fread(buffer_.data(), 1, buffer_.size(), file_.get());
    if (std::ferror(file_.get()) != 0)
        fail(std::strerror(errno));
    ahead_ = std::span{buffer_}.first(count);
    position_ += count;
    return count != 0;
}

std::size_t unpacked_file::read_plain(std::span<char> room) {
    if (ahead_.empty() && !fill())
        return 0;
    const auto count = std::min(room.size(), ahead_.size());
    std::copy_n(ahead_.begin(), count, room.begin());
    ahead_ = ahead_.subspan(count);
    return count;
}

bool unpacked_file::begin_member() {
    do {
        const auto padding = std::ranges::find_if(ahead_, [](auto byte) { return byte != 0; });
        ahead_ = {padding, ahead_.end()};
    } while (ahead_.empty() && fill());
    if (ahead_.empty())
        return false;
    if (ahead_.front() != gzip_mark.front())
        fail("something that is not gzip follows the gzip data (expected the end of the file, "
             "more gzip data or zero bytes)");
    inflateReset(packed_.get());
    is_in_member_ = true;
    return true;
}

std::size_t unpacked_file::unpack(std::span<char> room) {
    packed_->next_in = ahead_.data();
    packed_->avail_in = static_cast<uInt>(ahead_.size());
    packed_->next_out = reinterpret_cast<Bytef*>(room.data());
    packed_->avail_out = static_cast<uInt>(room.size());
    const auto code = inflate(packed_.get(), Z_NO_FLUSH);
    if (code == Z_MEM_ERROR)
        throw std::bad_alloc{};
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
        fail("the gzip file is damaged (" +
             std::string{packed_->msg != nullptr ? packed_->msg : zError(code)} + ")");
    is_in_member_ = code != Z_STREAM_END;
    ahead_ = ahead_.last(packed_->avail_in);
    return room.size() - packed_->avail_out;
}

std::size_t unpacked_file::read(std::span<char> room) {
    if (!packed_)
        return read_plain(room);
    while (is_in_member_ || begin_member()) {
        if (const auto count = unpack(room); count != 0)
            return count;
        if (is_in_member_ && ahead_.empty() && !fill())
            fail("the gzip file is truncated");
    }
    return 0;
}

} // namespace tool::replay
