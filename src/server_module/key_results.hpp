// SPDX-License-Identifier: BSL-1.0
//
// What a script call replies: for each key the value that was found, or nil, or the text of its
// error; then the header with the nonce, the time, what was granted, and the status of each key.

#pragma once

#include <server_module/command_run.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::server_module {

/// The status of a key, as the reply has it.
enum class key_status : char {
    fine = '.',
    conflict = 'c', ///< the key has a value of another type
    error = 'e',
    remembered = 'r', ///< a call with an id that was made before
};

class key_results {
  public:
    explicit key_results(std::size_t keys) : keys_(keys) {}

    [[nodiscard]] std::size_t size() const noexcept { return keys_.size(); }

    /// Remembers the value that was found; one that is longer than any state as an empty one, which
    /// is not valid either.
    void set_found(std::size_t key, std::optional<std::string_view> value);
    /// Reports that the call of a key has this record.
    void set_record(std::size_t key, std::string_view bytes);
    [[nodiscard]] bool has_value_of(std::size_t key) const noexcept { return keys_[key].is_known; }
    [[nodiscard]] std::optional<std::string_view> value(std::size_t key) const noexcept;

    void fail(std::size_t key, std::string_view text);
    /// Reports that a key has a value of another type, instead of an error after that.
    void report_conflict(std::size_t key) {
        keys_[key].exists = keys_[key].exists && keys_[key].status != key_status::error;
        note(key, key_status::conflict);
    }
    [[nodiscard]] bool is_fine(std::size_t key) const noexcept {
        return keys_[key].status == key_status::fine;
    }
    [[nodiscard]] bool all_are_fine() const noexcept { return all_are_fine_; }

    void add_granted(std::int64_t number) noexcept { granted_ += number; }
    void forget_granted() noexcept { granted_ = 0; }
    [[nodiscard]] std::int64_t granted() const noexcept { return granted_; }

    /// The facts of logs and sketches, see core/state.hpp, call by call; nullopt: there are none.
    std::optional<std::string> facts = {};

    /// Sends the value of a key, as an element of an array.
    void send_value(const command_run& run, std::size_t key) const noexcept;
    void send_header(const command_run& run, std::string_view nonce) const;

  private:
    void set_value(std::size_t key, std::string_view value);

    struct result {
        std::size_t at = 0;
        std::size_t size = 0;
        bool is_known = false;
        bool exists = false;
        key_status status = key_status::fine;
    };

    void note(std::size_t key, key_status status) noexcept {
        keys_[key].status = status;
        all_are_fine_ = false;
    }

    std::vector<result> keys_;
    std::string bytes_{};
    std::int64_t granted_ = 0;
    bool all_are_fine_ = true;
};

} // namespace colimit::server_module
