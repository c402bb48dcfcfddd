// SPDX-License-Identifier: BSL-1.0
//
// Reads ids.

#include <base/bytes.hpp>
#include <server_module/refusal.hpp>
#include <server_module/seen_ids.hpp>

#include <string>

namespace colimit::server_module {
namespace {

constexpr std::uint16_t asks_only = 0x4000; // added to the number of a block
constexpr std::uint16_t counts_bits = 0x8000;

class id_reader {
  public:
    id_reader(std::string_view bytes, const core::bloom_shape& shape, std::size_t blocks) noexcept
        : bytes_(bytes), shape_(shape), blocks_(blocks) {}

    [[nodiscard]] std::vector<listed_id> read_all() {
        auto ids = std::vector<listed_id>{};
        for (; !bytes_.empty(); ++index_)
            ids.push_back(read_id());
        return ids;
    }

  private:
    [[noreturn]] void refuse_id(std::string_view problem, std::string_view expected) const {
        refuse("id " + std::to_string(index_ + 1), problem, expected);
    }

    [[nodiscard]] std::string_view take(std::size_t size) {
        if (bytes_.size() < size)
            refuse_id("cut off", "block:u16, two positions of size:u8 and as many digits, words");
        const auto taken = bytes_.substr(0, size);
        bytes_.remove_prefix(size);
        return taken;
    }

    [[nodiscard]] std::size_t take_position() {
        const auto size = static_cast<unsigned char>(take(1).front());
        const auto position = detail::read_decimal(take(size), shape_.block_bytes() - 1);
        if (!position || *position < core::bloom_shape::head_bytes)
            refuse_id("a position is not in range", "a byte of a line in the block");
        return static_cast<std::size_t>(*position);
    }

    [[nodiscard]] listed_id read_id() {
        auto id = listed_id{};
        const auto number = detail::read_number<std::uint16_t>(&take(2).front());
        id.use = number >= counts_bits ? id_use::count
                 : number >= asks_only ? id_use::look_up
                                       : id_use::record;
        id.block = number - (number >= counts_bits ? counts_bits
                             : number >= asks_only ? asks_only
                                                   : 0U);
        if (id.block >= blocks_)
            refuse_id("no such block", "an index below the number of blocks");
        id.first = take_position();
        const auto last = take_position();
        if (last < id.first)
            refuse_id("it ends before it begins", "the first and the last byte");
        id.size = last - id.first + 1;
        id.words = take(shape_.line_bytes());
        if (id.use != id_use::count && id.size != id.words.size())
            refuse_id("not a line", "as many bytes as its words");
        return id;
    }

    std::string_view bytes_;
    const core::bloom_shape& shape_;
    std::size_t blocks_;
    std::size_t index_ = 0;
};

} // namespace

std::vector<listed_id> read_ids(std::string_view bytes, const core::bloom_shape& shape,
                                std::size_t blocks) {
    return id_reader{bytes, shape, blocks}.read_all();
}

} // namespace colimit::server_module
