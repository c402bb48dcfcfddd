// SPDX-License-Identifier: BSL-1.0
//
// The table of errors, as the cut matrix tests it.

#include <faults/verdict.hpp>

#include <algorithm>
#include <string>

namespace colimit::test {

using namespace std::chrono_literals;

bool strikes_handshake(const conversation& c, const trial& t) {
    return t.wrong.message < c.connections[t.connection].handshake;
}

bool ends_connection(const trial& t) {
    const auto k = t.wrong.kind;
    return k == fault_kind::fin || k == fault_kind::reset || k == fault_kind::half_close;
}

std::string describe(const conversation& c, const trial& t) {
    const auto& f = t.wrong;
    return std::string{c.name} + ", connection " + std::to_string(t.connection) + ", kind " +
           std::to_string(static_cast<int>(f.kind)) +
           (f.way == way::to_server ? " to server" : " to client") + ", message " +
           std::to_string(f.message) + " byte " + std::to_string(f.byte) + " bit " +
           std::to_string(f.bit);
}

void complain(const trial_end& end, std::size_t call, std::string_view what, findings& to) {
    const auto& o = end.outcomes[call];
    to.wrong.push_back(describe(end.said, end.trial) + ", call " + std::to_string(call) + " (" +
                       o.ec.message() + ", remaining " + std::to_string(o.remaining) +
                       "): " + std::string{what});
}

namespace {

class verdict {
  public:
    verdict(const trial_end& end, findings& to) : end_(end), findings_(to) {}

    void judge_all() {
        if (is_missed())
            findings_.missed.push_back(end_.trial);
        for (std::size_t i = 0; i < end_.outcomes.size(); ++i) {
            const auto& o = end_.outcomes[i];
            count(o);
            if (o.completions != 1)
                note(i, "completed " + std::to_string(o.completions) + " times");
            if (o.waited > end_.timeout + lateness)
                note(i, "was late");
            if (is_flip())
                judge_flip(i);
            else
                judge_cut(i);
        }
    }

  private:
    [[nodiscard]] const fault& wrong() const { return end_.trial.wrong; }
    [[nodiscard]] bool is_flip() const { return wrong().kind == fault_kind::flip; }
    [[nodiscard]] bool has_struck() const { return end_.struck != nullptr && end_.struck->struck; }

    void note(std::size_t i, std::string_view what) { complain(end_, i, what, findings_); }

    void count(const outcome_of_call& o) {
        ++findings_.calls;
        if (o.completions == 0)
            ++findings_.unfinished;
        else if (!o.ec)
            ++findings_.answered;
        else if (o.ec == errc::outcome_unknown)
            ++findings_.unknown;
        else
            ++findings_.refused;
    }

    [[nodiscard]] bool was_due(const outcome_of_call& o) const {
        return o.took + 1ms >= end_.timeout;
    }

    /// Returns the command that carries the call on the connection of the fault; null if none does.
    [[nodiscard]] const place* struck_place(std::size_t i) const {
        const auto& path = end_.said.calls[i].path;
        const auto found = std::ranges::find(path, end_.trial.connection, &place::connection);
        return found == path.end() ? nullptr : &*found;
    }

    /// Returns whether the reply to that command was passed on.
    [[nodiscard]] bool was_replied(const place& at) const {
        return end_.struck->passed[1] > at.message;
    }

    /// Returns whether no server can have executed the call: its last command did not arrive, or
    /// the limiter has not heard of a rejection, after which it sends the next command.
    [[nodiscard]] bool was_withheld(std::size_t i, const place& at) const {
        if (&at == &end_.said.calls[i].path.back())
            return end_.struck->passed[0] <= at.message;
        return !was_replied(at);
    }

    /// Returns whether the handshake did not end, so that calls were on another connection, if any.
    [[nodiscard]] bool was_on_later_connection() const {
        return end_.struck->passed[1] < end_.said.connections[end_.trial.connection].handshake;
    }

