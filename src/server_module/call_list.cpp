// SPDX-License-Identifier: BSL-1.0
//
// Reads the calls of a command.

#include <base/bytes.hpp>
#include <colimit/limits.hpp>
#include <core/rule_kind.hpp>
#include <core/state_encoding.hpp>
#include <core/verb_traits.hpp>
#include <server_module/call_list.hpp>
#include <server_module/policy_states.hpp>
#include <server_module/refusal.hpp>

#include <algorithm>
#include <optional>
#include <string>

namespace colimit::server_module {
namespace {

using detail::read_number;
using detail::verb;

constexpr std::size_t call_bytes = 2 + 1 + 2 + 8 + 8;
constexpr std::size_t digest_bytes = 8 + 8;

/// The bound on the work of a command: its length bounds only its entries. A call takes up to a
/// microsecond, and with each fact about a log or a sketch up to 20 more, and 32 bytes of
/// the reply. The library sends 1,024 calls, and 1,024 facts.
constexpr std::size_t max_work = 65'536;
constexpr std::size_t fact_work = 16;

[[noreturn]] void refuse_call(std::size_t index, std::string_view problem,
                              std::string_view expected) {
    refuse("call " + std::to_string(index + 1), problem, expected);
}

[[nodiscard]] std::optional<std::int64_t> whole(const char* at) noexcept {
    auto number = std::int64_t{0};
    return core::read_whole(at, 0, number) ? std::optional{number} : std::nullopt;
}

/// Refuses what the arithmetic does not have for such a policy.
void check_verb(std::size_t index, verb v, const core::compiled_policy& rules, call_form form) {
    if (v > verb::release || (form == call_form::together && v != verb::allow))
        refuse_call(index, "not a verb",
                    form == call_form::together ? "allow" : "allow to release");
    if (core::traits_of(v).has_holder)
        refuse_call(index, "not a verb of the policy", "none of a policy with a concurrent rule");
    if (v == verb::once && rules.has_log)
        refuse_call(index, "not a verb of the policy", "once of a policy without logs");
    if (form == call_form::with_ids && !core::traits_of(v).may_have_id)
        refuse_call(index, "not a verb that takes an id", "allow, charge or refund");
    if ((v == verb::reserve || v == verb::unreserve) && !rules.can_reserve)
        refuse_call(index, "cannot reserve", "a policy of buckets that refill continuously");
}

class reader {
  public:
    reader(std::string_view bytes, std::span<const policy_keys> policies, call_form form,
           std::int64_t now, std::vector<listed_call>& calls) noexcept
        : bytes_(bytes), policies_(policies), form_(form), now_(now), calls_(calls) {}

    /// Reads one byte, or two, per key: how often it is asked for.
    void read_times(std::size_t keys, std::size_t size) {
        for (std::size_t k = 0; k < keys; ++k) {
            const auto* at = bytes_.data() + k * size;
            append_one(k, size == 0   ? 1
                          : size == 1 ? read_number<std::uint8_t>(at)
                                      : read_number<std::uint16_t>(at));
        }
    }

    void read_all() {
        while (!bytes_.empty())
            read_call();
        if (form_ == call_form::with_ids && calls_.size() != policies_.front().keys)
            refuse_call(calls_.size(), "missing", "a call with an id for each key");
    }

  private:
    void append_one(std::size_t key, std::uint32_t times) {
        append({static_cast<std::uint32_t>(key),
                times,
                {.verb = verb::allow, .cost = 1, .at_least = 1, .now = now_}},
               *policies_.front().rules);
    }

    void append(const listed_call& call, const core::compiled_policy& rules) {
        if (call.times == 0)
            refuse_call(calls_.size(), "times is 0", "1 to 65535");
        const auto facts = std::ranges::count_if(rules.rules(), [](const auto& l) {
            return core::form_of(l.kind) != core::state_form::numbers;
        });
        const auto times =
            facts == 0 && are_made_at_once(rules, call.request, call.times) ? 1 : call.times;
        work_ += times * (1 + fact_work * static_cast<std::size_t>(facts));
        if (work_ > max_work)
            refuse_call(calls_.size(), "too many calls in one command",
                        "at most 65536, where each fact about a log or a sketch counts as 16 "
                        "more; equal allows of a policy without these count as one");
        calls_.push_back(call);
    }

