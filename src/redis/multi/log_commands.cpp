// SPDX-License-Identifier: BSL-1.0
//
// The commands for logs, computed once to write them and once more to read the replies.

#include <core/rule_kind.hpp>
#include <redis/multi/log_commands.hpp>
#include <redis/protocol/key.hpp>

#include <boost/container/static_vector.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>

namespace colimit::redis {
namespace {

using core::verb;

enum class log_step : std::uint8_t {
    trim,           ///< remove events that no rule covers
    remove_newest,  ///< remove the newest `cost` events, for refund
    clear,          ///< remove everything, for reset
    newest,         ///< get the newest event's time
    oldest_counted, ///< get the event that must expire before the call fits rule i
    record,         ///< record the call
    oldest_afterwards,
    count, ///< count the events that rule i covers
    cap,   ///< remove the oldest if denied calls are kept too
    ttl,
    expire,
};

struct step {
    log_step what;
    std::uint8_t rule = 0;
};

using steps = boost::container::static_vector<step, 3 * limits::max_rules_per_policy + 8>;

[[nodiscard]] steps steps_of(const transaction_call& c) noexcept {
    auto all = steps{};
    if (!c.rules().has_log)
        return all;
    const auto add = [&all](log_step what) { all.push_back({what}); };
    const auto add_each = [&](log_step what) {
        for (std::size_t i = 0; i < c.rules().size; ++i)
            if (core::is_log(c.rules().limits[i]))
                all.push_back({what, static_cast<std::uint8_t>(i)});
    };
    const auto v = c.request.verb;
    const auto records = c.tokens != 0;
    const auto caps = records && c.rules().counts_denied;
    if (v == verb::reset) {
        add(log_step::clear);
        return all;
    }
    if (records || v == verb::refund)
        add(log_step::trim);
    if (v == verb::refund && c.request.cost != 0)
        add(log_step::remove_newest);
    if (v == verb::charge && records)
        add(log_step::record);
    if (v == verb::charge && caps)
        add(log_step::cap);
    add(log_step::newest);
    add_each(log_step::oldest_counted);
    if (v == verb::allow && records)
        add(log_step::record);
    if (v == verb::allow && caps)
        add_each(log_step::oldest_afterwards);
    add_each(log_step::count);
    if (v == verb::allow && caps)
        add(log_step::cap);
    if (records) {
        add(log_step::ttl);
        add(log_step::expire);
    }
    return all;
}

void begin_command(std::string& out, std::size_t words, std::string_view name,
                   const transaction_call& c) {
    resp::append_array(out, words);
    resp::append_bulk(out, name);
    append_name(out, c.key, transaction_family);
}

/// Appends the removal of the events with ranks `first` to `last`, from the oldest; negative from
/// the newest.
void append_rank_removal(std::string& out, const transaction_call& c, std::int64_t first,
                         std::int64_t last) {
    begin_command(out, 4, "ZREMRANGEBYRANK", c);
    append_integer(out, first);
    append_integer(out, last);
}

/// Appends a query of the event at a rank from the newest, with its score.
void append_event_query(std::string& out, const transaction_call& c, std::int64_t rank) {
    begin_command(out, 5, "ZREVRANGE", c);
    append_integer(out, rank);
    append_integer(out, rank);
    resp::append_bulk(out, "WITHSCORES");
}

void append_member_name(std::string& out, const transaction_call& c, std::int64_t index) {
    append_integer(out, c.origin, c.member + static_cast<std::uint64_t>(index));
}

void append_record(std::string& out, const transaction_call& c) {
    begin_command(out, 2 + 2 * static_cast<std::size_t>(c.tokens), "ZADD", c);
    for (std::int64_t i = 0; i < c.tokens; ++i) {
        append_integer(out, c.latest);
        append_member_name(out, c, i);
    }
}

/// Returns the rank, from the newest, of the event after whose end the call fits the rule.
[[nodiscard]] std::int64_t rank_of_oldest_counted(const transaction_call& c,
                                                  std::size_t rule) noexcept {
    return std::max<std::int64_t>(c.rules().limits[rule].debt_limit - c.amount(), 0);
}

/// Returns the TTL: a second more than events count, or as configured.
[[nodiscard]] std::int64_t ttl_of(const transaction_call& c) noexcept {
    return std::max((core::log_period(c.rules()) + 999) / 1'000 + 1'000, c.min_ttl);
}

void append_step(std::string& out, const transaction_call& c, step s) {
    switch (s.what) {
    case log_step::trim:
        begin_command(out, 4, "ZREMRANGEBYSCORE", c);
        resp::append_bulk(out, "-inf");
        return append_integer(out, c.earliest - core::log_period(c.rules()) - c.grace);
    case log_step::remove_newest:
        return append_rank_removal(out, c, -c.request.cost, -1);
    case log_step::clear: // not DEL, which would also delete a key of another type
        return append_rank_removal(out, c, 0, -1);
    case log_step::newest:
        return append_event_query(out, c, 0);
    case log_step::oldest_counted:
    case log_step::oldest_afterwards:
        return append_event_query(out, c, rank_of_oldest_counted(c, s.rule));
    case log_step::record:
        return append_record(out, c);
    case log_step::count:
        begin_command(out, 4, "ZCOUNT", c);
        append_integer(out, "(", c.earliest - c.rules().limits[s.rule].period);
        return resp::append_bulk(out, "+inf");
    case log_step::cap:
        return append_rank_removal(out, c, 0, -core::log_capacity(c.rules()) - 1);
    case log_step::ttl:
        return begin_command(out, 2, "PTTL", c);
    case log_step::expire:
        begin_command(out, 3, "PEXPIRE", c);
        return append_integer(out, ttl_of(c));
    }
}

/// Returns the score of an event, its last node; 0 if there is no event. Servers write scores as
/// integers or with an exponent, as text or as a number.
[[nodiscard]] std::optional<std::int64_t> score_of(const exec_reply& from,
                                                   std::span<const resp::node> event) noexcept {
    if (event.front().kind != resp::kind::array)
        return std::nullopt;
    if (event.size() == 1)
        return 0;
    const auto text = from.text(event.back());
    auto score = 0.0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), score);
    if (ec != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    const auto most = static_cast<double>(limits::max_exact_integer);
    // Scores of other programs may be any number.
    return static_cast<std::int64_t>(std::clamp(score, 0.0, most));
}

/// Returns false if an element is not a valid reply to its command.
[[nodiscard]] bool read_step(log_results& f, step s, exec_reply& from) noexcept {
    const auto element = from.next();
    const auto& first = element.front();
    if (resp::is_error(first.kind)) {
        from.note(classify(from.text(first)));
        return true;
    }
    auto* const time = s.what == log_step::newest              ? &f.newest
                       : s.what == log_step::oldest_counted    ? &f.oldest_counted[s.rule]
                       : s.what == log_step::oldest_afterwards ? &f.oldest_afterwards[s.rule]
                                                               : nullptr;
    if (time != nullptr) {
        const auto score = score_of(from, element);
        *time = score.value_or(0);
        return score.has_value();
    }
    if (s.what == log_step::count)
        f.counts[s.rule] = first.integer;
    else if (s.what == log_step::ttl)
        f.ttl = first.integer;
    f.recorded = f.recorded || s.what == log_step::record;
    f.expires = f.expires || (s.what == log_step::expire && first.integer == 1);
    return first.kind == resp::kind::integer;
}

/// Returns when a call fits a rule, of which `used` is taken: 0, or when `oldest` expires.
[[nodiscard]] std::int64_t fits_at(const transaction_call& c, std::size_t rule, std::int64_t used,
                                   std::int64_t oldest) noexcept {
    const auto& l = c.rules().limits[rule];
    if (used + c.amount() <= l.debt_limit)
        return 0;
    return std::max(oldest, c.earliest - l.period + 1) + l.period;
}

} // namespace

