// SPDX-License-Identifier: BSL-1.0
//
// From the arguments of a command to its calls, key by key, and to the reply.

#include <base/bytes.hpp>
#include <core/rule_kind.hpp>
#include <core/wire_version.hpp>
#include <server_module/check_command.hpp>
#include <server_module/command_entry.hpp>
#include <server_module/large_calls.hpp>
#include <server_module/packed_calls.hpp>
#include <server_module/plain_calls.hpp>
#include <server_module/policy_argument.hpp>
#include <server_module/refusal.hpp>
#include <server_module/repeated_names.hpp>
#include <server_module/request_records.hpp>
#include <server_module/script_arguments.hpp>
#include <server_module/string_value.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace colimit::server_module {
namespace {

/// A policy of the command and its keys: `keys` of them from arguments.keys[base] on, then as many
/// logs, then as many sketches for each slot that has one. Their results are from `first` on. If
/// the calls have ids there is one policy, and a record for each key after all others.
struct policy_group {
    core::compiled_policy rules;
    std::size_t base = 0;
    std::size_t first = 0;
    std::size_t keys = 0;

    [[nodiscard]] std::size_t keys_each() const noexcept {
        return 1 + (rules.has_log ? 1U : 0U) +
               static_cast<std::size_t>(std::ranges::count_if(rules.rules(), core::has_sketch));
    }
};

/// Returns the policies and where their keys are. @throws refusal
[[nodiscard]] std::vector<policy_group> read_groups(const script_arguments& from, bool has_ids) {
    auto groups = std::vector<policy_group>{};
    auto policies = from.policy();
    const auto together = from.rest.size() > fewest_arguments;
    const auto counts = together ? api::text_of(from.rest[5]) : std::string_view{};
    const auto* counts_at = counts.data();
    if (together && (counts.empty() || counts.size() % 2 != 0))
        refuse("keys per policy", "not a list", "u16 for each policy");
    auto base = std::size_t{0};
    auto first = std::size_t{0};
    for (std::size_t at = 0; at == 0 || at < counts.size(); at += 2) {
        auto group = policy_group{.rules = take_policy(policies), .base = base, .first = first};
        if (group.rules.has_slots)
            refuse("policy", "has a concurrent rule, which the script executes", "other rules");
        if (group.rules.packed && groups.empty() && policies.empty()) {
            group.keys = packed_keys(from, has_ids);
            return {group};
        }
        if (has_ids && together)
            refuse("shortest TTL", "calls of `all or nothing` have no ids", "one number");
        if (group.rules.packed)
            refuse("policy", "packed", "no other policy, or states of their own");
        const auto left = from.keys.size() - base;
        group.keys = together ? detail::read_number<std::uint16_t>(counts_at + at)
                              : left / (group.keys_each() + (has_ids ? 1 : 0));
        const auto used = group.keys * (group.keys_each() + (has_ids ? 1 : 0));
        if (group.keys == 0 || used > left)
            refuse("numkeys", "too few keys", "the keys of each policy, its logs and sketches");
        base += used;
        first += group.keys;
        groups.push_back(group);
    }
    if (base != from.keys.size())
        refuse("numkeys", "more keys than the policies have", "no other keys");
    if (!policies.empty())
        refuse("policy", "more bytes than its rules have", "no other bytes");
    return groups;
}

class check {
  public:
    check(api::context* where, const script_arguments& from)
        : from_(from), run_(where, from.keys[0], from.clock(where), from.least_ttl()),
          record_ttl_(from.record_ttl()), groups_(read_groups(from, record_ttl_.has_value())),
          together_(from.rest.size() > fewest_arguments && !groups_.front().rules.packed),
          results_(groups_.back().first + groups_.back().keys) {
        auto policies = std::vector<policy_keys>{};
        for (const auto& g : groups_)
            policies.push_back({&g.rules, g.keys});
        const auto form = record_ttl_ ? call_form::with_ids
                          : together_ ? call_form::together
                                      : call_form::any;
        read_calls(from.calls(), policies, form, run_.now(), calls_);
        for (const auto& g : groups_)
            stores_.push_back(store_of(g));
        if (record_ttl_)
            records_.emplace(run_, from.keys.last(results_.size()), *record_ttl_, results_);
        else
            read_repeated();
    }

    void make() {
        if (records_)
            make_once();
        else if (together_)
            make_together();
        else
            make_all(pass::make);
        set_ttls(run_);
        if (packed_ != nullptr)
            packed_->write();
        if (records_)
            records_->undo_failed();
        run_.end(check_name, from_.all, from_.clock_at());
    }

