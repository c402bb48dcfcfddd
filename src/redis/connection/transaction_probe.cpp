// SPDX-License-Identifier: BSL-1.0
//
// The commands of log_call.cpp and multi_batch.cpp, with arguments that change nothing if the key
// does not exist. TIME, ECHO and CLIENT ID are part of every handshake.

#include <redis/connection/transaction_probe.hpp>
#include <redis/protocol/reply_error.hpp>
#include <redis/protocol/resp.hpp>

#include <array>
#include <span>

namespace colimit::redis {
namespace {

struct trial {
    std::string_view name;
    bool is_needed; ///< by every `allow`
    std::array<std::string_view, 3> arguments = {};
    std::size_t argument_count = 0; ///< besides the key
    bool has_key = true;
};

constexpr std::array trials{
    trial{.name = "MULTI", .is_needed = true, .has_key = false},
    trial{"ZREMRANGEBYSCORE", true, {"-inf", "(0"}, 2},
    trial{"ZREVRANGE", true, {"0", "0", "WITHSCORES"}, 3},
    trial{"ZADD", true, {"XX", "0", "m"}, 3},
    trial{"ZCOUNT", true, {"(0", "+inf"}, 2},
    trial{"PTTL", true},
    trial{"PEXPIRE", true, {"1000"}, 1},
    trial{"ZREM", true, {"m"}, 1},                  // removes what a denied call recorded
    trial{"ZREMRANGEBYRANK", false, {"0", "0"}, 2}, // for refund, reset and count_denied
    trial{"PERSIST", false},                        // for a key of another type
    trial{.name = "ZADD", .is_needed = false, .has_key = false}, // aborts
    trial{.name = "EXEC", .is_needed = true, .has_key = false},
};

/// Returns the part of the error that says that the user may not run the command, or that the
/// server does not know it; empty if it says something else. EXEC is refused with "EXECABORT
/// Transaction discarded because of: NOPERM ...".
[[nodiscard]] std::string_view denial_in(std::string_view error) noexcept {
    if (const auto at = error.find("NOPERM "); at != std::string_view::npos)
        return error.substr(at);
    if (error.starts_with("ERR unknown command"))
        return error.substr(0, error.find(", with args"));
    return {};
}

} // namespace

std::size_t transaction_probe::append(std::string& out, std::string_view key) {
    *this = {};
    for (const auto& t : trials) {
        resp::append_array(out, 1 + (t.has_key ? 1 : 0) + t.argument_count);
        resp::append_bulk(out, t.name);
        if (t.has_key)
            resp::append_bulk(out, key);
        for (const auto argument : std::span{t.arguments}.first(t.argument_count))
            resp::append_bulk(out, argument);
    }
    return trials.size();
}

bool transaction_probe::read_reply(std::string_view error) {
    const auto& t = trials.at(replies_++);
    if (is_key_denial(error)) {
        key_error_ = error;
    } else if (const auto denial = denial_in(error); !denial.empty()) {
        auto& names = t.is_needed ? needed_ : denied_optional_;
        names.append(names.empty() ? "" : " ").append(t.name);
        if (t.is_needed && first_refusal_.empty())
            first_refusal_ = denial;
    } else if (classify(error).recovery == recovery::leave_read_only) {
        read_only_ = error;
    }
    return replies_ == trials.size();
}

std::string transaction_probe::refusal() const {
    return needed_.empty() ? "" : first_refusal_ + "; denied commands: " + needed_;
}

} // namespace colimit::redis
