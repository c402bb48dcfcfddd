// SPDX-License-Identifier: BSL-1.0
//
// The history of a Bloom filter on a server, compared with the model after each step: the answers,
// every byte of the bitmaps, and when they end. If no other client changed it, the in-process store
// must give the same results too.

#pragma once

#include "filter_history.hpp"
#include "filter_model.hpp"
#include "scripts.hpp"
#include "sent_batch.hpp"

#include <memory/bloom_filters.hpp>
#include <support/raw_client.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace colimit::differential {

class filter_trial {
  public:
    /// @param prefix of its keys, its own
    filter_trial(test::raw_client& server, const scripts& run, filter_history told,
                 std::string prefix);

    [[nodiscard]] const filter_history& told() const noexcept { return told_; }
    void send();
    /// Reads all replies, and answers the first difference.
    [[nodiscard]] std::optional<mismatch> compare();

  private:
    void add(sent_batch& to, detail::verb v, const std::string& id);
    void compare_bits(const std::string& id, const detail::operation& op);
    void send_ids(std::string& out, const filter_step& s);
    void send_meddling(std::string& out, const filter_step& s) const;
    void compare_step(const filter_step& s);
    void meddle(const filter_step& s);
    void compare_ids(const filter_step& s, const sent_batch& sent);
    [[nodiscard]] bool read_batch(sent_batch& sent);
    void look();
    void compare_end(std::size_t bitmap, std::int64_t end);
    void report(const std::string& what);

    test::raw_client& server_;
    const scripts& run_;
    filter_history told_;
    std::string prefix_;
    detail::policy_pointer filter_;
    std::vector<std::string> names_; ///< of the bitmaps
    std::vector<std::int64_t> ends_; ///< of the bitmaps, in milliseconds
    filter_model model_;
    memory::bloom_filters in_process_;
    bool meddled_ = false;
    std::deque<std::unique_ptr<sent_batch>> in_flight_;
    std::size_t compared_ = 0; ///< steps
    std::int64_t now_ = 0;     ///< of the current batch
    std::int64_t before_ = 0;  ///< the server's time before the current step
    std::int64_t after_ = 0;   ///< and after it
    bool late_ = false;        ///< bitmaps may have ended: nothing more is said
    std::optional<mismatch> first_;
};

} // namespace colimit::differential
