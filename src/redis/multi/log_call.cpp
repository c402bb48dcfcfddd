// SPDX-License-Identifier: BSL-1.0
//
// The commands of a call, computed once to write them and once more to read the replies.

#include <base/bytes.hpp>
#include <core/call_fault.hpp>
#include <core/rule_kind.hpp>
#include <core/verb_traits.hpp>
#include <redis/multi/log_call.hpp>
#include <redis/protocol/reply_error.hpp>

#include <boost/container/static_vector.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <span>

namespace colimit::redis {
namespace {

using core::verb;

enum class action : std::uint8_t {
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
    action what;
    std::uint8_t rule = 0;
};

using steps = boost::container::static_vector<step, 3 * limits::max_rules_per_policy + 8>;

[[nodiscard]] steps steps_of(const log_call& c) noexcept {
    auto all = steps{};
    const auto add = [&all](action what) { all.push_back({what}); };
    const auto add_each = [&](action what) {
        for (std::size_t i = 0; i < c.rules.size; ++i)
            all.push_back({what, static_cast<std::uint8_t>(i)});
    };
    const auto v = c.request.verb;
    const auto records = c.members != 0;
    const auto caps = records && c.rules.counts_denied;
    if (v == verb::reset) {
        add(action::clear);
        return all;
    }
    if (records || v == verb::refund)
        add(action::trim);
    if (v == verb::refund && c.request.cost != 0)
        add(action::remove_newest);
    if (v == verb::charge && records)
        add(action::record);
    if (v == verb::charge && caps)
        add(action::cap);
    add(action::newest);
    add_each(action::oldest_counted);
    if (v == verb::allow && records)
        add(action::record);
    if (v == verb::allow && caps)
        add_each(action::oldest_afterwards);
    add_each(action::count);
    if (v == verb::allow && caps)
        add(action::cap);
    if (records) {
        add(action::ttl);
        add(action::expire);
    }
    return all;
}

void append_number(std::string& out, std::int64_t value) {
    resp::append_bulk(out, detail::decimal{value});
}

/// Appends a number directly after a text: `(`, which excludes the end of a range, or the origin of
/// a member.
void append_number(std::string& out, std::string_view before, std::integral auto value) {
    const auto digits = detail::decimal{value};
    resp::append_bulk_header(out, before.size() + std::string_view{digits}.size());
    out.append(before).append(digits).append("\r\n");
}

void begin_command(std::string& out, std::size_t words, std::string_view name,
                   std::string_view key) {
    resp::append_array(out, words);
    resp::append_bulk(out, name);
    resp::append_bulk(out, key);
}

/// Appends the removal of the events with ranks `first` to `last`, from the oldest; negative from
/// the newest.
void append_rank_removal(std::string& out, const log_call& c, std::int64_t first,
                         std::int64_t last) {
    begin_command(out, 4, "ZREMRANGEBYRANK", c.key);
    append_number(out, first);
    append_number(out, last);
}

/// Appends a query of the event at a rank from the newest, with its score.
void append_event_query(std::string& out, const log_call& c, std::int64_t rank) {
    begin_command(out, 5, "ZREVRANGE", c.key);
    append_number(out, rank);
    append_number(out, rank);
    resp::append_bulk(out, "WITHSCORES");
}

void append_record(std::string& out, const log_call& c) {
    begin_command(out, 2 + 2 * std::size_t{c.members}, "ZADD", c.key);
    for (std::uint32_t i = 0; i < c.members; ++i) {
        append_number(out, c.latest);
        append_number(out, c.origin, c.member + i);
    }
}

/// Returns the tokens that must fit.
[[nodiscard]] std::int64_t amount_of(const core::call_request& r) noexcept {
    return core::traits_of(r.verb).tests_amount ? r.at_least : 0;
}

/// Returns the rank, from the newest, of the event after whose end the call fits the rule.
[[nodiscard]] std::int64_t rank_of_oldest_counted(const log_call& c, std::size_t rule) noexcept {
    return std::max<std::int64_t>(c.rules.limits[rule].full - amount_of(c.request), 0);
}

/// Returns the TTL: a second more than events count, or as configured.
[[nodiscard]] std::int64_t ttl_of(const log_call& c) noexcept {
    return std::max((core::log_period(c.rules) + 999) / 1'000 + 1'000, c.least_ttl);
}

void append_step(std::string& out, const log_call& c, step s) {
    switch (s.what) {
    case action::trim:
        begin_command(out, 4, "ZREMRANGEBYSCORE", c.key);
        resp::append_bulk(out, "-inf");
        return append_number(out, c.earliest - core::log_period(c.rules) - c.grace);
    case action::remove_newest:
        return append_rank_removal(out, c, -c.request.cost, -1);
    case action::clear: // not DEL, which would also delete a key of another type
        return append_rank_removal(out, c, 0, -1);
    case action::newest:
        return append_event_query(out, c, 0);
    case action::oldest_counted:
    case action::oldest_afterwards:
        return append_event_query(out, c, rank_of_oldest_counted(c, s.rule));
    case action::record:
        return append_record(out, c);
    case action::count:
        begin_command(out, 4, "ZCOUNT", c.key);
        append_number(out, "(", c.earliest - c.rules.limits[s.rule].period);
        return resp::append_bulk(out, "+inf");
    case action::cap:
        return append_rank_removal(out, c, 0, -core::log_capacity(c.rules) - 1);
    case action::ttl:
        return begin_command(out, 2, "PTTL", c.key);
    case action::expire:
        begin_command(out, 3, "PEXPIRE", c.key);
        return append_number(out, ttl_of(c));
    }
}

/// Iterates over the elements of a reply, each with its nested nodes.
class elements {
  public:
    elements(const resp::decoder& reply, std::string_view bytes) noexcept
        : reply_(reply), bytes_(bytes), nodes_(reply.nodes().subspan(1)) {}

