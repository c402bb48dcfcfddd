// SPDX-License-Identifier: BSL-1.0
//
// The connection on which nodes are asked for the map.

#include <base/clocks.hpp>
#include <redis/cluster/map_finder.hpp>
#include <redis/protocol/reply_error.hpp>

#include <mutex>
#include <new>
#include <string>
#include <utility>

namespace colimit::redis {
namespace {

/// Returns the error of calls while there is no map for this reason.
[[nodiscard]] errc error_of(const slot_map_result& failed) noexcept {
    if (!failed.is_refused)
        return errc::bad_reply;
    const auto meaning = classify(failed.problem);
    if (meaning.code == errc::auth_failed)
        return errc::auth_failed;
    return meaning.recovery == recovery::server_busy ? errc::unavailable : errc::bad_reply;
}

} // namespace

map_finder::map_finder(const connection::executor& own, detail::thread_lock& lock,
                       map_finder_settings settings, error_sink& problems, map_owner& owner,
                       const std::weak_ptr<void>& life)
    : lock_(lock), problems_(problems), owner_(owner), life_(life), log_(settings.connection.log),
      where_(settings.connection.where), may_connect_(std::move(settings.may_connect)),
      refresh_(settings.refresh, where_.hosts),
      connection_(own, lock, std::move(settings.connection), requests_, problems, *this, life),
      timer_(own, lock, [this] { on_time(); }) {}

void map_finder::close(bool now) noexcept {
    is_closed_ = true;
    timer_.clear();
    connection_.close(now);
}

void map_finder::request() noexcept {
    refresh_.request(detail::steady_now());
    wait();
}

bool map_finder::admit(const host_port& node) {
    if (may_connect_(node))
        return true;
    problems_.note_own(errc::unavailable, phase::resolve,
                       "config::advanced.may_connect does not allow node", to_string(node));
    request();
    return false;
}

bool map_finder::apply_moved(std::uint16_t slot, const host_port& to) {
    const auto is_changed = refresh_.apply_moved(slot, to, detail::steady_now());
    wait();
    return is_changed;
}

void map_finder::on_time() {
    const std::lock_guard guard{lock_};
    wake();
}

/// Asks a node if that is due, or gives up one that is late.
void map_finder::wake() {
    if (is_closed_)
        return;
    try {
        const auto query = refresh_.wake(detail::steady_now());
        if (query_ != 0 && !refresh_.is_asking())
            give_up();
        if (query)
            ask(*query);
    } catch (const std::bad_alloc&) { // a node that could not be asked is late in the end
    }
    wait();
}

void map_finder::ask(const map_refresh::query& query) {
    query_ = query.number;
    if (!may_connect_(query.node))
        return refresh_.on_failure(std::exchange(query_, 0), detail::steady_now());
    log_.write(log_level::debug, "asking ", query.node.host, " for the map of the cluster");
    requests_.ask(query.node.host);
    connection_.move_to(where_.at(query.node));
}

void map_finder::wait() noexcept {
    if (is_closed_)
        return;
    const auto at = refresh_.wake_at();
    if (!timer_.expires_by(at))
        timer_.set(at, life_.lock());
}

/// The node is slower than others have been: one of them is asked.
void map_finder::give_up() {
    connection_.problems().note_own(errc::unavailable, connection_.reached(),
                                    "no map of the cluster: the node is silent for too long", {});
    end_query();
    notify_owner(errc::unavailable);
}

void map_finder::end_query() {
    query_ = 0;
    connection_.suspend();
    (void)connection_.take_events(); // its end is no failure
}

/// The node could not be asked.
void map_finder::fail_query() {
    const auto error = connection_.error();
    refresh_.on_failure(query_, detail::steady_now());
    end_query();
    notify_owner(is_refusal(error) ? error : errc::unavailable);
    wait();
}

void map_finder::on_events() {
    const auto happened = connection_.take_events();
    if (happened.ready)
        refresh_.note_progress(connection_.now());
    if (happened.lost && query_ != 0)
        fail_query();
    try {
        if (auto answer = requests_.take_answer())
            take(std::move(*answer));
    } catch (const std::bad_alloc&) { // it will be asked again
        end_query();
    }
    connection_.flush();
    connection_.wait();
}

void map_finder::take(map_requests::answer answer) {
    const auto number = query_;
    const auto now = detail::steady_now();
    end_query();
    if (!answer.slots.map) {
        const auto code = error_of(answer.slots);
        connection_.problems().note({.code = code,
                                     .phase = phase::reply,
                                     .text = "no map of the cluster: " + answer.slots.problem});
        refresh_.on_failure(number, now);
        notify_owner(code);
        return wait();
    }
    using enum map_refresh::outcome;
    const auto outcome = refresh_.on_reply(number, std::move(*answer.slots.map), answer.info, now,
                                           std::move(answer.slots.ids));
    if (outcome == foreign)
        connection_.problems().note_own(errc::unavailable, phase::reply,
                                        "no map of the cluster: the node is now in another cluster",
                                        {});
    if (outcome == changed || outcome == unchanged)
        owner_.on_map();
    if (outcome == changed)
        log_.write(log_level::info, "new map of the cluster: masters: ", map().masters().size());
    wait();
}

/// Tells the owner why there is no map.
void map_finder::notify_owner(errc why) {
    if (!has_map())
        owner_.on_no_map(why);
}

} // namespace colimit::redis
