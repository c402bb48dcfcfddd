// SPDX-License-Identifier: BSL-1.0
//
// Commands and keys that a server has denied, apart from other problems, for the events that report
// them: one per incident. An incident is a denial that is repeated with the same message until a
// call under the same policy is permitted.

#pragma once

#include <limiter/problem_text.hpp>

#include <boost/container/static_vector.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace colimit::detail {

class denial_log {
  public:
    /// The shortest time between two events with the same message, in microseconds. An incident
    /// that begins earlier is reported when that time has passed.
    static constexpr std::int64_t interval = 1'000'000;
    /// The number of different denials that are stored at a time. Further ones are reported as soon
    /// as one of these was reported an interval ago.
    static constexpr std::size_t most = 4;

    /// Records a denial.
    /// @param what one occurrence, so its count is 1
    /// @param policy the fingerprint of the policy of the call; 0 in the handshake
    void note(const problem_record& what, std::uint64_t policy, std::int64_t now) noexcept;

    /// Notes that a call under this policy was permitted.
    void permit(std::uint64_t policy) noexcept;

    /// Returns when `take` will return a denial, or nullopt if none is to be reported.
    [[nodiscard]] std::optional<std::int64_t> due_at() const noexcept;

    /// Returns the denial that is to be reported now, and marks it as reported, or null. It is
    /// valid until the next `note`.
    [[nodiscard]] const problem_record* take(std::int64_t now) noexcept;

  private:
    struct incident {
        problem_record what;
        std::uint64_t policy = 0;
        std::int64_t next = INT64_MIN; ///< the earliest time of the next event
        bool is_over = true;           ///< or has not begun
        bool is_due = false;           ///< an event has to report it
    };

    [[nodiscard]] incident* find(const problem_record& what, std::int64_t now) noexcept;

    boost::container::static_vector<incident, most> incidents_;
};

} // namespace colimit::detail
