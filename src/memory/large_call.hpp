// SPDX-License-Identifier: BSL-1.0
//
// A call whose policy has a log, sketches or a set of holders. They are read before the arithmetic
// and changed after it, so room for a new member or holder is made before anything is granted.

#pragma once

#include <memory/store.hpp>

#include <array>
#include <cstdint>
#include <memory>

namespace colimit::memory {

class large_call {
  public:
    large_call(store& s, const detail::policy_data& p, const core::call_request& request,
               decision& result) noexcept;
    large_call(const large_call&) = delete;
    large_call& operator=(const large_call&) = delete;
    ~large_call() = default;

    /// @param head the key's chain, or none
    void decide(const hash::digest& id, std::uint32_t head) noexcept;

    /// Decides a peek, and makes the room in sketches that an `allow` needs.
    /// @returns how many more cells the `allow` needs, so that it is not denied for lack of them
    [[nodiscard]] std::size_t prepare(const hash::digest& id, std::uint32_t head) noexcept;

  private:
    enum class sketch_state : std::uint8_t {
        existing,
        created, ///< does not exist yet, or is of a window that has ended
        missing, ///< has or had no room, so members cannot be distinguished
    };

    [[nodiscard]] bool counts_member() const noexcept;
    [[nodiscard]] bool adds_member() const noexcept;
    [[nodiscard]] std::int64_t now() const noexcept { return request_.now; }

    void read(const hash::digest& id) noexcept;
    void report_members() noexcept;
    [[nodiscard]] sketch_state find_sketch(std::uint32_t rule) noexcept;
    [[nodiscard]] std::size_t cells_of_new_key() const noexcept;
    [[nodiscard]] bool make_room_in(core::hyperloglog& sketch) noexcept;

    [[nodiscard]] bool begin_slots() noexcept;
    [[nodiscard]] bool end_slots() noexcept;
    void drop_new_slots() noexcept;
    [[nodiscard]] bool make_room_for_holder() noexcept;
    template<class Change>
    bool change_slots(Change change) noexcept;

    [[nodiscard]] bool make_room_to_record() noexcept;
    [[nodiscard]] bool change_log(const decision* decided) noexcept;

    void store_contents(const hash::digest& id, core::effect effect) noexcept;
    void keep_found() noexcept;
    [[nodiscard]] bool make_room() noexcept;
    [[nodiscard]] bool insert_log() noexcept;
    void update_sketches() noexcept;
    void add_member(std::uint32_t rule) noexcept;

    store& store_;
    const detail::policy_data& policy_;
    const core::compiled_policy& rules_;
    core::call_request request_;
    decision& result_;
    core::hyperloglog::register_update member_{};

    call_states memory_;
    call_states found_; ///< before the call
    std::array<core::hyperloglog*, limits::max_rules_per_policy> sketches_{};
    std::array<sketch_state, limits::max_rules_per_policy> sketch_states_{};
    contents c_;
    core::event_log new_log_; ///< used if the key has no log, or a shared one
    core::event_log* log_ = &new_log_;
    std::unique_ptr<core::event_log> spare_log_; ///< for a log that the key may need
    std::unique_ptr<core::slot_set> new_slots_;  ///< used if the key has no set
    core::slot_set no_slots_;
    core::slot_set* slots_ = &no_slots_;
    std::uint32_t head_ = no_cell;
    std::size_t new_sketches_ = 0;
    std::size_t reserved_ = 0;        ///< cells
    bool has_room_for_holder_ = true; ///< or the call asks for none
    bool is_shared_ = false;          ///< the key uses shared states
    bool may_add_;                    ///< the call may add a member to sketches
};

} // namespace colimit::memory
