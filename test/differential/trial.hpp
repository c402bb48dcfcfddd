// SPDX-License-Identifier: BSL-1.0
//
// A history on a server, compared with the model after each batch:
//
//   sent at once, up to the next pause   EVALSHA of the batch, GET and PEXPIRETIME of its keys,
//   TIME compared when the replies come       each decision, each value, each key's end
//
// A server that was away for a while delays a trial and changes nothing else: everything is
// compared by the server's own times.

#pragma once

#include "history.hpp"
#include "known_calls.hpp"
#include "model.hpp"
#include "scripts.hpp"
#include "sent_batch.hpp"

#include <redis/protocol/key.hpp>
#include <support/raw_client.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::differential {

class trial {
  public:
    /// @param prefix of its keys, its own
    trial(test::raw_client& server, const scripts& run, const history& told, std::string prefix);
    ~trial();
    trial(const trial&) = delete;
    trial& operator=(const trial&) = delete;

    /// Sends the steps up to the next pause, or to the end.
    void send();
    /// Reads the replies to what was sent, all of them, and answers the first difference.
    [[nodiscard]] std::optional<mismatch> compare();

    /// After compare: the pause that comes next; nothing at the end.
    [[nodiscard]] std::optional<std::int64_t> pause() const;

  private:
    void send_calls(sent_batch& sent, const step& s);
    void send_together(sent_batch& sent, const step& s);
    void send_batch(std::string& out, const step& s);
    void send_change(std::string& out, const step& s) const;
    [[nodiscard]] std::string name_of(std::size_t key, std::string_view family) const;
    void send_unlink(std::string& out, std::size_t key) const;
    void send_unlink_records(std::string& out) const;
    void send_looks(std::string& out, const std::vector<std::size_t>& keys) const;

    void compare_step(const step& s);
    void compare_batch(const step& s);
    [[nodiscard]] bool read_batch(const step& s, sent_batch& sent, std::vector<bool>& found);
    [[nodiscard]] std::vector<bool> find_with_ids(const step& s, const sent_batch& sent,
                                                  std::span<const redis::resp::node> nodes,
                                                  std::string_view statuses) const;
    void follow_expiry(const sent_batch& sent, const std::vector<bool>& found);
    void compare_calls(const step& s, const sent_batch& sent);
    void compare_known(const std::string& where, const known_call& known, const key_call& c,
                       const detail::operation& op);
    void compare_lease(const step& s, const sent_batch& sent, std::size_t asks);
    decision expect_call(const key_call& c);
    void compare_together(const step& s, const sent_batch& sent);
    void compare_decision(const std::string& where, const decision& expected,
                          const decision& found);
    void look(const step& s, const std::vector<std::size_t>& keys);
    void compare_log(std::size_t key, const test::reply& value);
    void compare_slots(std::size_t key, const test::reply& holders, std::int64_t end);
    void compare_sketch_ends(const step& s, std::size_t key, const std::vector<std::int64_t>& ends);
    void compare_value(const step& s, std::size_t key, const test::reply& value);
    void compare_end(const step& s, std::size_t key, std::int64_t end);
    void report(const std::string& what);
    void compare_policies();
    [[nodiscard]] const core::compiled_policy& rules_for(const step& s, std::size_t key) const;

    test::raw_client& server_;
    const scripts& run_;
    const history& told_;
    std::string prefix_;
    std::vector<std::string> names_;    ///< of the keys
    std::vector<std::string> sketches_; ///< the families of all versions
    std::int64_t longest_sketch_ = 0;   ///< for how long one may live, in microseconds
    std::size_t family_at_ = 0; ///< in a name: where the family of a log or a sketch is inserted
    model model_;
    known_calls known_;
    std::vector<bool> written_;           ///< by the current step, for each key
    std::vector<bool> planted_;           ///< for each key, whether it ever was
    std::vector<std::int64_t> ends_;      ///< of each key, in milliseconds, as PEXPIRETIME answers
    std::vector<std::int64_t> log_ends_;  ///< of their logs
    std::vector<std::int64_t> slot_ends_; ///< and of their holders
    bool has_slots_ = false;
    std::deque<std::unique_ptr<sent_batch>> in_flight_;
    std::size_t sent_ = 0;     ///< steps
    std::size_t compared_ = 0; ///< steps
    std::int64_t now_ = 0;     ///< of the current batch
    std::int64_t before_ = 0;  ///< the server's time before the current step
    std::int64_t after_ = 0;   ///< and after it
    std::uint64_t nonce_ = 0;
    bool abandoned_ = false; ///< nothing that follows can be compared
    std::optional<mismatch> first_;
};

} // namespace colimit::differential