std::int64_t events_of(const transaction_call& c) noexcept {
    return c.rules().has_log ? c.tokens : 0;
}

std::size_t append_log_commands(std::string& out, const transaction_call& c) {
    const auto commands = steps_of(c);
    for (const auto s : commands)
        append_step(out, c, s);
    return commands.size();
}

std::size_t count_log_commands(const transaction_call& c) noexcept {
    return steps_of(c).size();
}

bool read_log_replies(const transaction_call& c, exec_reply& from, log_results& to) {
    return std::ranges::all_of(steps_of(c), [&](step s) { return read_step(to, s, from); });
}

core::rule_state log_state(const transaction_call& c, const log_results& found,
                           std::size_t rule) noexcept {
    const auto own = c.request.verb == verb::allow ? c.tokens : 0;
    const auto used = found.counts[rule] - own;
    const auto& if_denied = own == 0 ? found.oldest_counted : found.oldest_afterwards;
    return {.t = found.newest,
            .debt = used,
            .num = fits_at(c, rule, used + own, if_denied[rule]),
            .capacity = fits_at(c, rule, used, found.oldest_counted[rule])};
}

void append_removal(std::string& out, const transaction_call& c, std::int64_t surplus) {
    begin_command(out, 2 + static_cast<std::size_t>(surplus), "ZREM", c);
    for (auto i = c.tokens - surplus; i < c.tokens; ++i)
        append_member_name(out, c, i);
}

void append_ttl(std::string& out, const transaction_call& c, std::int64_t ttl) {
    if (ttl < 0)
        return begin_command(out, 2, "PERSIST", c);
    begin_command(out, 3, "PEXPIRE", c);
    append_integer(out, ttl);
}

void append_cut(std::string& out, const transaction_call& c, std::int64_t after) {
    begin_command(out, 4, "ZREMRANGEBYSCORE", c);
    append_integer(out, "(", after);
    resp::append_bulk(out, "+inf");
}

} // namespace colimit::redis
