// SPDX-License-Identifier: BSL-1.0
//
// Decodes batches and replies.

#include "batch.hpp"

#include <base/bytes.hpp>
#include <core/state_encoding.hpp>
#include <core/verb_traits.hpp>
#include <support/stored_value.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <utility>
#include <variant>

namespace colimit::simulation {

namespace resp = redis::resp;

namespace {

template<class T>
[[nodiscard]] T take(std::string_view& bytes) {
    if (bytes.size() < sizeof(T))
        throw violation{"a command ends within a number"};
    const auto value = detail::read_number<T>(bytes.data());
    bytes.remove_prefix(sizeof(T));
    return value;
}

[[nodiscard]] std::int64_t take_whole(std::string_view& bytes) {
    return static_cast<std::int64_t>(take<double>(bytes));
}

/// Reads ARGV[5].
[[nodiscard]] std::vector<batch::call> read_calls(std::string_view bytes, std::size_t keys,
                                                  bool has_ids) {
    auto calls = std::vector<batch::call>{};
    const auto is_plain = bytes.size() <= 2 * keys;
    const auto is_wide = bytes.size() == 2 * keys;
    for (std::size_t k = 0; is_plain && k < keys; ++k) {
        const auto times = bytes.empty() ? std::size_t{1}
                           : is_wide     ? take<std::uint16_t>(bytes)
                                         : take<std::uint8_t>(bytes);
        calls.push_back({k, times, {}});
    }
    while (!bytes.empty()) {
        auto c = batch::call{};
        c.key = take<std::uint16_t>(bytes);
        c.request.verb = static_cast<core::verb>(take<std::uint8_t>(bytes));
        c.times = take<std::uint16_t>(bytes);
        c.request.cost = take_whole(bytes);
        c.request.at_least = take_whole(bytes);
        if (has_ids) {
            c.digests.policy = take<std::uint64_t>(bytes);
            c.digests.member = take<std::uint64_t>(bytes);
        }
        calls.push_back(c);
    }
    return calls;
}

/// The elements of a reply: strings, and nothing.
[[nodiscard]] std::vector<std::optional<std::string>> read_reply(std::string_view bytes) {
    const auto number = [&bytes] {
        const auto end = bytes.find("\r\n");
        const auto text = bytes.substr(1, end - 1);
        bytes.remove_prefix(end + 2);
        return text == "-1" ? std::nullopt : std::optional{detail::number_of(text)};
    };
    auto found = std::vector<std::optional<std::string>>{};
    for (auto left = *number(); left != 0; --left) {
        const auto size = number();
        found.push_back(size ? std::optional{std::string{bytes.substr(0, *size)}} : std::nullopt);
        bytes.remove_prefix(size ? *size + 2 : 0);
    }
    return found;
}

/// The execution of one batch, made again.
class twin {
  public:
    twin(const batch& b, std::string_view reply, execution_context& on)
        : batch_(b), on_(on), found_(read_reply(reply)) {
        read_header();
        for (std::size_t k = 0; k < b.states.size(); ++k) {
            states_.push_back(is_answered(k) ? core::decode_value(rules_of(k), found_[k])
                                             : core::key_state{});
            effects_.push_back(core::effect::nothing);
        }
    }

    void run() {
        if (!batch_.record_names.empty())
            run_with_ids();
        else
            batch_.is_joint ? run_joint() : run_each();
        if (statuses_ == "-" && granted_ != told_granted_)
            throw violation{"a server grants " + std::to_string(told_granted_) + " calls, not " +
                            std::to_string(granted_)};
        if (!on_.is_read_only)
            check_stored();
    }

  private:
    void read_header() {
        if (found_.size() != batch_.states.size() + 1 || !found_.back())
            throw violation{"a server's reply has another size"};
        auto words = std::vector<std::string>{};
        auto header = std::istringstream{*found_.back()};
        for (auto word = std::string{}; header >> word;)
            words.push_back(word);
        if (words.size() != 5 || words[0] != batch_.nonce ||
            words[1] != std::to_string(on_.clock / second) ||
            words[2] != std::to_string(on_.clock % second))
            throw violation{"a server's reply has another header: " + *found_.back()};
        told_granted_ = std::stoll(words[3]);
        statuses_ = words[4];
        if (statuses_.find_first_not_of("-.re") != std::string::npos)
            throw violation{"a server's reply has another status: " + statuses_};
        for (std::size_t k = 0; k < batch_.states.size(); ++k)
            if (is_refused(k) && !on_.is_read_only)
                throw violation{"a server's error: " + *found_[k]};
    }

    [[nodiscard]] const core::compiled_policy& rules_of(std::size_t key) const {
        return batch_.policy_of(key).compiled;
    }
    [[nodiscard]] char status_of(std::size_t key) const {
        return statuses_ == "-" ? '.' : statuses_.at(key);
    }
    [[nodiscard]] bool is_refused(std::size_t key) const { return status_of(key) == 'e'; }
    [[nodiscard]] bool is_answered(std::size_t key) const { return status_of(key) == '.'; }

    decision make(const batch::call& c, core::verb verb) {
        auto request = c.request;
        request.verb = verb;
        request.now = on_.clock;
        if (verb == core::verb::unreserve)
            request.at_least = -1;
        auto made = decision{};
        const auto effect = core::evaluate(rules_of(c.key), states_[c.key], request, made);
        if (effect != core::effect::nothing)
            effects_[c.key] = effect;
        return made;
    }

