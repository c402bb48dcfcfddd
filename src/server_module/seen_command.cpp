// SPDX-License-Identifier: BSL-1.0
//
// Looks up and records the ids of a command, block by block.

#include <base/bytes.hpp>
#include <colimit/error.hpp>
#include <core/policy_encoding.hpp>
#include <server_module/bitmap.hpp>
#include <server_module/command_entry.hpp>
#include <server_module/key_results.hpp>
#include <server_module/refusal.hpp>
#include <server_module/script_arguments.hpp>
#include <server_module/seen_command.hpp>
#include <server_module/seen_ids.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace colimit::server_module {
namespace {

/// @throws refusal
[[nodiscard]] core::bloom_shape read_filter(std::string_view bytes) {
    try {
        return core::decode_filter(bytes);
    } catch (const error& e) {
        throw refusal{e.reason()};
    }
}

class seen {
  public:
    seen(api::context* where, const script_arguments& from)
        : from_(from), run_(where, from.keys[0], from.clock(where), from.least_ttl()),
          shape_(read_filter(from.policy())), blocks_(from.keys.size() / 2),
          generation_(run_.now() / shape_.ttl), results_(blocks_) {
        if (from.keys.size() % 2 != 0)
            refuse("numkeys", "an odd number", "the blocks of both generations");
        if (from.rest.size() != fewest_arguments)
            refuse("arguments", "too many", "filter, nonce, clock, shortest TTL and ids");
        ids_ = read_ids(from.calls(), shape_, blocks_);
    }

    void make() {
        auto block = std::optional<std::size_t>{};
        for (const auto& id : ids_) {
            if (id.block != block) {
                block = id.block;
                begin(id.block);
            }
            if (results_.is_fine(id.block))
                find(id);
        }
        current_.reset();
        other_.reset();
        run_.end(seen_name, from_.all, from_.clock_at());
    }

    void reply() {
        (void)api::send_array(run_.where(),
                              static_cast<long>(blocks_ + (facts_.empty() ? 1U : 2U)));
        for (std::size_t k = 0; k < blocks_; ++k)
            results_.send_value(run_, k);
        if (!facts_.empty())
            (void)api::send_string(run_.where(), facts_.data(), facts_.size());
        results_.send_header(run_, from_.nonce());
    }

  private:
    /// The next generation uses the bitmap of the previous one, and may exist if the clock was set
    /// back.
    void begin(std::size_t block) {
        const auto name_of = [&](std::int64_t number) {
            return from_.keys[static_cast<std::size_t>(number % 2) * blocks_ + block];
        };
        block_ = block;
        facts_before_ = facts_.size();
        current_.reset();
        other_.reset();
        auto* const current = name_of(generation_);
        auto* const other = name_of(generation_ + 1);
        if (api::text_of(current) == api::text_of(other))
            return fail("ERR the block has one key for both generations");
        current_.emplace(run_, current, shape_, generation_, generation_);
        other_.emplace(run_, other, shape_, generation_ + 1, generation_);
        if (current_->is_foreign() || other_->is_foreign())
            fail(wrong_type);
    }

    void fail(std::string_view error) {
        results_.fail(block_, error);
        facts_.resize(facts_before_);
    }

    void find(const listed_id& id) {
        if (id.use == id_use::count) {
            for (const auto* bits : {&*current_, &*other_})
                detail::append_double(facts_, bits->exists() ? bits->count(id.first, id.size) : 0);
        } else if (id.use == id_use::record && is_late() && run_.is_full()) {
            fail(over_maxmemory);
        } else {
            if (id.use == id_use::record)
                end_lateness();
            look_up(id);
        }
    }

    void look_up(const listed_id& id) {
        const auto is_new = !is_known(id);
        if (is_new && id.use == id_use::record) {
            if (run_.is_full())
                return fail(over_maxmemory);
            record(id);
        }
        facts_.push_back(is_new ? '0' : '1');
        results_.add_granted(is_new ? 1 : 0);
    }

    [[nodiscard]] bool is_late() const noexcept { return current_->is_late() || other_->is_late(); }

    [[nodiscard]] bool is_known(const listed_id& id) const noexcept {
        return (other_->exists() && other_->has_all(id.first, id.words)) ||
               (current_->exists() && current_->has_all(id.first, id.words));
    }

    /// Moves bitmaps of later generations to the present.
    void end_lateness() {
        for (auto* bits : {&*current_, &*other_})
            if (bits->is_late())
                bits->set_generation();
    }

    void record(const listed_id& id) {
        if (!current_->exists())
            current_->create();
        current_->set_all(id.first, id.words);
    }

    const script_arguments& from_;
    command_run run_;
    core::bloom_shape shape_;
    std::size_t blocks_;
    std::int64_t generation_;
    key_results results_;
    std::vector<listed_id> ids_{};
    std::string facts_{};

    std::size_t block_ = 0;        ///< the current one
    std::size_t facts_before_ = 0; ///< bytes of earlier blocks
    std::optional<bitmap> current_{};
    std::optional<bitmap> other_{};
};

} // namespace

int seen_command(api::context* where, api::string** words, int count) noexcept {
    return enter(where, seen_name, [&] {
        if (api::is_keys_request(where) != 0)
            return tell_keys(where, words, count);
        const auto from =
            script_arguments::read(std::span{words, static_cast<std::size_t>(count)}.subspan(1));
        auto command = seen{where, from};
        command.make();
        command.reply();
    });
}

} // namespace colimit::server_module
