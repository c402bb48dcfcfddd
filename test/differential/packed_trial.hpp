// SPDX-License-Identifier: BSL-1.0
//
// A history of a policy whose states are packed, compared with the model after each batch: every
// decision, every field of the hashes of its keys' rows, and their ends. One step is sent when the
// one before has been compared.

#pragma once

#include "history.hpp"
#include "known_calls.hpp"
#include "model.hpp"
#include "row_model.hpp"
#include "scripts.hpp"
#include "sent_batch.hpp"

#include <support/raw_client.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace colimit::differential {

class packed_trial {
  public:
    /// @param prefix of its keys, its own
    packed_trial(test::raw_client& server, const scripts& run, const history& told,
                 std::string prefix);

    /// Runs all of it; answers the first difference.
    [[nodiscard]] std::optional<mismatch> run();

  private:
    /// Of a call.
    struct expectation {
        decision answer;
        detail::fault other = detail::fault::none; ///< how it differs from the known one
        std::int64_t leased = 0;                   ///< calls that its lease was granted
    };

    void run_step(const step& s);
    [[nodiscard]] std::int64_t earliest_end();
    void meddle(const step& s);
    void ask(const step& s);
    void expect(const step& s, const sent_batch& sent);
    void expect_row(const step& s, const sent_batch& sent, std::size_t row,
                    const std::set<std::size_t>& keys);
    [[nodiscard]] std::vector<expectation> answers_for(const step& s, std::size_t key,
                                                       bool& changed, known_calls& known);
    void compare_calls(const step& s, const sent_batch& sent, std::size_t key,
                       const std::vector<expectation>& expected, bool well);
    void compare_dropped(const core::compiled_policy& rules, std::size_t row);
    void look(std::size_t row);
    void compare_end(const std::string& name, row_hash& known, std::int64_t end);
    [[nodiscard]] std::size_t row_of(std::size_t key) const;
    [[nodiscard]] std::string name_of(std::size_t row, std::size_t hash) const;
    [[nodiscard]] std::string bytes_of(std::size_t key) const;
    [[nodiscard]] std::string field_of(std::size_t key) const;
    void report(const std::string& what);

    test::raw_client& server_;
    const scripts& run_;
    const history& told_;
    std::string prefix_;
    model model_;
    known_calls known_;
    std::vector<row_model> rows_;
    std::size_t step_ = 0;
    std::int64_t now_ = 0;    ///< of the current batch
    std::int64_t before_ = 0; ///< the server's time before the current step
    bool planted_ = false;
    std::optional<mismatch> first_;
    bool late_ = false; ///< hashes may have ended: nothing more is compared
};

/// Many histories, one after another. Says how it went, with the smallest one that shows a
/// difference; true when all agreed.
[[nodiscard]] bool compare_packed(test::raw_client& server, const scripts& scripts,
                                  std::size_t calls, std::uint64_t seed);

} // namespace colimit::differential