    void run_each() {
        auto made = std::vector<decision>{};
        for (const auto& c : batch_.calls)
            for (std::size_t i = 0; i < c.times; ++i) {
                made.push_back(make(c, c.request.verb));
                const auto is_granted = core::traits_of(c.request.verb).is_granted;
                granted_ += is_granted && made.back().allowed() ? 1 : 0;
            }
        auto next = made.begin();
        for (const auto& c : batch_.calls)
            for (std::size_t i = 0; i < c.times; ++i)
                record(c, *next++);
    }

    void run_with_ids() {
        for (const auto& c : batch_.calls) {
            if (!is_answered(c.key))
                continue;
            const auto made = make(c, c.request.verb);
            granted_ += core::traits_of(c.request.verb).is_granted && made.allowed() ? 1 : 0;
            record(c, made);
        }
    }

    void run_joint() {
        auto all = true;
        const auto before = states_;
        for (const auto& c : batch_.calls)
            all = make(c, core::verb::peek).allowed() && all;
        states_ = before;
        effects_.assign(effects_.size(), core::effect::nothing);
        for (const auto& c : batch_.calls) {
            auto made = make(c, all ? core::verb::allow : core::verb::unreserve);
            made.granted = all ? made.granted : 0;
            record(c, made);
        }
        granted_ = all ? static_cast<std::int64_t>(batch_.calls.size()) : 0;
    }

    void record(const batch::call& c, const decision& made) {
        if (is_refused(c.key))
            return;
        const auto index = batch_.states[c.key];
        auto& kept = on_.histories[index];
        const auto& name = on_.names.states()[index];
        if (kept.account == no_account ||
            (kept.is_left_behind && effects_[c.key] != core::effect::nothing))
            kept.account = on_.records.open_account(name.policy);
        kept.is_left_behind = kept.is_left_behind && effects_[c.key] == core::effect::nothing;
        if (effects_[c.key] != core::effect::nothing && !on_.is_read_only)
            on_.on_history(index);
        auto request = c.request;
        request.now = on_.clock;
        // A refund of nothing changes nothing.
        const auto moves =
            effects_[c.key] != core::effect::nothing &&
            (c.request.verb == core::verb::charge || c.request.verb == core::verb::refund);
        on_.records.record(kept.account, name.policy, name.key, request, made,
                           !on_.is_read_only &&
                               (moves || (c.request.verb == core::verb::allow && made.granted > 0)),
                           !batch_.record_names.empty());
    }

    /// Compares the states with those that are stored, except when these expire.
    void check_stored() const {
        auto last = std::map<std::size_t, std::size_t>{}; // keys by their states
        for (std::size_t k = 0; k < states_.size(); ++k)
            if (effects_[k] != core::effect::nothing)
                last[batch_.states[k]] = k;
        for (const auto& [state, k] : last) {
            const auto& name = on_.names.states()[state].text;
            const auto* stored = on_.keys.find(name);
            const auto* text =
                stored == nullptr ? nullptr : std::get_if<test::fake::bytes>(&stored->content);
            const auto expected = effects_[k] == core::effect::store
                                      ? test::encode_value(rules_of(k), states_[k], 0)
                                      : std::string{};
            const auto same = text == nullptr ? expected.empty()
                                              : text->view().substr(sizeof(double)) ==
                                                    std::string_view{expected}.substr(
                                                        std::min(sizeof(double), expected.size()));
            if (!same)
                throw violation{"a server stores another state: " + name};
        }
    }

    const batch& batch_;
    execution_context& on_;
    std::vector<std::optional<std::string>> found_; ///< as the reply has it, and its header
    std::vector<core::key_state> states_;
    std::vector<core::effect> effects_; ///< of all calls on a key together
    std::string statuses_;
    std::int64_t told_granted_ = 0;
    std::int64_t granted_ = 0;
};

} // namespace

batch read_batch(const catalogue& of, words command) {
    auto b = batch{};
    constexpr std::size_t keys_at = 2;
    const auto all_keys = std::size_t{detail::number_of(command[keys_at - 1])};
    const auto arguments = command.subspan(keys_at + all_keys);
    const auto has_ids = arguments[3].find(' ') != std::string_view::npos; // the TTL of records
    const auto keys = has_ids ? all_keys / 2 : all_keys;
    for (std::size_t k = 0; k < keys; ++k)
        b.states.push_back(of.state_of(command[keys_at + k]));
    for (auto k = keys; k < all_keys; ++k)
        b.record_names.emplace_back(command[keys_at + k]);
    b.policies = of.policies_in(arguments[0]);
    b.nonce = arguments[1];
    b.calls = read_calls(arguments[4], keys, has_ids);
    const auto is_own = [&](const batch::call& c) {
        return c.times == 1 && c.key == static_cast<std::size_t>(&c - b.calls.data());
    };
    if (has_ids &&
        (all_keys % 2 != 0 || b.calls.size() != keys || !std::ranges::all_of(b.calls, is_own)))
        throw violation{"a batch of calls with ids does not have a key and a record for each"};
    b.is_joint = arguments.size() > 5;
    return b;
}

void account(const batch& b, std::string_view reply, execution_context& on) {
    twin{b, reply, on}.run();
}

} // namespace colimit::simulation
