// SPDX-License-Identifier: BSL-1.0
//
// Decodes batches and executes them.

#include "batch.hpp"

#include <base/bytes.hpp>
#include <core/state_encoding.hpp>
#include <core/verb_traits.hpp>
#include <support/stored_value.hpp>

#include <algorithm>
#include <utility>

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

/// The execution of one batch.
class script {
  public:
    script(const batch& b, execution_context& on) : batch_(b), on_(on) {
        for (std::size_t k = 0; k < b.states.size(); ++k) {
            found_.push_back(on.states[b.states[k]].value);
            states_.push_back(core::decode_value(b.policy_of(k).compiled, found_[k]));
            effects_.push_back(core::effect::nothing);
            is_remembered_.push_back(false);
        }
    }

    void run() {
        if (!batch_.record_names.empty())
            run_with_ids();
        else
            batch_.is_joint ? run_joint() : run_each();
    }

    void reply(std::string& out) {
        auto statuses = std::string{};
        resp::append_array(out, found_.size() + 1);
        for (std::size_t k = 0; k < found_.size(); ++k) {
            statuses += is_refused(k) ? 'e' : is_remembered_[k] ? 'r' : '.';
            if (is_refused(k))
                resp::append_bulk(out, "READONLY You can't write against a read only replica.");
            else if (found_[k])
                resp::append_bulk(out, *found_[k]);
            else
                out.append("$-1\r\n");
        }
        if (statuses.find_first_not_of('.') == std::string::npos)
            statuses = "-";
        resp::append_bulk(out, batch_.nonce + ' ' + std::to_string(on_.clock / second) + ' ' +
                                   std::to_string(on_.clock % second) + ' ' +
                                   std::to_string(granted_) + ' ' + statuses);
    }

  private:
    /// Makes a call. Nothing of it is stored before `save`.
    decision make(const batch::call& c, core::verb verb) {
        auto request = c.request;
        request.verb = verb;
        request.now = on_.clock;
        if (verb == core::verb::unreserve)
            request.at_least = -1;
        auto made = decision{};
        const auto effect =
            core::evaluate(batch_.policy_of(c.key).compiled, states_[c.key], request, made);
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
        save();
    }

    /// Calls with ids: each finds what the ones before it have stored.
    void run_with_ids() {
        for (const auto& c : batch_.calls) {
            const auto& name = batch_.record_names[c.key];
            if (const auto known = on_.remembered.find(name); known != on_.remembered.end()) {
                is_remembered_[c.key] = true;
                found_[c.key] = known->second.bytes;
                continue;
            }
            if (on_.is_read_only) {
                effects_[c.key] = core::effect::store; // its record
                continue;
            }
            const auto state = batch_.states[c.key];
            const auto& value = found_[c.key] = on_.states[state].value;
            states_[c.key] = core::decode_value(batch_.policy_of(c.key).compiled, value);
            auto r = core::request_record{.verb = c.request.verb,
                                          .cost = c.request.cost,
                                          .at_least = c.request.at_least,
                                          .digests = c.digests,
                                          .now = on_.clock};
            if (value)
                r.value = *value;
            auto& kept = on_.remembered[name];
            kept.state = state;
            core::append_record(kept.bytes, r);
            on_.on_record(name);
            const auto made = make(c, c.request.verb);
            granted_ += core::traits_of(c.request.verb).is_granted && made.allowed() ? 1 : 0;
            record(c, made);
            save(c.key);
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
        save();
    }

    /// Of a joint batch, every key is refused if one is.
    [[nodiscard]] bool is_refused(std::size_t key) const {
        const auto writes = [](core::effect e) { return e != core::effect::nothing; };
        return on_.is_read_only &&
               (batch_.is_joint ? std::ranges::any_of(effects_, writes) : writes(effects_[key]));
    }

    void record(const batch::call& c, const decision& made) {
        if (is_refused(c.key))
            return;
        const auto index = batch_.states[c.key];
        auto& kept = on_.states[index];
        const auto& name = on_.names.states()[index];
        if (kept.account == no_account ||
            (kept.is_left_behind && effects_[c.key] != core::effect::nothing))
            kept.account = on_.records.open_account(name.policy);
        kept.is_left_behind = kept.is_left_behind && effects_[c.key] == core::effect::nothing;
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

    void save() {
        for (std::size_t k = 0; k < states_.size(); ++k)
            save(k);
    }

    void save(std::size_t k) {
        if (effects_[k] == core::effect::nothing || on_.is_read_only)
            return;
        auto& kept = on_.states[batch_.states[k]];
        kept.value.reset();
        if (effects_[k] == core::effect::store)
            kept.value = test::encode_value(batch_.policy_of(k).compiled, states_[k], 0);
        on_.on_write(batch_.states[k]);
    }

    const batch& batch_;
    execution_context& on_;
    std::vector<std::optional<std::string>> found_;
    std::vector<core::key_state> states_;
    std::vector<core::effect> effects_; ///< of all calls on a key together
    std::vector<bool> is_remembered_;   ///< the reply has the record of the call
    std::int64_t granted_ = 0;
};

} // namespace

batch read_batch(const catalogue& of, words command) {
    auto b = batch{};
    // EVALSHA digest number-of-keys, or COLIMIT.CHECK number-of-keys
    const auto keys_at = std::size_t{is_word(command[0], "COLIMIT.CHECK") ? 2U : 3U};
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

void execute(const batch& b, execution_context& on, std::string& out) {
    auto s = script{b, on};
    s.run();
    s.reply(out);
}

} // namespace colimit::simulation
