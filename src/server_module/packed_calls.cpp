// SPDX-License-Identifier: BSL-1.0
//
// Divides keys into their shards.

#include <base/bytes.hpp>
#include <colimit/limits.hpp>
#include <server_module/packed_calls.hpp>
#include <server_module/refusal.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

namespace colimit::server_module {
namespace {

constexpr std::size_t sizes_at = 5; // of the arguments after the keys
constexpr std::size_t fields_at = 6;

[[nodiscard]] std::size_t size_at(std::string_view sizes, std::size_t shard) noexcept {
    return detail::read_number<std::uint16_t>(sizes.data() + 2 * shard);
}

} // namespace

std::size_t packed_keys(const script_arguments& from, bool has_ids) {
    const auto sizes = from.rest.size() > sizes_at ? api::text_of(from.rest[sizes_at]) : ""sv;
    if (sizes.empty() || sizes.size() % 2 != 0 || sizes.size() > from.keys.size())
        refuse("keys per shard", "not a list", "u16 for each shard, and its two hashes as keys");
    auto keys = std::size_t{0};
    for (std::size_t i = 0; i < sizes.size() / 2; ++i)
        keys += size_at(sizes, i);
    if (keys == 0 || keys != from.rest.size() - fields_at)
        refuse("keys per shard", "not the number of fields", "one argument for each key");
    if (from.keys.size() != sizes.size() + (has_ids ? keys : 0))
        refuse("numkeys", "not the number of hashes and records",
               "two hashes for each shard, and with ids a record for each key");
    return keys;
}

packed_calls::packed_calls(command_run& run, const core::compiled_policy& rules,
                           const script_arguments& from, key_results& results)
    : results_(results), policy_(rules), states_(rules), fields_(from.rest.subspan(fields_at)) {
    const auto sizes = api::text_of(from.rest[sizes_at]);
    auto first = std::size_t{0};
    writes_.resize(fields_.size());
    shards_.reserve(sizes.size() / 2);
    for (std::size_t i = 0; i < sizes.size() / 2; ++i) {
        const auto size = size_at(sizes, i);
        shards_.emplace_back(run, policy_, from.keys[2 * i], from.keys[2 * i + 1],
                             from.rest.subspan(fields_at + first, size), first);
        shards_.back().read(results_);
        first += size;
    }
}

void packed_calls::take_left(std::size_t key) {
    writer_ = &writers_[api::text_of(fields_[key])];
    if (*writer_)
        results_.set_found(key, writes_[**writer_]->value);
}

void packed_calls::begin(std::size_t key) {
    key_ = key;
    states_.load(results_.value(key));
}

void packed_calls::make(const listed_call& call, pass how) {
    if (results_.is_fine(key_))
        results_.add_granted(states_.make(request_of(call, how), call.times));
}

void packed_calls::finish() {
    const auto& change = states_.change();
    if (!results_.is_fine(key_) || !change.any)
        return;
    if (writer_ != nullptr) {
        if (*writer_)
            writes_[**writer_].reset();
        *writer_ = key_;
    }
    auto& write = writes_[key_].emplace(packed_write{.key = key_, .gives_back = change.gives_back});
    if (change.is_erased)
        return;
    write.value = change.value;
    write.matters = std::min(change.lifetime.matters, limits::max_recovery.count());
}

void packed_calls::write() {
    for (auto& shard : shards_)
        shard.write(std::span{writes_}.subspan(shard.first(), shard.size()), results_);
}

void packed_calls::send_values(const command_run& run) const noexcept {
    for (const auto& shard : shards_) {
        (void)api::send_array(run.where(), static_cast<long>(shard.size() + 1));
        (void)api::send_null(run.where());
        for (std::size_t i = 0; i < shard.size(); ++i)
            results_.send_value(run, shard.first() + i);
    }
}

} // namespace colimit::server_module
