// SPDX-License-Identifier: BSL-1.0
//
// First every key is asked, then all are charged. What the second step finds could differ from what
// the first one found where the store is full, so
//
//   - chains of these keys are pinned: the search for room evicts none of them;
//   - the room that new sketches take is reserved while the first step lasts;
//   - keys without a chain are charged before the others. Two of them may fall on one shared state:
//     if a later one is denied, what was charged is undone from copies of the shared states. Keys
//     with a chain cannot be denied any more.

#include <memory/allow_all.hpp>
#include <memory/call_states.hpp>
#include <memory/large_call.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace colimit::memory {

class joint_call {
  public:
    /// What it throws (bad_alloc) leaves the store as it was.
    joint_call(store& s, std::span<check_item> checks, std::int64_t now)
        : store_(s), checks_(checks), now_(now) {
        for (std::size_t i = 0; i < checks.size(); ++i)
            find(i);
        if (needs_copies() && s.saved_.size() < checks.size())
            s.saved_.resize(checks.size());
    }

    void answer() noexcept {
        pin();
        auto all = true;
        for (std::size_t i = 0; i < checks_.size(); ++i) {
            make_request(i);
            all = all && checks_[i].result.allowed();
        }
        if (!all || !charge_newcomers())
            return grant_nothing();
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
        bool is_stale;        ///< a denial must replace what is stored
    };

    [[nodiscard]] const detail::policy_data& policy_of(std::size_t i) const noexcept {
        return *checks_[i].policy.data();
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

    /// Whether keys may fall on one shared state and write to it: for want of cells, which the
    /// sketches of all keys take too, or of memory for a log.
    [[nodiscard]] bool needs_copies() noexcept {
        auto newcomers = std::size_t{0};
        auto cells = std::size_t{0};
        auto may_want_more = false;
        for (std::size_t i = 0; i < checks_.size(); ++i) {
            const auto& plan = policy_of(i).compiled;
            may_want_more = may_want_more || plan.has_log || plan.has_distinct;
            if (keys_[i].head != no_cell)
                continue;
            ++newcomers;
            cells += plan.slots + 1; // a block that it shares
        }
        copies_ = newcomers > 1 && (may_want_more || !store_.chains_.has_room(cells));
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

    void make_request(std::size_t i) noexcept {
        const auto request = request_of(i, detail::verb::peek);
        const auto& p = policy_of(i);
        auto& k = keys_[i];
        if (!p.compiled.has_distinct) {
            k.is_stale = store_.answer({k.id, k.head}, p, request, checks_[i].result);
            return;
        }
        k.is_stale = true; // it may be, which is not known yet
        k.reserved = large_call{store_, p, request, checks_[i].result}.prepare(k.id, k.head);
        store_.chains_.reserve(k.reserved);
    }

    /// Nothing of the call's own keeps the store from changing the key any more.
    void release(std::size_t i) noexcept {
        auto& k = keys_[i];
        store_.chains_.release_reserved(std::exchange(k.reserved, 0));
        if (k.head != no_cell)
            store_.chains_.unpin(k.head, k.recovered_at);
    }

    void charge(std::size_t i) noexcept {
        release(i);
        store_.answer({keys_[i].id, keys_[i].head}, policy_of(i),
                      request_of(i, detail::verb::allow), checks_[i].result);
        BOOST_ASSERT(keys_[i].head == no_cell || checks_[i].result.allowed());
    }

    /// False when one was denied, and all is as it was.
    [[nodiscard]] bool charge_newcomers() noexcept {
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

    /// The charges of newcomers up to this one, which was denied and says so.
    void undo(std::size_t denied) noexcept {
        for (auto i = denied + 1; i-- != 0;) {
            auto& k = keys_[i];
            if (k.head != no_cell)
                continue;
            if (const auto made = store_.chains_.find(k.id, store_.chains_.seek(k.id));
                made != no_cell)
                store_.chains_.forget(made);
            if (copies_)
                store_.shared_.restore(k.id, store_.saved_[i]);
        }
        for (std::size_t i = 0; i < denied; ++i)
            if (keys_[i].head == no_cell)
                store_.answer({keys_[i].id, no_cell}, policy_of(i),
                              request_of(i, detail::verb::peek), checks_[i].result);
    }

    /// A denial changes nothing, except that it moves what lies after now: the clock was set back.
    void grant_nothing() noexcept {
        for (std::size_t i = 0; i < checks_.size(); ++i) {
            release(i);
            checks_[i].result.granted = 0;
            if (keys_[i].head == no_cell || !keys_[i].is_stale)
                continue;
            auto nothing = request_of(i, detail::verb::unreserve);
            nothing.at_least = -1; // no place ends then, so none is given up
            auto ignored = decision{};
            store_.answer({keys_[i].id, keys_[i].head}, policy_of(i), nothing, ignored);
        }
    }

    store& store_;
    std::span<check_item> checks_;
    std::int64_t now_;
    std::array<key, limits::max_checks> keys_;
    bool copies_ = false;
};

decision answer_together(store& s, std::span<check_item> checks, std::int64_t now) {
    joint_call{s, checks, now}.answer();
    const auto binding =
        std::ranges::max_element(checks, [](const check_item& a, const check_item& b) {
            return core::binds_more(b.result, a.result);
        });
    return binding->result;
}

} // namespace colimit::memory