    /// Returns the nodes of the next element.
    [[nodiscard]] std::span<const resp::node> next() noexcept {
        auto size = std::size_t{0};
        for (auto rest = std::size_t{1}; rest != 0; --rest) {
            const auto& n = nodes_[size++];
            rest += resp::is_container(n.kind) ? n.size : 0;
        }
        const auto element = nodes_.first(size);
        nodes_ = nodes_.subspan(size);
        return element;
    }

    [[nodiscard]] std::string_view text(const resp::node& n) const noexcept {
        return reply_.text(n, bytes_);
    }

  private:
    const resp::decoder& reply_;
    std::string_view bytes_;
    std::span<const resp::node> nodes_;
};

/// Returns the score of an event, its last node; 0 if there is no event. Servers write scores as
/// integers or with an exponent, as text or as a number.
[[nodiscard]] std::optional<std::int64_t> score_of(const elements& from,
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

/// The results of EXEC.
struct exec_results {
    std::optional<reply_error> error;
    std::int64_t newest = 0;
    std::array<std::int64_t, limits::max_rules_per_policy> oldest_counted{};
    std::array<std::int64_t, limits::max_rules_per_policy> oldest_afterwards{};
    std::array<std::int64_t, limits::max_rules_per_policy> counts{};
    std::int64_t ttl = -2;
    bool recorded = false;
    bool expires = false;
};

/// Returns false if an element is not a valid reply to its command.
[[nodiscard]] bool read_step(exec_results& f, step s, const elements& from,
                             std::span<const resp::node> element) noexcept {
    const auto& first = element.front();
    if (resp::is_error(first.kind)) {
        if (!f.error)
            f.error = classify(from.text(first));
        return true;
    }
    auto* const time = s.what == action::newest              ? &f.newest
                       : s.what == action::oldest_counted    ? &f.oldest_counted[s.rule]
                       : s.what == action::oldest_afterwards ? &f.oldest_afterwards[s.rule]
                                                             : nullptr;
    if (time != nullptr) {
        const auto score = score_of(from, element);
        *time = score.value_or(0);
        return score.has_value();
    }
    if (s.what == action::count)
        f.counts[s.rule] = first.integer;
    else if (s.what == action::ttl)
        f.ttl = first.integer;
    f.recorded = f.recorded || s.what == action::record;
    f.expires = f.expires || (s.what == action::expire && first.integer == 1);
    return first.kind == resp::kind::integer;
}

/// Returns when a call fits a rule, of which `used` is taken: 0, or when `oldest` expires.
[[nodiscard]] std::int64_t fits_at(const log_call& c, std::size_t rule, std::int64_t used,
                                   std::int64_t oldest) noexcept {
    const auto& l = c.rules.limits[rule];
    if (used + amount_of(c.request) <= l.full)
        return 0;
    return std::max(oldest, c.earliest - l.period + 1) + l.period;
}

/// Adds a granted call, about the newest one: its events expire after the latest possible time.
void add_own_time(const log_call& c, std::int64_t newest, decision& answer) noexcept {
    for (std::size_t i = 0; i < answer.rules.size(); ++i)
        answer.rules[i].reset_after = std::chrono::microseconds{
            std::max(newest, c.latest) + c.rules.limits[i].period - c.earliest};
    answer.reset_after = answer.rules[answer.limiting_rule].reset_after;
}

[[nodiscard]] cleanup decide(const log_call& c, const exec_results& f, decision& answer) noexcept {
    auto request = c.request;
    request.now = c.earliest;
    const auto own = request.verb == verb::allow ? std::int64_t{c.members} : 0;
    if (own != 0)
        request.cost = own;
    auto state = core::key_state{};
    for (std::size_t i = 0; i < c.rules.size; ++i) {
        const auto used = f.counts[i] - own;
        const auto& if_denied = own == 0 ? f.oldest_counted : f.oldest_afterwards;
        state.states[i] = {.t = f.newest,
                           .debt = used,
                           .num = fits_at(c, i, used + own, if_denied[i]),
                           .capacity = fits_at(c, i, used, f.oldest_counted[i])};
    }
    (void)core::evaluate(c.rules, state, request, answer);
    const auto kept = answer.allowed() ? answer.granted : c.rules.counts_denied ? own : 0;
    if (own != 0 && kept != 0)
        add_own_time(c, f.newest, answer);
    return {.failure = {},
            .surplus = static_cast<std::uint32_t>(own - std::min(kept, own)),
            .newest = f.newest,
            .foreign_key_ttl = {}};
}

} // namespace

error_code error_of_log_call(const core::compiled_policy& rules,
                             const core::call_request& request) {
    using detail::error_of;
    using detail::fault;
    if (request.verb > verb::reset)
        return error_of(fault::multi_verb);
    if (rules.size == 0) // a Bloom filter
        return error_of(fault::multi_no_rules);
    const auto all = rules.all();
    const auto other = std::ranges::find_if_not(all, core::is_log);
    if (other != all.end() && other->kind == core::kind::lockout)
        return error_of(fault::multi_cooldown);
    if (other != all.end())
        return error_of(fault::multi_rule,
                        {static_cast<std::size_t>(other - all.begin()), other->kind});
    if (members_of(rules, request) > limits::max_log_events)
        return error_of(fault::multi_cost);
    if (rules.counts_denied && request.verb == verb::allow && request.at_least != request.cost)
        return error_of(fault::multi_partial);
    return {};
}

std::int64_t members_of(const core::compiled_policy& rules,
                        const core::call_request& request) noexcept {
    if (request.verb == verb::charge)
        return request.cost;
    if (request.verb != verb::allow)
        return 0;
    auto most = request.cost;
    for (const auto& l : rules.rules())
        if (!l.shadow)
            most = std::min(most, l.capacity);
    return request.at_least > most ? 0 : most;
}

std::size_t append_log_call(std::string& out, const log_call& call) {
    const auto commands = steps_of(call);
    for (const auto s : commands)
        append_step(out, call, s);
    return commands.size();
}

std::optional<cleanup> read_log_call(const log_call& call, const resp::decoder& reply,
                                     std::string_view bytes, decision& answer) {
    const auto commands = steps_of(call);
    if (reply.first().kind != resp::kind::array || reply.first().size != commands.size())
        return std::nullopt;
    auto from = elements{reply, bytes};
    auto found = exec_results{};
    for (const auto s : commands)
        if (!read_step(found, s, from, from.next()))
            return std::nullopt;
    if (!found.error)
        return decide(call, found, answer);
    const auto is_foreign = found.expires && !found.recorded;
    return cleanup{.failure = found.error->code,
                   .surplus = found.recorded ? call.members : 0,
                   .newest = 0,
                   .foreign_key_ttl = is_foreign ? std::optional{found.ttl} : std::nullopt};
}

void append_removal(std::string& out, const log_call& call, std::uint32_t surplus) {
    begin_command(out, 2 + std::size_t{surplus}, "ZREM", call.key);
    for (auto i = call.members - surplus; i < call.members; ++i)
        append_number(out, call.origin, call.member + i);
}

void append_ttl(std::string& out, std::string_view key, std::int64_t ttl) {
    if (ttl < 0)
        return begin_command(out, 2, "PERSIST", key);
    begin_command(out, 3, "PEXPIRE", key);
    append_number(out, ttl);
}

void append_cut(std::string& out, std::string_view key, std::int64_t after) {
    begin_command(out, 4, "ZREMRANGEBYSCORE", key);
    append_number(out, "(", after);
    resp::append_bulk(out, "+inf");
}

} // namespace colimit::redis
