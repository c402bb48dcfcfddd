// SPDX-License-Identifier: BSL-1.0
//
// The part of both queues that knows what a batch is. Each call is in exactly one batch until it is
// done, and each batch in exactly one of waiting_, parked_, in_flight_ and spare_.
//
// Batches that a node of a cluster could not execute, and may refuse again, are parked: they never
// stand before others, and are in flight beside these, half as many.

#pragma once

#include <base/logger.hpp>
#include <colimit/module_use.hpp>
#include <redis/protocol/key_tags.hpp>
#include <redis/protocol/script.hpp>
#include <redis/queue/call_queue.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace colimit::redis {

struct queue_settings {
    std::string prefix;
    key_tags tags{};
    std::size_t batch_size = 96;
    std::size_t batches_in_flight = 6;
    std::size_t max_in_flight = 65'536; ///< calls
    std::int64_t minimum_ttl_ms = 0;
    std::int64_t request_ttl_ms = 300'000; ///< of the records of calls with ids
    std::uint64_t first_nonce = 1;
    script_command command = script_command::evalsha; ///< with scripts: what runs them
    module_use server_module = module_use::never;     ///< with scripts: whether it runs them
    /// Whether a batch may only have keys of one group, before any server has said so.
    bool is_cluster = false;
    /// Whether calls that were rejected because the server is read-only wait for the next
    /// connection, which will be one to a master, instead of ending as `errc::unavailable`.
    bool keeps_read_only = false;
    detail::logger log = {};
    /// With MULTI: microseconds for which calls may be in flight and still be counted correctly.
    /// Events are kept that much longer than they count.
    std::int64_t grace = 0;
    /// With MULTI: this process's steady clock, in microseconds.
    std::function<std::int64_t()> clock = {};
};

/// @tparam Queue the derived class, which has `read_reply_of(Batch&, reply, bytes)`: it reads the
/// next reply to the first batch in flight, and returns nullopt if that is not a valid one. It may
/// hide `retire` and `close_to_calls`.
template<class Queue, class Batch>
class batch_queue : public call_queue {
  public:
    [[nodiscard]] std::size_t size() const noexcept { return calls_; }
    [[nodiscard]] bool has_backlog() const noexcept final { return waiting_.size() > 1; }
    [[nodiscard]] bool expects_reply() const noexcept final { return !in_flight_.empty(); }
    [[nodiscard]] std::int64_t oldest_sent_at() const noexcept final {
        BOOST_ASSERT(expects_reply());
        return in_flight_.front().sent_at;
    }

    [[nodiscard]] std::optional<recovery> read_reply(const resp::decoder& reply,
                                                     std::string_view bytes) final {
        if (in_flight_.empty())
            return std::nullopt;
        const auto* before = done.back();
        const auto needs = self().read_reply_of(in_flight_.front(), reply, bytes);
        has_answered_ = done.back() != before;
        return needs;
    }

    void lose_connection(std::uint64_t sent) override {
        for (auto next = in_flight_.begin(); next != in_flight_.end() && next->sent_from < sent;) {
            const auto b = next++;
            if (b->has_ids()) {
                b->note_uncertain();
                continue;
            }
            b->release([this](detail::operation& op) { finish_lost(op); });
            self().retire(in_flight_, b);
        }
        const auto end = end_of_returned();
        const auto first_parked = parked_.begin();
        while (!in_flight_.empty())
            return_batch(end, first_parked);
    }

    void fail_all(error_code why) final {
        for (auto* list : {&in_flight_, &waiting_, &parked_})
            for (auto& b : *list)
                end_batch(b, why);
        drop_abandoned();
    }

  protected:
    /// Batches move between lists as list nodes, so that nothing is allocated in the steady state.
    using batches = std::list<Batch>;

    /// Adds an operation of so many calls: `add()` adds it to a batch, or returns an error.
    template<class Add>
    [[nodiscard]] error_code take(detail::operation& op, std::size_t calls, Add add) {
        // Callers leave room for the limiter's own calls, which renew slots and give them back.
        const auto most =
            settings_.max_in_flight * (op.kind == detail::call_kind::release ? 2U : 1U);
        if (calls_ + calls > most)
            drop_abandoned();
        if (calls_ + calls > most)
            return errc::too_many_in_flight;
        try {
            if (const auto failure = add(); failure)
                return failure;
        } catch (const std::bad_alloc&) {
            return make_error_code(boost::system::errc::not_enough_memory);
        }
        calls_ += calls;
        by_deadline_.push_back(op);
        return {};
    }

    /// Returns a list of one batch that is not in use.
    [[nodiscard]] batches take_spare() {
        auto made = batches{};
        if (spare_.empty())
            add_to(made, false);
        else
            made.splice(made.end(), spare_, spare_.begin());
        return made;
    }

    /// Retires a batch of a list.
    void retire(batches& from, typename batches::iterator which) {
        which->is_returned = which->is_parked = false;
        calls_ -= which->size();
        if (spare_.size() > settings_.batches_in_flight + most_spare)
            from.erase(which);
        else
            spare_.splice(spare_.begin(), from, which);
    }

    /// Returns the first batch in flight, of which the server has executed nothing that must not be
    /// repeated, to those that wait: before those that were never sent.
    void return_head() {
        auto& b = in_flight_.front();
        return_batch(end_of_returned(), parked_.begin());
        b.is_returned = true;
    }

