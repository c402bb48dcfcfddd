// SPDX-License-Identifier: BSL-1.0
//
// Routes calls to the nodes of a cluster.

#include <base/clocks.hpp>
#include <limiter/cluster_backend.hpp>
#include <limiter/limiter_core.hpp>
#include <limiter/redis_settings.hpp>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <new>
#include <random>
#include <string>
#include <utility>

namespace colimit::detail {
namespace {

/// The first pause before a batch that no node takes is sent again, in microseconds.
constexpr std::int64_t retry_pause = 10'000;
/// A connection to a node that has left the map is closed after this time, or twice as long.
constexpr std::int64_t release_pause = 1'000'000;
/// Redis recommends at most this many nodes.
constexpr std::size_t most_masters = 1'000;

/// Returns the largest number of nodes: one for each group of keys, and as many that are about to
/// be left. So not even nodes that name ever new ones in redirections make this process grow
/// without bound.
[[nodiscard]] std::size_t most_members(const redis::key_tags& tags) noexcept {
    return 1 + 2 * std::min(tags.count(), most_masters);
}

[[nodiscard]] redis::retry_settings retry_settings_of() {
    return {.misses = limits::breaker_failures,
            .pause_least = retry_pause,
            .pause_most = in_us(limits::probe_pause_max),
            .seed = std::random_device{}()};
}

} // namespace

cluster_backend::cluster_backend(limiter_core& core, const config& settings,
                                 const redis::address& where)
    : redis_backend(core, settings, where.password), settings_(settings), where_(where),
      tls_(make_tls(settings, where)), tags_(settings.advanced.hash_tags), route_(tags_.count()),
      finder_(core.own_executor(), core.lock(), map_settings_of(settings, where, tls_),
              reports().problems(), *this, life()),
      retries_(retry_settings_of()),
      timer_(core.own_executor(), core.lock(), [this] { on_time(); }) {
    rejections_ = &retries_;
    add_member();
}

void cluster_backend::close(bool now) noexcept {
    is_closed_ = true;
    timer_.clear();
    finder_.close(now);
}

// Routes

cluster_backend::member& cluster_backend::add_member() {
    auto& made = members_.emplace_back();
    try {
        made.number = tags_.count() + members_.size();
        auto calls = make_node_queue(settings_);
        calls->route_by(*this);
        made.calls = calls.get();
        made.node = &add_node({connection_settings_of(settings_, where_, tls_), std::move(calls)});
    } catch (...) {
        members_.pop_back();
        throw;
    }
    return made;
}

cluster_backend::member* cluster_backend::find_member(const redis::host_port& server) noexcept {
    const auto known = std::ranges::find(members_, std::optional{server}, &member::server);
    return known == members_.end() ? nullptr : &*known;
}

/// Returns the node for this server, and connects it if there is none yet; `unrouted` if it may not
/// be connected to, or there are too many.
cluster_backend::member& cluster_backend::member_at(const redis::host_port& server) {
    if (auto* known = find_member(server))
        return *known;
    const auto free = std::find_if(std::next(members_.begin()), members_.end(),
                                   [](const member& m) { return !m.server; });
    if (free == members_.end() && members_.size() == most_members(tags_)) {
        reroute_later();
        return unrouted();
    }
    if (!finder_.admit(server))
        return unrouted();
    auto& m = free != members_.end() ? *free : add_member();
    auto where = where_.at(server);
    m.server = server; // from here on nothing throws
    m.node->connection.move_to(std::move(where));
    take_events(*m.node);
    return m;
}

/// Returns the node that serves the group; `unrouted` if none is known.
cluster_backend::member& cluster_backend::member_of(std::size_t group) {
    if (route_[group] != nullptr)
        return *route_[group];
    const auto slot = tags_.slot(group);
    if (const auto* owner = finder_.map().owner(slot)) {
        if (is_in_call_ && settings_.advanced.may_connect && find_member(*owner) == nullptr) {
            reroute_at(steady_now()); // it runs on the executor
            return unrouted();
        }
        route_[group] = &member_at(*owner);
        return *route_[group];
    }
    if (finder_.has_map()) {
        reports().problems().note_own(errc::unavailable, phase::script,
                                      "no node of the cluster serves slot", std::to_string(slot));
        finder_.request();
        route_[group] = &unrouted();
    }
    return unrouted();
}

stage_result cluster_backend::start(operation& op, std::string_view key,
                                    const policy_pointer* policy) {
    is_in_call_ = true;
    if (op.kind == call_kind::ready) {
        const auto result = start_ready(op);
        is_in_call_ = false;
        return result;
    }
    auto* node = node_for(op, key, policy);
    is_in_call_ = false;
    return node != nullptr ? submit(*node, op, key, policy) : ended(op, errc::unavailable);
}

/// Returns the node to which a call goes; null if it ends at once.
redis_node* cluster_backend::node_for(const operation& op, std::string_view key,
                                      const policy_pointer* policy) {
    try {
        const auto group =
            op.kind == call_kind::all
                ? tags_.of(op.checks.front().key)
                : redis::script_batch::group_of(tags_, **policy, key, op.request.verb);
        const auto& m = member_of(group);
        return try_refuse(group, m) ? nullptr : m.node;
    } catch (const std::bad_alloc&) {
        reroute_later();
        return unrouted().node;
    }
}

/// Refuses a call, which then ends at once, if those before it were rejected or had no node.
bool cluster_backend::try_refuse(std::size_t group, const member& m) {
    const auto has_no_node = route_[group] == &unrouted();
    if (!has_no_node && !retries_.is_any_open())
        return false;
    const auto now = steady_now();
    if (has_no_node && retries_.is_open(group)) { // an attempt would wait for the next map in vain
        if (!retries_.try_refuse(group, now)) {
            retries_.reject(group, now, true);
            finder_.request();
        }
        return true;
    }
    if (retries_.try_refuse(group, now) || retries_.try_refuse(m.number, now))
        return true;
    if (has_no_node)
        retries_.reject(group, now, true);
    return false;
}

/// Returns the queue in which a batch waits from now on; null if its calls end.
redis::script_queue* cluster_backend::next_queue(member& from, std::size_t group, bool is_parked) {
    auto& to = member_of(group);
    if (is_parked) {
        if (retries_.is_open(group) ||
            retries_.is_open(to.number)) // of a node's, its reply decides
            return &from == &unrouted() ? nullptr : from.calls;
        const auto now = steady_now();
        if (retries_.is_pausing(group, now) || retries_.is_pausing(to.number, now))
            return from.calls;
    }
    to.has_gained = true;
    return to.calls;
}

/// Moves batches that wait to where their group is served now.
void cluster_backend::move_waiting(member& from) noexcept {
    if (!from.calls->has_waiting())
        return;
    from.calls->hand_over([&](std::size_t group, bool is_parked) {
        try {
            return next_queue(from, group, is_parked);
        } catch (const std::bad_alloc&) {
            reroute_later();
            return from.calls;
        }
    });
    for (auto& to : members_)
        if (std::exchange(to.has_gained, false) && &to != &from) {
            from.calls->move_deadlines(*to.calls);
            schedule_flush(*to.node);
        }
    if (&from == &unrouted() && !from.calls->done.empty())
        take_events(*from.node);
}

void cluster_backend::reroute() noexcept {
    std::ranges::fill(route_, nullptr);
    release_at_ = std::min(release_at_, steady_now() + release_pause);
    wake_at(release_at_);
    const auto count = members_.size(); // members that are added have no calls
    for (std::size_t i = 0; i < count; ++i)
        move_waiting(members_[i]);
}

void cluster_backend::reroute_at(std::int64_t at) noexcept {
    retry_at_ = std::min(retry_at_, at);
    wake_at(retry_at_);
}

void cluster_backend::reroute_later() noexcept {
    reroute_at(steady_now() + retry_pause);
}

void cluster_backend::on_map() {
    unrouted().node->connection.stop_counting();
    take_events(*unrouted().node);
    retries_.hurry_all(steady_now());
    reroute();
    update_ready();
}

void cluster_backend::on_no_map(errc why) {
    unrouted().node->connection.count_miss();
    unrouted().node->connection.await_address(why);
    take_events(*unrouted().node);
    update_ready();
}

/// Called when another node may serve what this one has served.
void cluster_backend::request_map(const redis_node& node) noexcept {
    const auto is_needed = [&](const member& m) { return m.node == &node && m.server; };
    if (!is_closed_ && std::ranges::any_of(members_, is_needed))
        finder_.request();
}

// Time

void cluster_backend::wake_at(std::int64_t at) noexcept {
    if (!is_closed_ && !timer_.expires_by(at))
        timer_.set(at, life().lock());
}

void cluster_backend::on_time() {
    const std::lock_guard guard{core().lock()};
    if (is_closed_)
        return;
    const auto now = steady_now();
    if (now >= retry_at_) {
        retry_at_ = retries_.next_end(now);
        reroute();
        update_ready();
    }
    if (now >= release_at_) {
        release_at_ = never;
        release_members();
    }
    if (const auto next = std::min(retry_at_, release_at_); next != never)
        wake_at(next);
}

/// Closes connections to servers that are not masters any more.
void cluster_backend::release_members() {
    // NOLINTNEXTLINE(modernize-loop-convert): taking events may add members
    for (std::size_t i = 0; i < members_.size(); ++i) {
        auto& m = members_[i];
        if (!m.server || std::ranges::binary_search(finder_.map().masters(), *m.server))
            continue;
        if (m.calls->expects_reply() || m.calls->has_waiting()) {
            release_at_ = steady_now() + release_pause;
            continue;
        }
        m.server.reset();
        retries_.drop(m.number);
        m.node->connection.suspend();
        take_events(*m.node);
    }
}

// State

/// Connects to all masters that serve one of the groups. Returns whether all are connected.
bool cluster_backend::try_ready() {
    if (!finder_.has_map())
        return false;
    auto is_each_ready = true;
    try {
        for (std::size_t group = 0; group < route_.size(); ++group)
            is_each_ready = member_of(group).node->connection.is_ready() && is_each_ready;
    } catch (const std::bad_alloc&) {
        reroute_later();
        return false;
    }
    return is_each_ready;
}

std::optional<errc> cluster_backend::refusal() const noexcept {
    for (const auto& m : members_)
        if (const auto& c = m.node->connection; c.is_refused())
            return c.error();
    return std::nullopt;
}

health_state cluster_backend::state() const noexcept {
    if (refusal())
        return health_state::refused;
    if (!finder_.has_map())
        return members_.front().node->connection.state();
    if (retries_.is_any_open())
        return health_state::degraded;
    auto worst = health_state::ready;
    for (const auto& m : members_) {
        if (!m.server)
            continue;
        const auto s = m.node->state();
        if (s == health_state::degraded)
            return s;
        worst = s == health_state::connecting ? s : worst;
    }
    return worst;
}

} // namespace colimit::detail
