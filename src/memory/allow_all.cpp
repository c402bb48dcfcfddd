// SPDX-License-Identifier: BSL-1.0
//
// Decides all checks first, and then charges all keys. In a full store the second step could find
// less room than the first, so
//
//   - chains of these keys are pinned: searches for room do not evict them;
//   - the room that new sketches need is reserved during the first step;
//   - keys without a chain are charged before the others. Two of them may use one shared state: if
//     the later one is denied, the charges are undone from copies of the shared states. Keys with a
//     chain can no longer be denied then.
//
// As in the script, all checks are evaluated before any is charged. Two checks about one state are
// an error, because the first would change the result of the second. In a full store two new keys
// may still share one state: so new keys are charged first, and that is undone if a later one is
// denied. The memory of new sketches is reserved, and existing keys are pinned, until then.

#include <memory/large_call.hpp>
#include <memory/store.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace colimit::memory {

class allow_all_call {
  public:
    /// @throws std::bad_alloc without an effect
    allow_all_call(store& s, std::span<check_item> checks, std::int64_t now)
        : store_(s), checks_(checks), now_(now) {
        for (std::size_t i = 0; i < checks.size(); ++i)
            find(i);
        if (needs_copies() && s.saved_.size() < checks.size())
            s.saved_.resize(checks.size());
    }

    void decide() noexcept {
        pin();
        auto all = true;
        for (std::size_t i = 0; i < checks_.size(); ++i) {
            peek(i);
            all = all && checks_[i].result.allowed();
        }
        if (!all || !charge_new_keys())
            return deny_all();
        for (std::size_t i = 0; i < checks_.size(); ++i)
            if (keys_[i].head != no_cell)
                charge(i);
    }

  private:
    struct key {
        hash::digest id;
        std::uint32_t head; ///< its chain, or none
        std::int64_t recovered_at;
        std::size_t reserved; ///< cells
        bool is_stale;        ///< even a denial must replace the stored state
    };

    [[nodiscard]] const detail::policy_data& policy_of(std::size_t i) const noexcept {
        return *detail::access::data(checks_[i].policy);
    }

    void find(std::size_t i) noexcept {
        const auto id = policy_of(i).digest(checks_[i].key);
        keys_[i] = {.id = id,
                    .head = store_.chains_.find(id, store_.chains_.seek(id)),
                    .recovered_at = 0,
                    .reserved = 0,
                    .is_stale = false};
        checks_[i].ec = {};
    }

    /// Returns whether several keys may write to one shared state. They do without
    /// enough cells, which the sketches of all keys take too, or without memory for a log.
    [[nodiscard]] bool needs_copies() noexcept {
        auto new_keys = std::size_t{0};
        auto cells = std::size_t{0};
        auto may_need_more = false;
        for (std::size_t i = 0; i < checks_.size(); ++i) {
            const auto& rules = policy_of(i).compiled;
            may_need_more = may_need_more || rules.has_log || rules.has_distinct;
            if (keys_[i].head != no_cell)
                continue;
            ++new_keys;
            cells += rules.state_count + 1; // a block of the shared state
        }
        copies_ = new_keys > 1 && (may_need_more || !store_.chains_.ensure_room(cells));
        return copies_;
    }

    void pin() noexcept {
        for (std::size_t i = 0; i < checks_.size(); ++i)
            if (keys_[i].head != no_cell)
                keys_[i].recovered_at = store_.chains_.pin(keys_[i].head, now_);
    }

    [[nodiscard]] core::call_request request_of(std::size_t i, detail::verb v) const noexcept {
        auto request = detail::make_request(v, checks_[i].options);
        request.now = now_;
        return request;
    }

    void peek(std::size_t i) noexcept {
        const auto request = request_of(i, detail::verb::peek);
        const auto& p = policy_of(i);
        auto& k = keys_[i];
        if (!p.compiled.has_distinct) {
            k.is_stale = store_.decide({k.id, k.head}, p, request, checks_[i].result);
            return;
        }
        k.is_stale = true; // which is not known yet
        k.reserved = large_call{store_, p, request, checks_[i].result}.prepare(k.id, k.head);
        store_.chains_.reserve(k.reserved);
    }

    /// Releases the key's reserved cells and unpins its chain.
    void release(std::size_t i) noexcept {
        auto& k = keys_[i];
        store_.chains_.release_reserved(std::exchange(k.reserved, 0));
        if (k.head != no_cell)
            store_.chains_.unpin(k.head, k.recovered_at);
    }

    void charge(std::size_t i) noexcept {
        release(i);
        store_.decide({keys_[i].id, keys_[i].head}, policy_of(i),
                      request_of(i, detail::verb::allow), checks_[i].result);
        BOOST_ASSERT(keys_[i].head == no_cell || checks_[i].result.allowed());
    }

    /// Charges the keys without a chain. If one is denied, undoes this and returns false.
    [[nodiscard]] bool charge_new_keys() noexcept {
        for (std::size_t i = 0; i < checks_.size(); ++i) {
            if (keys_[i].head != no_cell)
                continue;
            if (copies_)
                store_.saved_[i] = store_.shared_.set_for(keys_[i].id);
            charge(i);
            if (!checks_[i].result.allowed()) {
                undo(i);
                return false;
            }
        }
        return true;
    }

    /// Undoes the charges of the new keys up to this one, which was denied and keeps its result.
    void undo(std::size_t denied) noexcept {
        for (auto i = denied + 1; i-- != 0;) {
            auto& k = keys_[i];
            if (k.head != no_cell)
                continue;
            if (const auto made = store_.chains_.find(k.id, store_.chains_.seek(k.id));
                made != no_cell)
                store_.chains_.erase(made);
            if (copies_)
                store_.shared_.set_for(k.id) = store_.saved_[i];
        }
        for (std::size_t i = 0; i < denied; ++i)
            if (keys_[i].head == no_cell)
                store_.decide({keys_[i].id, no_cell}, policy_of(i),
                              request_of(i, detail::verb::peek), checks_[i].result);
    }

    /// Denies all checks, which only moves states from the future, if the clock was set back.
    void deny_all() noexcept {
        for (std::size_t i = 0; i < checks_.size(); ++i) {
            release(i);
            checks_[i].result.granted = 0;
            if (keys_[i].head == no_cell || !keys_[i].is_stale)
                continue;
            auto nothing = request_of(i, detail::verb::unreserve);
            nothing.at_least = -1; // no reservation ends then, so none is released
            auto ignored = decision{};
            store_.decide({keys_[i].id, keys_[i].head}, policy_of(i), nothing, ignored);
        }
    }

    store& store_;
    std::span<check_item> checks_;
    std::int64_t now_;
    std::array<key, limits::max_checks> keys_;
    bool copies_ = false;
};

decision store::allow_all(std::span<check_item> checks, std::int64_t now) {
    BOOST_ASSERT(!checks.empty() && checks.size() <= limits::max_checks && now >= 0);
    allow_all_call{*this, checks, now}.decide();
    return core::most_restrictive(checks, &check_item::result);
}

} // namespace colimit::memory
