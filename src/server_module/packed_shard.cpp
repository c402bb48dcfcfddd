// SPDX-License-Identifier: BSL-1.0
//
// Reads and writes the hashes of a shard.

#include <base/bytes.hpp>
#include <colimit/limits.hpp>
#include <server_module/packed_shard.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace colimit::server_module {
namespace {

using detail::append_double;
using detail::append_number;
using detail::read_number;

constexpr std::size_t head_size = 80; // long on purpose: such a hash is a table from the beginning
constexpr std::size_t whole_size = core::value_head_bytes + core::value_state_bytes;

/// Reads a time; what is not a whole number of microseconds up to a century is 0.
[[nodiscard]] std::int64_t span_at(const char* at) noexcept {
    const auto us = read_number<double>(at);
    const auto fits = us >= 0 && us <= static_cast<double>(limits::max_recovery.count());
    return fits && us == std::floor(us) ? static_cast<std::int64_t>(us) : 0;
}

} // namespace

/// The arguments of a HSET; the server counts references to those that the module creates.
class packed_shard::arguments {
  public:
    arguments(api::context* where, std::size_t states) : where_(where) {
        all_.reserve(2 + 2 * states);
        created_.reserve(2 + states);
    }
    arguments(const arguments&) = delete;
    arguments& operator=(const arguments&) = delete;
    ~arguments() {
        for (auto* s : created_)
            api::free_string(where_, s);
    }

    void add(api::string* text) { all_.push_back(text); }
    void add(std::string_view text) {
        created_.push_back(api::create_string(where_, text.data(), text.size()));
        all_.push_back(created_.back());
    }
    [[nodiscard]] std::span<api::string*> all() noexcept { return all_; }

  private:
    api::context* where_;
    std::vector<api::string*> all_{};
    std::vector<api::string*> created_{};
};

/// A hash without a head gets the policy's numbers, and begins a new generation.
packed_shard::head packed_shard::read_head(std::optional<std::string_view> bytes) const noexcept {
    auto found = head{.numbers = policy_.own};
    if (!bytes || bytes->size() != head_size)
        return found;
    const auto* at = bytes->data();
    found.since = read_number<double>(at);
    found.ends = read_number<double>(at + 8);
    found.numbers = read_number<core::brief_numbers>(at + 16);
    found.longest = span_at(at + 16 + core::fixed_bytes);
    found.before = span_at(at + 24 + core::fixed_bytes);
    return found;
}

std::string packed_shard::head_bytes() const {
    auto bytes = std::string{};
    bytes.reserve(head_size);
    append_number(bytes, head_.since);
    append_number(bytes, head_.ends);
    append_number(bytes, head_.numbers);
    append_double(bytes, head_.longest);
    append_double(bytes, head_.before);
    bytes.resize(head_size, '\0');
    return bytes;
}

/// Returns for how long the new hash is that of the current generation.
double packed_shard::lasts() const noexcept {
    return static_cast<double>(std::max({policy_.generation, head_.longest, head_.before}));
}

/// Returns whether states of the policy's generation can be written without changing the head.
bool packed_shard::is_open() const noexcept {
    const auto now = static_cast<double>(run_.now());
    return head_.since >= 0 && head_.since <= now && now - head_.since < lasts() &&
           head_.longest >= policy_.generation && head_.ends >= now + lasts();
}

void packed_shard::set_found(key_results& results, std::size_t index, std::string_view value,
                             const head& of) const {
    if (value.size() != core::moving_bytes || of.numbers == policy_.own)
        return results.set_found(first_ + index, value);
    auto whole = std::array<char, whole_size>{};
    std::ranges::copy(of.numbers, whole.begin() + core::value_head_bytes);
    std::ranges::copy(value, whole.begin() + core::value_head_bytes + core::fixed_bytes);
    results.set_found(first_ + index, std::string_view{whole.data(), whole.size()});
}

void packed_shard::read(key_results& results) {
    const auto found = try_read(run_, "HMGET", "scv", new_, "", fields_.data(), fields_.size());
    if (found.is_error()) {
        for (std::size_t i = 0; i < size(); ++i)
            results.fail(first_ + i, found.error());
        return;
    }
    head_ = read_head(found[0]);
    auto missing = std::vector<std::size_t>{};
    for (std::size_t i = 0; i < size(); ++i) {
        if (const auto value = found[i + 1])
            set_found(results, i, *value, head_);
        else
            missing.push_back(i);
    }
    if (!missing.empty())
        read_old(results, missing);
}

void packed_shard::read_old(key_results& results, std::span<const std::size_t> missing) {
    auto fields = std::vector<api::string*>{};
    for (const auto i : missing)
        fields.push_back(fields_[i]);
    const auto found = try_read(run_, "HMGET", "scv", old_, "", fields.data(), fields.size());
    if (found.is_error()) {
        for (std::size_t i = 0; i < size(); ++i)
            results.fail(first_ + i, found.error());
        return;
    }
    const auto old_head = read_head(found[0]);
    for (std::size_t i = 0; i < missing.size(); ++i) {
        if (const auto value = found[i + 1])
            set_found(results, missing[i], *value, old_head);
        else
            results.set_found(first_ + missing[i], std::nullopt);
    }
}

