// SPDX-License-Identifier: BSL-1.0
//
// Reads and writes a bitmap in the server's memory.

#include <base/bytes.hpp>
#include <server_module/bitmap.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>

namespace colimit::server_module {
namespace {

constexpr std::size_t generation_size = core::bloom_shape::head_bytes;

/// Returns the part of some bytes that exists.
[[nodiscard]] std::string_view part_of(std::string_view bytes, std::size_t first,
                                       std::size_t size) noexcept {
    return first < bytes.size() ? bytes.substr(first, size) : std::string_view{};
}

[[nodiscard]] bool is_odd(double number) noexcept {
    return number - std::floor(number / 2) * 2 == 1;
}

[[nodiscard]] bool is_even(double number) noexcept {
    return number - std::floor(number / 2) * 2 == 0;
}

} // namespace

bitmap::bitmap(command_run& run, api::string* name, const core::bloom_shape& shape,
               std::int64_t number, std::int64_t current) noexcept
    : run_(run), name_(name), shape_(shape), number_(number), key_(open_key(run.where(), name)) {
    const auto head = bytes();
    if (head.size() < generation_size)
        return;
    // Any number may be there, also one that is not a valid generation.
    const auto own = detail::read_number<double>(&head.front()) - 1;
    exists_ =
        own >= static_cast<double>(current - 1) && (number % 2 == 0 ? is_even(own) : is_odd(own));
    is_late_ = exists_ && own > static_cast<double>(number);
}

bool bitmap::is_foreign() const noexcept {
    const auto type = api::key_type(key_.get());
    return type != api::is_empty && type != api::is_string;
}

std::string_view bitmap::bytes() const noexcept {
    if (api::key_type(key_.get()) != api::is_string)
        return {};
    std::size_t size = 0;
    const char* found = api::string_dma(key_.get(), &size, api::read);
    return {found, size};
}

bool bitmap::has_all(std::size_t first, std::string_view words) const noexcept {
    const auto line = part_of(bytes(), first, words.size());
    for (std::size_t i = 0; i < words.size(); i += sizeof(std::uint32_t)) {
        auto word = std::array<char, sizeof(std::uint32_t)>{}; // missing bytes are clear
        std::ranges::copy(part_of(line, i, word.size()), word.begin());
        if ((detail::read_number<std::uint32_t>(word.data()) &
             detail::read_number<std::uint32_t>(&words[i])) == 0)
            return false;
    }
    return true;
}

std::int64_t bitmap::count(std::size_t first, std::size_t size) const noexcept {
    auto ones = std::int64_t{0};
    auto part = part_of(bytes(), first, size);
    for (; part.size() >= sizeof(std::uint64_t); part.remove_prefix(sizeof(std::uint64_t)))
        ones += std::popcount(detail::read_number<std::uint64_t>(&part.front()));
    for (const auto byte : part)
        ones += std::popcount(static_cast<unsigned char>(byte));
    return ones;
}

/// Overwrites bytes, which need not exist before.
void bitmap::overwrite(std::size_t first, std::string_view with) noexcept {
    if (bytes().size() < first + with.size())
        (void)api::string_truncate(key_.get(), first + with.size());
    std::size_t size = 0;
    char* to = api::string_dma(key_.get(), &size, api::read | api::write);
    std::ranges::copy(with, to + first);
    (void)api::signal_modified(run_.where(), name_);
    run_.propagate("SETRANGE", "slb", name_, static_cast<long long>(first), with.data(),
                   with.size());
}

void bitmap::create() noexcept {
    if (api::key_type(key_.get()) != api::is_empty) {
        (void)api::delete_key(key_.get());
        run_.propagate("DEL", "s", name_);
    }
    overwrite(shape_.block_bytes() - 1, {"\0", 1});
    set_generation();
    exists_ = true;
}

void bitmap::set_generation() noexcept {
    auto head = std::string{};
    detail::append_double(head, number_ + 1);
    overwrite(0, head);
    const auto ends = (number_ + 2) * shape_.ttl - run_.now();
    const auto at = run_.expiry_after(static_cast<double>(ends)).at_ms;
    (void)api::set_expiry(key_.get(), at);
    run_.propagate("PEXPIREAT", "sl", name_, static_cast<long long>(at));
    is_late_ = false;
}

void bitmap::set_all(std::size_t first, std::string_view words) noexcept {
    auto line = std::string{part_of(bytes(), first, words.size())};
    line.resize(words.size(), '\0');
    for (std::size_t i = 0; i < words.size(); ++i)
        line[i] = static_cast<char>(line[i] | words[i]);
    overwrite(first, line);
}

} // namespace colimit::server_module