    /// Returns the policy of a key: calls are in the order of the policies.
    [[nodiscard]] const core::compiled_policy& policy_of(std::size_t key) {
        while (key >= first_ + policies_[policy_].keys) {
            first_ += policies_[policy_].keys;
            if (++policy_ == policies_.size())
                refuse_call(calls_.size(), "no such key", "an index below the number of keys");
        }
        if (key < first_)
            refuse_call(calls_.size(), "the key of an earlier policy", "keys in their order");
        return *policies_[policy_].rules;
    }

    void read_call() {
        const auto index = calls_.size();
        if (bytes_.size() < call_bytes)
            refuse_call(index, "cut off", "key:u16 verb:u8 times:u16 cost:f64 at_least:f64");
        const auto* at = bytes_.data();
        const auto key = read_number<std::uint16_t>(at);
        const auto v = static_cast<verb>(read_number<std::uint8_t>(at + 2));
        const auto times = read_number<std::uint16_t>(at + 3);
        const auto cost = whole(at + 5);
        const auto at_least = whole(at + 13);
        if (!cost || !at_least)
            refuse_call(index, "cost or at_least is not in range",
                        "whole numbers from 0 to 9007199254740991");
        const auto& rules = policy_of(key);
        check_verb(index, v, rules, form_);
        if (core::traits_of(v).has_duration && *cost > limits::max_recovery.count())
            refuse_call(index, "the duration is too long", "at most 36525 days in microseconds");
        if (core::traits_of(v).tests_amount && *at_least > *cost)
            refuse_call(index, "at_least is above cost", "at most cost");
        bytes_.remove_prefix(call_bytes);
        auto request =
            detail::call_request{.verb = v, .cost = *cost, .at_least = *at_least, .now = now_};
        if (rules.has_distinct)
            read_member(index, request);
        auto call = listed_call{key, times, request};
        if (form_ == call_form::with_ids)
            read_digests(index, call);
        append(call, rules);
    }

    void read_member(std::size_t index, detail::call_request& request) {
        const auto* at = bytes_.data();
        const auto size = bytes_.size() < 2 ? std::size_t{0} : read_number<std::uint16_t>(at);
        if (bytes_.size() < 2 + size)
            refuse_call(index, "a member is cut off", "size:u16 and as many bytes");
        request.member = bytes_.substr(2, size);
        request.has_member = true;
        bytes_.remove_prefix(2 + size);
    }

    void read_digests(std::size_t index, listed_call& call) {
        if (call.key != index || call.times != 1)
            refuse_call(index, "not the next key, or made several times",
                        "one call for each key, in their order, one time");
        const auto* at = bytes_.data();
        if (bytes_.size() < digest_bytes)
            refuse_call(index, "the digests are cut off", "policy:u64 member:u64");
        call.digests = {.policy = read_number<std::uint64_t>(at),
                        .member = read_number<std::uint64_t>(at + sizeof(std::uint64_t))};
        bytes_.remove_prefix(digest_bytes);
    }

    std::string_view bytes_;
    std::span<const policy_keys> policies_;
    std::size_t policy_ = 0;
    std::size_t first_ = 0; ///< the first key of the policy
    call_form form_;
    std::int64_t now_;
    std::size_t work_ = 0;
    std::vector<listed_call>& calls_;
};

} // namespace

void read_calls(std::string_view bytes, std::span<const policy_keys> policies, call_form form,
                std::int64_t now, std::vector<listed_call>& calls) {
    auto from = reader{bytes, policies, form, now, calls};
    const auto keys = policies.front().keys;
    const auto has_short_form = bytes.empty() || bytes.size() == keys || bytes.size() == 2 * keys;
    if (form != call_form::any || !has_short_form)
        return from.read_all();
    check_verb(0, verb::allow, *policies.front().rules, form);
    from.read_times(keys, bytes.size() / keys);
}

} // namespace colimit::server_module
