// SPDX-License-Identifier: BSL-1.0
//
// A batch from its first call to its last decision. The reply brings the values that the script
// found; the C++ twin of the script then goes through the calls of each key and decides as the
// script did. Both count what they granted: should they ever differ, nobody gets a decision.

#include <redis/batch.hpp>
#include <redis/script.hpp>
#include <redis/wire.hpp>

#include <algorithm>
#include <bit>
#include <charconv>

namespace colimit::redis {
namespace {

/// Calls in one batch, however many of them are on the same key: more would keep the server from
/// its other clients for milliseconds.
constexpr std::size_t calls_per_batch = 1024;

/// Where a slot of the index leads when there is nothing.
constexpr std::uint32_t no_entry = UINT32_MAX;

/// The last element of a reply.
struct reply_header {
    std::uint64_t nonce = 0;
    std::int64_t seconds = 0;
    std::int64_t microseconds = 0;
    std::int64_t granted = 0;
    std::string_view statuses;
};

template<class T>
[[nodiscard]] bool take_number(std::string_view& text, T& value) noexcept {
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc{} || end == text.data() + text.size() || *end != ' ')
        return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
    return true;
}

[[nodiscard]] std::optional<reply_header> read_header(std::string_view text) noexcept {
    auto h = reply_header{};
    if (!take_number(text, h.nonce) || !take_number(text, h.seconds) ||
        !take_number(text, h.microseconds) || !take_number(text, h.granted))
        return std::nullopt;
    const auto latest = limits::latest_time;
    if (h.seconds < 0 || h.seconds > latest / 1'000'000 || h.microseconds < 0 ||
        h.microseconds > latest)
        return std::nullopt;
    h.statuses = text;
    return h;
}

[[nodiscard]] bool is_plain(const detail::question& asked) noexcept {
    return asked.verb == detail::verb::allow && asked.cost == 1 && asked.at_least == 1;
}

[[nodiscard]] char status_of(const reply_header& h, std::size_t key) noexcept {
    return h.statuses == "-" ? '.' : h.statuses[key];
}

void append_decimal(std::string& out, std::uint64_t value) {
    char digits[20];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    resp::append_bulk(out, {digits, static_cast<std::size_t>(end - digits)});
}

} // namespace

batch::batch(std::size_t most_keys)
    : index_(std::bit_ceil(4 * most_keys)), most_keys_(most_keys),
      most_calls_(std::max(most_keys, calls_per_batch)) {
    entries_.reserve(most_keys_);
}

void batch::start(const policy_pointer& policy, std::int64_t clock, std::uint64_t nonce) {
    policy_ = policy;
    clock_ = clock;
    nonce_ = nonce;
    keys_.clear();
    entries_.clear();
    calls_.clear();
    std::ranges::fill(index_, no_entry);
    live_ = 0;
    sent_keys_ = 0;
    plain_ = true;
    encoded = false;
    with_script = false;
}

bool batch::fits(const policy_pointer& policy, std::int64_t clock) const noexcept {
    const auto same =
        policy_ == policy || (policy_->name == policy->name && policy_->wire == policy->wire);
    return same && clock_ == clock && !encoded && !is_full();
}

bool batch::is_full() const noexcept {
    return entries_.size() == most_keys_ || calls_.size() == most_calls_;
}

std::uint32_t batch::find_or_append(std::uint64_t hash) {
    const auto mask = index_.size() - 1;
    auto slot = static_cast<std::size_t>(hash) & mask;
    for (; index_[slot] != no_entry; slot = (slot + 1) & mask) {
        const auto& e = entries_[index_[slot]];
        if (e.hash == hash && key_bytes(e) == scratch_)
            return index_[slot];
    }
    const auto before = keys_.size();
    resp::append_bulk(keys_, scratch_);
    const auto made = static_cast<std::uint32_t>(entries_.size());
    entries_.push_back({.hash = hash,
                        .offset = static_cast<std::uint32_t>(keys_.size() - scratch_.size() - 2),
                        .size = static_cast<std::uint32_t>(scratch_.size()),
                        .bulk_offset = static_cast<std::uint32_t>(before),
                        .first_call = no_entry,
                        .last_call = no_entry,
                        .live = 0});
    index_[slot] = made;
    return made;
}

void batch::add(detail::operation& op, std::string_view prefix, std::string_view key) {
    const auto hash = key_hash(key);
    scratch_.clear();
    append_key(scratch_, {prefix, policy_->name, key, hash});
    const auto made = static_cast<std::uint32_t>(calls_.size());
    calls_.push_back({.op = nullptr, .asked = op.asked, .entry = no_entry, .next = no_entry});
    auto place = no_entry;
    try {
        place = find_or_append(hash);
    } catch (...) {
        calls_.pop_back();
        throw;
    }
    auto& e = entries_[place];
    (e.first_call == no_entry ? e.first_call : calls_[e.last_call].next) = made;
    plain_ = plain_ && e.first_call == made && is_plain(op.asked);
    e.last_call = made;
    ++e.live;
    ++live_;
    calls_[made].entry = place;
    calls_[made].op = &op;
    op.place = this;
    op.index = made;
}