/// Erases a state from both hashes.
void packed_shard::erase(const packed_write& state, key_results& results) {
    for (auto* hash : {old_, new_}) {
        const auto done = try_change(run_, "HDEL", "!ss", hash, fields_[state.key - first_]);
        if (done.is_error())
            return fail({&state, 1}, done.error(), results);
    }
}

/// Writes a state that returns quota on a full server, which replaces one of the same size.
void packed_shard::rewrite(const packed_write& state, key_results& results) {
    auto* field = fields_[state.key - first_];
    auto done = try_change(run_, "HDEL", "!ss", new_, field);
    if (!done.is_error())
        done =
            try_change(run_, "HSET", "!ssb", new_, field, state.value->data(), state.value->size());
    if (done.is_error())
        results.fail(state.key, done.error());
}

/// Makes the new hash the old one, unless the states of the old one still matter.
void packed_shard::begin_generation() {
    const auto older = server_module::read(run_, "HMGET", "sc", old_, ""); // not another type
    const auto longest = read_head(older[0]).longest;
    const auto now = static_cast<double>(run_.now());
    if (now - head_.since < static_cast<double>(longest)) {
        head_.before = longest;
        return;
    }
    (void)change(run_, "UNLINK", "!s", old_);
    (void)change(run_, "RENAME", "!ss", new_, old_);
    head_ = {.since = now, .numbers = policy_.own, .before = head_.longest};
}

/// Prepares the head for states that matter for so long. Returns when the hash expires.
expiry packed_shard::open(std::int64_t matters) {
    const auto now = static_cast<double>(run_.now());
    const auto has_begun = head_.since >= 0 && head_.since <= now;
    if (!has_begun) // there is none, or the clock was set back
        head_.since = now;
    else if (now - head_.since >= lasts())
        begin_generation();
    head_.longest = std::max(head_.longest, matters);
    const auto when =
        run_.expiry_after(2 * static_cast<double>(std::max(head_.longest, head_.before)));
    head_.ends = static_cast<double>(when.promised_us);
    return when;
}

/// @throws call_failure
void packed_shard::write_all(std::span<const packed_write> states, std::int64_t matters) {
    auto to = arguments{run_.where(), states.size()};
    auto when = std::optional<expiry>{};
    if (!is_open() || matters > head_.longest) {
        when = open(matters);
        to.add(""sv);
        to.add(head_bytes());
    }
    for (const auto& s : states) {
        to.add(fields_[s.key - first_]);
        to.add(std::string_view{*s.value});
    }
    (void)change(run_, "HSET", "!sv", new_, to.all().data(), to.all().size());
    if (when)
        (void)change(run_, "PEXPIREAT", "!sl", new_, static_cast<long long>(when->at_ms));
}

void packed_shard::write(std::span<std::optional<packed_write>> states, key_results& results) {
    // Values are brief if they have the numbers that the hash had before this command.
    const auto own = std::string_view{policy_.own.data(), core::fixed_bytes};
    const auto is_own = policy_.has_brief_values && head_.numbers == policy_.own;
    auto stored = std::vector<packed_write>{};
    auto matters = policy_.generation;
    for (auto& s : states) {
        if (!s)
            continue;
        if (!s->value) {
            erase(*s, results);
            continue;
        }
        if (is_own && s->value->size() == whole_size &&
            s->value->substr(core::value_head_bytes, core::fixed_bytes) == own)
            s->value->erase(0, core::value_head_bytes + core::fixed_bytes);
        matters = std::max(matters, s->matters);
        stored.push_back(std::move(*s));
    }
    if (stored.empty())
        return;
    if (run_.is_full()) {
        const auto may_rewrite = is_open() && matters <= head_.longest;
        for (const auto& s : stored)
            if (may_rewrite && s.gives_back)
                rewrite(s, results);
            else
                results.fail(s.key, over_maxmemory);
        return;
    }
    try {
        write_all(stored, matters);
    } catch (const call_failure& error) {
        fail(stored, error.what(), results);
    }
}

/// Fails all keys of the fields, as calls with ids may have one field, of which only the last
/// writes.
void packed_shard::fail(std::span<const packed_write> states, std::string_view error,
                        key_results& results) {
    auto lost = std::set<std::string_view>{};
    for (const auto& s : states)
        lost.insert(api::text_of(fields_[s.key - first_]));
    for (std::size_t i = 0; i < size(); ++i)
        if (lost.contains(api::text_of(fields_[i])))
            results.fail(first_ + i, error);
}

} // namespace colimit::server_module