    [[nodiscard]] bool had_reply_too_late(std::size_t i) const {
        const auto& o = end_.outcomes[i];
        const auto* const at = struck_place(i);
        return o.ec == errc::outcome_unknown && was_due(o) &&
               (was_on_later_connection() || at == nullptr || was_replied(*at));
    }

    /// Returns whether a call was not sent before its deadline, and said so: attempts to connect
    /// after the one that the fault struck took too long, too, or a rejection came late.
    [[nodiscard]] bool was_given_up() const {
        const auto waited_in_vain = [&](const outcome_of_call& o) {
            return o.ec == condition::transient && was_due(o);
        };
        return (strikes_handshake(end_.said, end_.trial) && end_.was_breaker_open) ||
               (!is_flip() && std::ranges::any_of(end_.outcomes, waited_in_vain));
    }

    /// Returns whether the machine was too busy for the fault to come to pass as it should.
    [[nodiscard]] bool is_missed() const {
        if (!has_struck() || was_given_up())
            return true;
        if (is_flip()) // after which a reply may be none to its caller
            return false;
        for (std::size_t i = 0; i < end_.outcomes.size(); ++i)
            if (had_reply_too_late(i))
                return true;
        return false;
    }

    /// For connections that are cut or fall silent.
    void judge_cut(std::size_t i) {
        const auto& o = end_.outcomes[i];
        const auto& c = end_.said.calls[i];
        if (!o.ec) {
            if (o.executed != 1)
                note(i, "was answered and run " + std::to_string(o.executed) + " times");
            if (!o.allowed || o.remaining != (end_.said.seen ? 0 : expected_remaining(c)))
                note(i, "has another call's answer");
            return;
        }
        if (o.ec == condition::transient && was_given_up() && o.executed == 0)
            return;
        if (o.ec != errc::outcome_unknown)
            return note(i, "may be answered or unknown");
        if (!has_struck()) // the trial is repeated
            return;
        if (end_.said.has_ids && ends_connection(end_.trial) && !was_due(o))
            return note(i, "has an id, and could be asked again");
        if (o.executed > 1)
            note(i, "is unknown and was run " + std::to_string(o.executed) + " times");
        if (was_on_later_connection()) {
            if (!was_due(o))
                note(i, "had not left, and could be asked again");
            return;
        }
        const auto* const at = struck_place(i);
        if (at != nullptr && o.executed != 0 && was_withheld(i, *at))
            note(i, "is unknown and was run, though the server was not asked");
        if (was_due(o)) // what fell silent may have been slow
            return;
        if (at == nullptr)
            note(i, "was not on this connection");
        // A reset may take along what has arrived and was not read yet.
        else if (was_replied(*at) && wrong().kind != fault_kind::reset)
            note(i, "had its reply");
    }

    /// A flipped bit may change any request and any number of a reply, unnoticed. Each call must
    /// complete once and on time, and not with another call's result, and if the request and the
    /// time are intact, the reported charge must be correct.
    void judge_flip(std::size_t i) {
        const auto& o = end_.outcomes[i];
        const auto& c = end_.said.calls[i];
        if (wrong().way == way::to_client &&
            std::ranges::count(end_.said.clocks, wrong().message) == 0) {
            if (o.executed < 0 || o.executed > 1)
                note(i, "was run " + std::to_string(o.executed) + " times");
            if (!o.ec && o.executed != 1)
                note(i, "was answered and not run");
            if (o.ec && o.ec == condition::transient && o.executed > 0)
                note(i, "was run, and its code says that it was not");
        }
        if (o.ec || end_.said.seen)
            return;
        if (o.remaining == expected_remaining(c))
            return;
        ++findings_.other_numbers;
        for (const auto& other : end_.said.calls)
            if (&other != &c && o.remaining == expected_remaining(other))
                note(i, "has another call's answer");
    }

    const trial_end& end_;
    findings& findings_;
};

} // namespace

void judge(const trial_end& end, findings& to) {
    verdict{end, to}.judge_all();
}

} // namespace colimit::test
