// SPDX-License-Identifier: BSL-1.0
//
// The transitions of a map's refreshes.

#include <redis/cluster/map_refresh.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <array>
#include <new>
#include <span>
#include <utility>

namespace colimit::redis {
namespace {

/// The pause between refreshes is this part of the time since the first request.
constexpr std::int64_t pause_part = 24;

} // namespace

map_refresh::map_refresh(map_refresh_settings settings, std::vector<host_port> seeds)
    : settings_(settings), seeds_(std::move(seeds)), patience_(settings.reply_timeout),
      random_(settings.seed), rotation_(random_()) {
    BOOST_ASSERT(!seeds_.empty());
}

std::int64_t map_refresh::wake_at() const noexcept {
    if (asked_)
        return progress_at_ + patience_;
    return is_requested_ ? earliest_ : periodic_at_;
}

std::optional<map_refresh::query> map_refresh::wake(std::int64_t now) {
    if (now < wake_at())
        return std::nullopt;
    if (asked_) {
        on_failure(asked_->number, now);
        return std::nullopt;
    }
    if (!is_requested_)
        failed_.clear();
    else if (!requested_at_)
        request(now); // the first refresh of all
    const auto* node = next_node();
    if (node == nullptr) {
        failed_.clear();
        patience_ = std::min(2 * patience_, settings_.reply_timeout);
        takes_any_ = has_doubt_;
        has_doubt_ = false;
        node = next_node();
    }
    asked_ = query{*node, ++queries_};
    asked_at_ = progress_at_ = now;
    ++rotation_;
    is_requested_ = false;
    return asked_;
}

/// Returns the next of these nodes that has not failed; nullptr if all have.
const host_port* map_refresh::next_of(std::span<const host_port> nodes) const {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const auto& node = nodes[(rotation_ + i) % nodes.size()];
        if (!failed_.contains(node))
            return &node;
    }
    return nullptr;
}

/// Returns the next node that has not failed; nullptr if all have.
const host_port* map_refresh::next_node() const {
    const auto kinds = std::array<std::span<const host_port>, 3>{masters_, replicas_, seeds_};
    for (std::size_t i = 0; i < kinds.size(); ++i)
        if (const auto* node = next_of(kinds[(failed_.size() + i) % kinds.size()]))
            return node;
    return next_of(map_.masters()); // also those that redirections have named
}

/// Returns whether requests continue: they come at least once for each refresh.
bool map_refresh::is_troubled(std::int64_t now) const noexcept {
    const auto longest_gap = 2 * settings_.pause_most + settings_.reply_timeout;
    return requested_at_ && now - *requested_at_ <= longest_gap;
}

void map_refresh::request(std::int64_t now) {
    if (!is_troubled(now))
        trouble_since_ = now;
    requested_at_ = now;
    is_requested_ = true;
}

bool map_refresh::apply_moved(std::uint16_t slot, const host_port& to, std::int64_t now) {
    request(now);
    return map_.apply_moved(slot, to);
}

/// Returns whether a map with these ids is one of the same cluster, as far as is known.
bool map_refresh::is_related(std::span<const std::string> ids) const {
    return ids.empty() || ids_.empty() || std::ranges::any_of(ids, [this](const std::string& id) {
               return std::ranges::binary_search(ids_, id);
           });
}

map_refresh::outcome map_refresh::on_reply(std::uint64_t number, slot_map fresh,
                                           std::optional<cluster_info> info, std::int64_t now,
                                           std::vector<std::string> ids) {
    if (!asked_ || asked_->number != number)
        return outcome::late;
    constexpr auto times_slower = 4;
    patience_ = std::clamp(times_slower * (now - asked_at_),
                           std::min(settings_.usual_timeout, settings_.reply_timeout),
                           settings_.reply_timeout);
    const auto is_kin = is_related(ids);
    if (has_map_ && !is_kin && std::ranges::find(seeds_, asked_->node) == seeds_.end()) {
        reject(now);
        return outcome::foreign;
    }
    const auto is_empty = fresh.masters().empty();
    const auto is_doubtful =
        is_empty || (info && (!info->is_ok || (epoch_ && info->epoch < *epoch_)));
    if (is_doubtful && has_map_ && !takes_any_) {
        has_doubt_ = true;
        reject(now);
        return outcome::doubtful;
    }
    if (!is_empty) {
        masters_.assign(fresh.masters().begin(), fresh.masters().end());
        replicas_.assign(fresh.replicas().begin(), fresh.replicas().end());
        ids_ = std::move(ids);
    }
    auto has_gaps = false;
    if (is_kin && is_empty)
        fresh = map_;
    else if (is_kin)
        has_gaps = fresh.fill_gaps(map_);
    const auto is_changed = !has_map_ || fresh != map_;
    if (is_changed)
        map_ = std::move(fresh);
    has_map_ = true;
    epoch_ = info ? std::optional{info->epoch} : std::nullopt;
    takes_any_ = has_doubt_ = false;
    if (is_changed)
        trouble_since_ = now;
    if (is_doubtful) {
        reject(now);
    } else {
        asked_.reset();
        if (!has_gaps)
            gaps_since_.reset();
        else if (now - gaps_since_.emplace(gaps_since_.value_or(now)) < settings_.period)
            request(now);
        pause(now);
    }
    return is_changed ? outcome::changed : outcome::unchanged;
}

void map_refresh::on_failure(std::uint64_t number, std::int64_t now) noexcept {
    if (asked_ && asked_->number == number)
        reject(now);
}

/// Ends the refresh; another node is to be asked.
void map_refresh::reject(std::int64_t now) noexcept {
    try {
        failed_.insert(asked_->node);
    } catch (const std::bad_alloc&) { // it may be asked again before the others
    }
    asked_.reset();
    request(now);
    pause(now);
}

void map_refresh::pause(std::int64_t now) {
    const auto part = is_troubled(now) ? (now - trouble_since_) / pause_part : 0;
    const auto length = std::clamp(part, settings_.pause_least, settings_.pause_most);
    auto jitter = std::uniform_int_distribution<std::int64_t>{length, length + length / 2};
    earliest_ = now + jitter(random_);
    const auto period = settings_.period;
    auto phase =
        std::uniform_int_distribution<std::int64_t>{period - period / 4, period + period / 4};
    periodic_at_ = now + phase(random_);
}

} // namespace colimit::redis