void batch::drop(std::uint32_t index) noexcept {
    auto& c = calls_[index];
    c.op = nullptr;
    --live_;
    if (!encoded) {
        c.withdrawn = true;
        --entries_[c.entry].live;
    }
}

void batch::take_back() noexcept {
    encoded = false;
    for (auto& c : calls_)
        if (c.op == nullptr && !c.withdrawn) {
            c.withdrawn = true;
            --entries_[c.entry].live;
        }
}

/// Writes the calls grouped by key. Answers how many keys there are.
std::uint32_t batch::append_calls(std::string& out) const {
    auto key = std::uint16_t{0};
    for (const auto& e : entries_) {
        if (e.live == 0)
            continue;
        for (auto i = e.first_call; i != no_entry && !plain_; i = calls_[i].next)
            if (!calls_[i].withdrawn)
                append_call(out, key, calls_[i].asked);
        ++key;
    }
    return key;
}

void batch::encode(std::string& out, std::string_view minimum_ttl) {
    encoded = true;
    scratch_.clear();
    sent_keys_ = append_calls(scratch_);
    if (with_script)
        resp::append_command(out, {"SCRIPT", "LOAD", bucket_script.body});
    resp::append_array(out, sent_keys_ + 8U);
    if (with_script) {
        resp::append_bulk(out, "EVAL");
        resp::append_bulk(out, bucket_script.body);
    } else {
        resp::append_bulk(out, "EVALSHA");
        resp::append_bulk(out, bucket_script.sha1);
    }
    append_decimal(out, sent_keys_);
    if (sent_keys_ == entries_.size()) {
        out.append(keys_);
    } else {
        for (const auto& e : entries_)
            if (e.live != 0)
                out.append(keys_, e.bulk_offset, e.offset + e.size + 2 - e.bulk_offset);
    }
    resp::append_bulk(out, policy_->wire);
    append_decimal(out, nonce_);
    if (clock_ == detail::store_clock)
        resp::append_bulk(out, "");
    else
        append_decimal(out, static_cast<std::uint64_t>(clock_));
    resp::append_bulk(out, minimum_ttl);
    resp::append_bulk(out, scratch_);
}

void batch::decide(const entry& e, std::optional<std::string_view> value, std::int64_t now,
                   std::int64_t& granted) {
    auto state = decode_value(policy_->plan, value);
    decision nobody;
    for (auto i = e.first_call; i != no_entry; i = calls_[i].next) {
        auto& c = calls_[i];
        if (c.withdrawn)
            continue;
        c.asked.now = now;
        auto& answer = c.op != nullptr ? c.op->result : nobody;
        (void)core::evaluate(policy_->plan, state, c.asked, answer);
        const auto asks = c.asked.verb == detail::verb::allow || c.asked.verb == detail::verb::peek;
        granted += asks && answer.allowed() ? 1 : 0;
    }
}

void batch::fail(const entry& e, errc code) noexcept {
    for (auto i = e.first_call; i != no_entry; i = calls_[i].next)
        if (calls_[i].op != nullptr)
            calls_[i].op->ec = code;
}

void batch::fail_all(errc code) noexcept {
    for (auto& c : calls_)
        if (c.op != nullptr)
            c.op->ec = code;
}

std::optional<remedy> batch::read_reply(const resp::decoder& reply, std::string_view bytes) {
    const auto nodes = reply.nodes();
    if (nodes.size() != sent_keys_ + 2U || nodes.front().kind != resp::kind::array ||
        nodes.back().kind != resp::kind::bulk)
        return std::nullopt;
    const auto header = read_header(reply.text(nodes.back(), bytes));
    if (!header || header->nonce != nonce_ ||
        (header->statuses != "-" && header->statuses.size() != sent_keys_))
        return std::nullopt;

    const auto now =
        clock_ == detail::store_clock ? header->seconds * 1'000'000 + header->microseconds : clock_;
    auto granted = std::int64_t{0};
    auto failed = false;
    auto worst = remedy::keep;
    auto key = std::size_t{0};
    for (const auto& e : entries_) {
        if (e.live == 0)
            continue;
        const auto& found = nodes[key + 1];
        const auto status = status_of(*header, key++);
        const auto text = reply.text(found, bytes);
        if (status == '.') {
            if (found.kind != resp::kind::bulk && found.kind != resp::kind::null)
                return std::nullopt;
            decide(e, found.kind == resp::kind::null ? std::nullopt : std::optional{text}, now,
                   granted);
            continue;
        }
        failed = true;
        const auto meaning =
            status == 'c' ? reply_error{errc::key_conflict, remedy::keep} : classify(text);
        worst = std::max(worst, meaning.remedy);
        fail(e, meaning.code);
    }
    if (!failed && granted != header->granted)
        fail_all(errc::corrupt_state);
    return worst;
}

} // namespace colimit::redis
