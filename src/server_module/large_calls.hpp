// SPDX-License-Identifier: BSL-1.0
//
// Calls on keys that have a log or sketches beside their numbers. An error of these ends
// the calls on the key, and those on other keys go on.

#pragma once

#include <server_module/key_calls.hpp>
#include <server_module/key_results.hpp>
#include <server_module/member_sketches.hpp>
#include <server_module/policy_states.hpp>
#include <server_module/stored_log.hpp>
#include <server_module/string_value.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace colimit::server_module {

class large_calls final : public key_calls {
  public:
    /// @param names the keys, the first of which has the index `first` in the results; their logs,
    ///        if the policy has one; and their sketches
    /// @param finds_again whether keys may be repeated
    large_calls(command_run& run, const core::compiled_policy& rules, std::span<api::string*> names,
                std::size_t keys, std::size_t first, bool finds_again, key_results& results);

    void begin(std::size_t key) override;
    void make(const listed_call& call, pass how) override;
    void finish() override;
    [[nodiscard]] bool finds_stale() const noexcept override { return finds_stale_; }

  private:
    using numbers = std::array<std::int64_t, core::max_states>;

    [[nodiscard]] std::span<core::rule_state> states() noexcept { return states_.state().states; }
    [[nodiscard]] bool advance_windows() noexcept;
    [[nodiscard]] bool has_moved() noexcept;
    void open();
    void make_one(const detail::call_request& request);
    void allow(const detail::call_request& request);
    void adjust(const detail::call_request& request);
    void change_log(const detail::call_request& request);
    void move_to_now();
    void append_facts(const numbers* members);
    void fail(const call_failure& error);
    void save_log();
    void save();

    command_run& run_;
    const core::compiled_policy& rules_;
    std::span<api::string*> names_;
    std::span<api::string*> logs_;
    std::size_t first_;
    key_results& results_;
    policy_states states_;
    stored_log log_;
    member_sketches sketches_;

    std::size_t key_ = 0;
    std::size_t facts_before_ = 0; ///< bytes of earlier keys
    bool is_moved_ = false;        ///< a window may end at another time than before
    bool finds_stale_ = false;
};

} // namespace colimit::server_module
