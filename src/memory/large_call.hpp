// SPDX-License-Identifier: BSL-1.0
//
// A call whose policy has a log or sketches. They are asked before the arithmetic and changed after
// it, so whether there is room for a new member is settled before anything is granted.

#ifndef COLIMIT_MEMORY_LARGE_CALL_HPP
#define COLIMIT_MEMORY_LARGE_CALL_HPP

#include <memory/call_states.hpp>
#include <memory/store.hpp>

#include <array>
#include <cstdint>

namespace colimit::memory {

class large_call {
  public:
    large_call(store& s, const detail::policy_data& p, const core::call_request& request,
               decision& out) noexcept;
    large_call(const large_call&) = delete;
    large_call& operator=(const large_call&) = delete;
    ~large_call() = default;

    /// @param head the key's chain, or none
    void answer(const hash::digest& id, std::uint32_t head) noexcept;

    /// Answers a peek, and makes the room in sketches that an `allow` would take.
    /// @returns how many more cells the `allow` needs, so that it is not denied for lack of them
    [[nodiscard]] std::size_t prepare(const hash::digest& id, std::uint32_t head) noexcept;

  private:
    /// What has become of a rule's sketch in this call.
    enum class sketch_is : std::uint8_t {
        there,
        new_one, ///< there is none, or only that of a window that is over
        lost,    ///< there is no room for it, or was none once: no member can be told from another
    };

    [[nodiscard]] bool counts_member() const noexcept;
    [[nodiscard]] bool adds_member() const noexcept;
    [[nodiscard]] std::int64_t now() const noexcept { return request_.now; }

    void read(const hash::digest& id) noexcept;
    void tell_members() noexcept;
    [[nodiscard]] sketch_is find_sketch(std::uint32_t rule) noexcept;
    [[nodiscard]] std::size_t cells_of_newcomer() const noexcept;
    [[nodiscard]] bool make_room_in(core::hyperloglog& sketch) noexcept;

    [[nodiscard]] bool may_grow() noexcept;
    [[nodiscard]] bool change_log(const decision* answer) noexcept;

    void store_all(const hash::digest& id) noexcept;
    [[nodiscard]] bool make_place() noexcept;
    [[nodiscard]] bool own_log() noexcept;
    void settle_sketches() noexcept;
    void add_member(std::uint32_t rule) noexcept;

    store& store_;
    const detail::policy_data& policy_;
    const core::compiled_policy& rules_;
    core::call_request request_;
    decision& out_;
    core::hyperloglog::mark mark_{};

    call_states memory_;
    std::array<core::hyperloglog*, limits::max_rules_per_policy> sketches_{};
    std::array<sketch_is, limits::max_rules_per_policy> sketch_is_{};
    contents c_;
    core::event_log fresh_; ///< where the key has no log, or none of its own
    core::event_log* log_ = &fresh_;
    std::uint32_t head_ = no_cell;
    std::size_t new_sketches_ = 0;
    bool shares_ = false;
    bool may_add_; ///< a member to sketches
};

} // namespace colimit::memory

#endif
