// SPDX-License-Identifier: BSL-1.0
//
// Connects to the server that has the key, and asks it in each poll.

#include <base/clocks.hpp>
#include <colimit/limits.hpp>
#include <policy_source/key_link.hpp>
#include <redis/protocol/hash_slot.hpp>

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

namespace colimit::detail {
namespace {

/// Replies are a document, and those of the handshake.
constexpr auto document_bounds =
    redis::resp::reply_bounds{.nodes = redis::resp::reply_nodes,
                              .bytes = limits::max_json_bytes + redis::resp::reply_bytes,
                              .bulk = limits::max_json_bytes};

/// A redirection that comes sooner after another one is not followed, but the map is asked for: two
/// nodes that redirect to each other would be connected to without a pause.
constexpr std::int64_t redirection_pause = 100'000;

/// The connection executes no calls. Polls check whether it is alive, so it needs no PING, and no
/// breaker: a question costs nothing.
[[nodiscard]] redis::connection_settings settings_of(const config& c, const redis::address& a,
                                                     const shared_tls& tls) {
    auto made = connection_settings_of(c, a, tls);
    made.session.executes_calls = made.session.transactions = false;
    made.breaker.misses = std::numeric_limits<int>::max();
    made.ping_interval = 0;
    made.long_bulks = redis::resp::decoder::long_bulks::empty;
    made.reply_bounds = document_bounds;
    return made;
}

} // namespace

key_link::key_link(source_core& core, const config& settings, const redis::address& where,
                   const std::string& key, std::int64_t poll_interval, link_owner& owner)
    : life_(core.weak_from_this()), owner_(owner), where_(where), tls_(make_tls(settings, where)),
      slot_(redis::hash_slot(key)), poll_interval_(poll_interval),
      patience_(in_us(settings.advanced.connect_timeout) + poll_interval),
      problems_(where.password, steady_now, logger{settings.log}), requests_(key),
      connection_(core.own_executor(), core.lock(), settings_of(settings, where, tls_), requests_,
                  problems_, *this, life_) {
    if (where.kind == redis::address::kind::sentinel)
        masters_.emplace(core.own_executor(), core.lock(),
                         sentinel_settings_of(settings, where, tls_), problems_,
                         static_cast<redis::finder_owner&>(*this), life_);
    if (where.kind == redis::address::kind::cluster)
        nodes_.emplace(core.own_executor(), core.lock(), map_settings_of(settings, where, tls_),
                       problems_, static_cast<redis::map_owner&>(*this), life_);
}

void key_link::open() {
    answered_at_ = steady_now();
    if (masters_)
        masters_->open();
    else if (nodes_)
        nodes_->open();
    else
        connection_.open();
    connection_.wait(next_event()); // also for the time at which silence is a problem
}

void key_link::close() noexcept {
    if (masters_)
        masters_->close(false);
    if (nodes_)
        nodes_->close(false);
    connection_.close(false);
}

void key_link::ask_version() {
    if (!connection_.is_ready())
        return; // asked when it is
    asked_at_ = connection_.now();
    requests_.ask_version();
    end_turn();
}

void key_link::end_turn() {
    connection_.flush();
    take_events();
    connection_.wait(next_event());
}

std::int64_t key_link::next_event() const noexcept {
    const auto silence_at = is_silent_ ? redis::liveness::never : answered_at_ + patience_;
    return connection_.is_ready() && !requests_.expects_reply()
               ? std::min(asked_at_ + poll_interval_, silence_at)
               : silence_at;
}

void key_link::take_events() {
    const auto happened = connection_.take_events();
    if (happened.ready) {
        if (!happened.lost)
            problems_.note_ready();
        asked_at_ = connection_.now();
        requests_.ask_version();
    }
    if (happened.lost)
        look_elsewhere();
}

/// Another server may have the key by now.
void key_link::look_elsewhere() {
    if (masters_)
        masters_->ask();
    if (nodes_)
        nodes_->request();
}

void key_link::on_events() {
    take_events();
    try {
        if (auto answer = requests_.take_answer())
            take(*std::move(answer));
        if (connection_.now() >= answered_at_ + patience_ && !is_silent_) {
            owner_.on_silence(silence());
            is_silent_ = true;
            look_elsewhere();
        }
    } catch (const std::bad_alloc&) { // NOLINT(bugprone-empty-catch): it is asked again
    }
    if (connection_.is_ready() && connection_.now() >= asked_at_ + poll_interval_)
        return ask_version();
    end_turn();
}

void key_link::take(redis::document_requests::answer answer) {
    const auto moved =
        nodes_ && node_ ? redis::read_redirection(answer.error, node_->host) : std::nullopt;
    if (moved && moved->kind == redis::redirection_kind::moved)
        return follow(*moved);
    is_silent_ = false;
    if (answer.error.empty())
        problems_.note_ready();
    else
        answer.error = silence(); // printable, and with the node that has sent it
    owner_.on_answer(std::move(answer));
    answered_at_ = steady_now(); // the server is not silent while a document is checked
}

/// Returns why there is no document: the last problem, if it is not solved.
std::string key_link::silence() const {
    auto known = problems_.unsolved();
    if (!known && !connection_.is_ready())
        known = problems_.last();
    if (!known)
        return "the server does not reply";
    known->count = 1; // the text of an event does not change while it stays so
    return to_string(*known);
}

// A cluster

/// A redirection is not an answer: nodes that only redirect are reported like silent ones.
void key_link::follow(const redis::redirection& moved) {
    const auto now = connection_.now();
    if (moved.target.host.empty() || !nodes_->admit(moved.target) ||
        now < moved_at_ + redirection_pause)
        return nodes_->request();
    moved_at_ = now;
    nodes_->apply_moved(moved.slot, moved.target);
    follow_map();
}

/// Connects to the node that serves the key.
void key_link::follow_map() {
    const auto* owner = nodes_->map().owner(slot_);
    if (owner == nullptr)
        return nodes_->request();
    if (node_ == *owner)
        return;
    if (!nodes_->admit(*owner))
        return;
    move_to(*owner);
    node_ = *owner;
}

void key_link::move_to(const redis::host_port& node) {
    connection_.move_to(where_.at(node));
    take_events();
}

/// @param why there is no node
void key_link::await_node(errc why) {
    if (node_)
        return;
    connection_.await_address(why);
    take_events();
}

} // namespace colimit::detail