    void reply() {
        const auto values = packed_ != nullptr ? packed_->shards() : results_.size();
        (void)api::send_array(run_.where(), static_cast<long>(values + (results_.facts ? 2 : 1)));
        if (packed_ != nullptr)
            packed_->send_values(run_);
        else
            for (std::size_t k = 0; k < values; ++k)
                results_.send_value(run_, k);
        if (results_.facts)
            (void)api::send_string(run_.where(), results_.facts->data(), results_.facts->size());
        results_.send_header(run_, from_.nonce());
    }

  private:
    [[nodiscard]] std::unique_ptr<key_calls> store_of(const policy_group& g) {
        if (g.rules.packed) {
            auto packed = std::make_unique<packed_calls>(run_, g.rules, from_, results_);
            packed_ = packed.get();
            return packed;
        }
        if (g.rules.has_log || g.rules.has_distinct)
            return std::make_unique<large_calls>(
                run_, g.rules, from_.keys.subspan(g.base, g.keys * g.keys_each()), g.keys, g.first,
                record_ttl_.has_value(), results_);
        return std::make_unique<plain_calls>(run_, g.rules, from_.keys.subspan(g.base, g.keys),
                                             g.first, results_);
    }

    /// The script reads all values before it writes. That matters if a key is named twice: all of
    /// its calls begin with the value from before the command.
    void read_repeated() {
        if (packed_ != nullptr)
            return;
        auto names = std::vector<api::string*>{};
        for (const auto& g : groups_) {
            const auto own = from_.keys.subspan(g.base, g.keys);
            names.insert(names.end(), own.begin(), own.end());
        }
        if (have_repeated(names))
            for (std::size_t k = 0; k < names.size(); ++k)
                results_.set_found(k, string_value{run_, names[k]}.read());
    }

    /// Makes all calls of a pass. If one of `all or nothing` fails, those after it are not made.
    void make_all(pass how) {
        auto group = std::size_t{0};
        key_calls* current = nullptr;
        auto key = std::uint32_t{0};
        for (const auto& call : calls_) {
            if (current == nullptr || call.key != key) {
                if (current != nullptr)
                    current->finish();
                key = call.key;
                while (key >= groups_[group].first + groups_[group].keys)
                    ++group;
                current = stores_[group].get();
                current->begin(key);
            }
            if (!together_ || how != pass::make || results_.all_are_fine())
                current->make(call, how);
        }
        if (current != nullptr)
            current->finish();
    }

    /// Makes those calls of which no record exists.
    void make_once() {
        auto& store = *stores_.front();
        for (const auto& call : calls_) {
            if (!records_->admit(call.key))
                continue;
            const auto facts_before = results_.facts ? results_.facts->size() : 0;
            if (packed_ != nullptr)
                packed_->take_left(call.key);
            store.begin(call.key);
            records_->require_room(call.key);
            store.make(call, pass::make);
            store.finish();
            if (results_.is_fine(call.key))
                records_->write(call, results_.facts
                                          ? std::string_view{*results_.facts}.substr(facts_before)
                                          : std::string_view{});
        }
    }

    /// Makes all calls, or none.
    void make_together() {
        make_all(pass::ask);
        const auto are_granted = results_.granted() == static_cast<std::int64_t>(calls_.size());
        results_.forget_granted();
        if (!results_.all_are_fine())
            return;
        auto told = std::exchange(results_.facts, std::nullopt);
        if (are_granted) {
            make_all(pass::make);
            if (!results_.all_are_fine() &&
                !results_.is_fine(calls_.front().key)) // no other was made
                results_.forget_granted();
            return;
        }
        if (std::ranges::any_of(stores_, [](const auto& s) { return s->finds_stale(); }))
            make_all(pass::move);
        results_.facts = std::move(told);
    }

    const script_arguments& from_;
    command_run run_;
    std::optional<std::int64_t> record_ttl_; ///< if the calls have ids
    std::vector<policy_group> groups_;
    bool together_;
    key_results results_;
    std::vector<listed_call> calls_{};
    std::vector<std::unique_ptr<key_calls>> stores_{};
    packed_calls* packed_ = nullptr; ///< one of the stores, if the policy is packed
    std::optional<request_records> records_{};
};

void send_identity(api::context* where) {
    (void)api::send_array(where, 3);
    const auto name = "colimit"sv;
    const auto version = std::string_view{COLIMIT_VERSION};
    (void)api::send_string(where, name.data(), name.size());
    (void)api::send_integer(where, core::wire_version);
    (void)api::send_string(where, version.data(), version.size());
}

} // namespace

int check_command(api::context* where, api::string** words, int count) noexcept {
    return enter(where, check_name, [&] {
        if (api::is_keys_request(where) != 0)
            return tell_keys(where, words, count);
        const auto after_name = std::span{words, static_cast<std::size_t>(count)}.subspan(1);
        if (after_name.size() == 1 && api::text_of(after_name[0]) == "0")
            return send_identity(where);
        const auto from = script_arguments::read(after_name);
        auto command = check{where, from};
        command.make();
        command.reply();
    });
}

} // namespace colimit::server_module
