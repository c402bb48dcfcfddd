// SPDX-License-Identifier: BSL-1.0
//
// The commands of redis/multi, with arguments that change nothing if the key does not exist. TIME,
// ECHO and CLIENT ID are part of every handshake.

#include <redis/connection/transaction_probe.hpp>
#include <redis/protocol/reply_error.hpp>
#include <redis/protocol/resp.hpp>

#include <array>
#include <span>

namespace colimit::redis {
namespace {

struct trial {
    std::string_view name;
    bool is_needed; ///< by `allow` under a log
    std::array<std::string_view, 3> arguments = {};
    std::size_t argument_count = 0; ///< besides the key
    std::size_t keys = 1;
};

constexpr std::array trials{
    trial{.name = "MULTI", .is_needed = true, .keys = 0},
    trial{"ZREMRANGEBYSCORE", true, {"-inf", "(0"}, 2},
    trial{"ZREVRANGE", true, {"0", "0", "WITHSCORES"}, 3},
    trial{"ZADD", true, {"XX", "0", "m"}, 3},
    trial{"ZCOUNT", true, {"(0", "+inf"}, 2},
    trial{"PTTL", true},
    trial{"PEXPIRE", true, {"1000"}, 1},
    trial{"ZREM", true, {"m"}, 1},                  // removes what a denied call recorded
    trial{"ZREMRANGEBYRANK", false, {"0", "0"}, 2}, // for refund, reset and count_denied
    trial{"PERSIST", false},                        // for a key of another type
    // For fixed windows:
    trial{"SET", false, {"0", "XX"}, 2},
    trial{"INCRBY", false, {"x"}, 1},
    trial{"DECRBY", false, {"x"}, 1}, // gives back what a denied call added, with the next two
    trial{"PEXPIREAT", false, {"1000"}, 1},
    trial{.name = "RENAMENX", .is_needed = false, .keys = 2},
    trial{"GET", false},                                  // for peek
    trial{"GETDEL", false},                               // for reset
    trial{.name = "ZADD", .is_needed = false, .keys = 0}, // aborts
    trial{.name = "EXEC", .is_needed = true, .keys = 0},
};
static_assert(trials.size() == transaction_probe::commands);

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

void transaction_probe::append(std::string& out, std::string_view key) {
    *this = {};
    for (const auto& t : trials) {
        resp::append_array(out, 1 + t.keys + t.argument_count);
        resp::append_bulk(out, t.name);
        for (auto i = t.keys; i != 0; --i)
            resp::append_bulk(out, key);
        for (const auto argument : std::span{t.arguments}.first(t.argument_count))
            resp::append_bulk(out, argument);
    }
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
} // namespace colimit::redis
