// SPDX-License-Identifier: BSL-1.0
//
// Second part of a cluster behind a limiter: batches that a node has not executed.

#include <base/clocks.hpp>
#include <limiter/cluster_backend.hpp>

#include <algorithm>
#include <new>
#include <string>

namespace colimit::detail {
namespace {

/// A batch that was redirected this often waits for a moment: its nodes do not agree.
constexpr std::size_t most_redirections = 5;

} // namespace

/// Keeps a batch for a pause, or ends it if that was in vain too often: no node takes it now.
redis::batch_destination cluster_backend::retry_later(std::size_t because_of, bool counts) {
    const auto now = steady_now();
    retries_.reject(because_of, now, counts);
    schedule_flush(*unrouted().node); // which sets the timer for deadlines, and tells the state
    if (retries_.is_open(because_of)) {
        reroute_at(now); // others wait for it, too
        return {.error = errc::unavailable};
    }
    reroute_at(retries_.next_end(now));
    return {.queue = unrouted().calls, .parked = true};
}

redis::batch_destination cluster_backend::redirect(const redis::script_queue& from,
                                                   const redis::rejected_batch& what) noexcept {
    try {
        const auto sender = std::ranges::find(members_, &from, &member::calls);
        return route_of(*sender, what);
    } catch (const std::bad_alloc&) {
        reroute_later();
        return {.queue = unrouted().calls, .parked = true};
    }
}

void cluster_backend::on_served(const redis::script_queue& by, std::size_t group,
                                bool was_parked) noexcept {
    if (retries_.is_empty())
        return;
    retries_.serve(group, was_parked);
    retries_.serve(std::ranges::find(members_, &by, &member::calls)->number, true);
    if (was_parked)
        reroute_at(steady_now()); // others may be served, too
}

void cluster_backend::report_slot(std::string_view problem, std::size_t slot,
                                  std::string_view reply) {
    reports().problems().note_own(errc::unavailable, phase::script,
                                  std::string{problem} + std::to_string(slot) + ':', reply);
    finder_.request();
}

/// Returns where a batch waits that a node has rejected without naming another one.
redis::batch_destination cluster_backend::wait_for(const member& from,
                                                   const redis::rejected_batch& what) {
    const auto is_moving = what.error.starts_with("TRYAGAIN"); // some of the keys have moved
    if (is_moving && what.may_be_divided)
        return {.queue = from.calls, .divided = true, .parked = true};
    reports().problems().note(
        {.code = errc::unavailable, .phase = phase::script, .text = what.error});
    finder_.request();
    const auto is_about_slot = is_moving || what.error.starts_with("CLUSTERDOWN Hash slot");
    return retry_later(is_about_slot ? what.group : from.number, !is_moving);
}

/// Returns the server to which a node sends a batch; nullopt if that cannot be known.
std::optional<redis::host_port> cluster_backend::target_of(const redis::redirection& to,
                                                           const member& from) {
    if (!to.target.host.empty())
        return to.target;
    const auto* owner = finder_.map().owner(to.slot); // the map has its address
    if (owner == nullptr || owner->port != to.target.port || from.server == *owner)
        return std::nullopt;
    return *owner;
}

redis::batch_destination cluster_backend::route_of(const member& from,
                                                   const redis::rejected_batch& what) {
    if (what.is_denied)
        return {.error = errc::auth_failed}; // which was reported
    const auto to = redis::read_redirection(what.error, from.server ? from.server->host : "");
    if (!to)
        return wait_for(from, what);
    if (to->slot != tags_.slot(what.group))
        return {}; // it is about other keys
    const auto target = target_of(*to, from);
    if (!target) {
        report_slot("the node that is named for a slot has no host name; slot ", to->slot,
                    what.error);
        return retry_later(what.group, true);
    }
    if (to->kind == redis::redirection_kind::moved && finder_.apply_moved(to->slot, *target)) {
        retries_.hurry(what.group, steady_now());
        reroute();
    }
    if (what.redirections == most_redirections) {
        const auto sender = from.server ? to_string(*from.server) : std::string{};
        report_slot("nodes do not agree about the owner of slot ", to->slot,
                    sender + " sends calls to " + to_string(*target) + ", which sends them on");
        return retry_later(what.group, true);
    }
    auto& m = member_at(*target);
    schedule_flush(*m.node);
    return {.queue = m.calls,
            .asking = to->kind == redis::redirection_kind::ask,
            .redirections = what.redirections + 1};
}

} // namespace colimit::detail