    void end_batch(Batch& b, error_code why) {
        b.release([this, why](detail::operation& op) { finish(op, why); });
    }

    /// Called before a batch leaves the waiting list.
    void close_to_calls(const Batch& /*b*/) {}

    /// @param uncounted batches in flight to which the bound does not apply
    [[nodiscard]] bool may_send(std::size_t uncounted = 0) const noexcept {
        if (!parked_.empty()) {
            const auto parked = parked_in_flight();
            if (parked < most_parked_in_flight())
                return true;
            uncounted += parked;
        }
        return !waiting_.empty() && in_flight_.size() - uncounted < settings_.batches_in_flight;
    }

    /// Moves waiting batches in flight, as many as may be: `encode(batch)` appends one to `out`,
    /// whose first byte has this position in the stream.
    template<class Encode>
    void send_waiting(const std::string& out, std::uint64_t position_of_first, std::int64_t now,
                      std::size_t uncounted, Encode encode) {
        drop_abandoned();
        while (may_send(uncounted)) {
            auto& from = may_send_only_parked(uncounted) ? parked_ : waiting_;
            auto& b = from.front();
            self().close_to_calls(b);
            b.sent_from = position_of_first + out.size();
            b.sent_at = now;
            b.is_returned = false;
            const auto begin = out.size();
            try {
                encode(b);
            } catch (...) {
                b.take_back();
                throw;
            }
            settings_.log.write(log_level::debug, "batch: calls ", b.size(), ", bytes ",
                                out.size() - begin);
            in_flight_.splice(in_flight_.end(), from, from.begin());
            drop_abandoned();
        }
    }

    /// Retires abandoned batches at the front of the lists of those that wait, and the others as
    /// soon as so many calls have been withdrawn that a search is worth its time.
    void drop_abandoned() final {
        constexpr std::size_t searched_per_withdrawal = 16;
        for (auto* list : {&waiting_, &parked_})
            while (!list->empty() && list->front().is_abandoned())
                drop_waiting(*list, list->begin());
        if (abandoned_ * searched_per_withdrawal < waiting_.size() + parked_.size())
            return;
        abandoned_ = 0;
        for (auto* list : {&waiting_, &parked_})
            for (auto next = list->begin(); next != list->end();)
                if (const auto b = next++; b->is_abandoned())
                    drop_waiting(*list, b);
    }

    /// Takes a batch from a list of another queue, except the deadlines of its calls, and leaves a
    /// spare one there if it can.
    void take_over(batch_queue& from, batches& list, typename batches::iterator which) noexcept {
        which->queue = this;
        from.calls_ -= which->size();
        calls_ += which->size();
        if (which->is_parked)
            parked_.splice(parked_.end(), list, which);
        else
            waiting_.splice(which->is_returned ? end_of_returned() : waiting_.end(), list, which);
        if (spare_.empty())
            return;
        spare_.front().queue = &from;
        from.spare_.splice(from.spare_.begin(), spare_, spare_.begin());
    }

    const queue_settings settings_;
    batches waiting_;
    batches parked_;
    batches in_flight_;
    batches spare_;
    std::size_t calls_ = 0; ///< in all batches, including withdrawn ones
    std::uint64_t nonce_;

    /// Returns the position of a batch that waits again: before those that were never sent.
    [[nodiscard]] typename batches::iterator end_of_returned() {
        return std::ranges::find_if_not(waiting_, &Batch::is_returned);
    }

  private:
    friend Queue;

    explicit batch_queue(queue_settings settings)
        : settings_(std::move(settings)), nonce_(settings_.first_nonce) {
        for (std::size_t i = 0; i <= settings_.batches_in_flight; ++i) // and one more, which fills
            add_to(spare_, true);
    }

    [[nodiscard]] Queue& self() noexcept { return static_cast<Queue&>(*this); }

    /// The number of batches that are kept for the next ones, besides those in flight: calls that
    /// share no batch with others may have needed one each while a server stood still.
    static constexpr std::size_t most_spare = 128;

    void add_to(batches& list, bool is_lasting) {
        list.emplace_back(settings_.batch_size, settings_.tags, is_lasting).queue = this;
    }
    void drop_waiting(batches& from, typename batches::iterator b) {
        self().close_to_calls(*b);
        self().retire(from, b);
    }
    /// Returns the first batch in flight, of which nothing was executed, to those of its kind that
    /// wait: before these.
    void return_batch(typename batches::iterator waiting, typename batches::iterator parked) {
        auto& b = in_flight_.front();
        b.take_back();
        if (b.is_parked)
            parked_.splice(parked, in_flight_, in_flight_.begin());
        else
            waiting_.splice(waiting, in_flight_, in_flight_.begin());
    }
    [[nodiscard]] std::size_t most_parked_in_flight() const noexcept {
        return (settings_.batches_in_flight + 1) / 2;
    }
    [[nodiscard]] std::size_t parked_in_flight() const noexcept {
        return static_cast<std::size_t>(std::ranges::count_if(in_flight_, &Batch::is_parked));
    }
    /// Returns whether no other batch may be sent, although `may_send`.
    [[nodiscard]] bool may_send_only_parked(std::size_t uncounted) const noexcept {
        return waiting_.empty() ||
               (!parked_.empty() &&
                in_flight_.size() - uncounted - parked_in_flight() >= settings_.batches_in_flight);
    }
};

} // namespace colimit::redis
