// SPDX-License-Identifier: BSL-1.0
//
// What all trials of cut connections have in common: the bytes at which a message is cut, a limiter
// whose first connection has the fault, and many trials at once.

#pragma once

#include <support/fault_proxy.hpp>
#include <support/live_limiter.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace colimit::test {

/// A message of more than `size` bytes is cut in its first bytes, its last ones, and in between at
/// each position that is a multiple of `step`.
struct long_message {
    std::size_t size;
    std::size_t head;
    std::size_t tail;
    std::size_t step;
};
/// A message that has the script is long, all others are cut at each byte.
inline constexpr auto with_script =
    long_message{.size = 4096, .head = 64, .tail = 16, .step = 1'499};

/// Returns N if one of N trials in a row is run: COLIMIT_CUT_STEP or 1, and less in a short row.
[[nodiscard]] std::size_t step_of(std::size_t trials);

/// Leaves one of `step_of` trials, and the last one: the fault comes after everything.
template<class Trial>
void thin_out(std::vector<Trial>& row) {
    const auto step = step_of(row.size());
    auto left = row.size();
    std::erase_if(row, [&](const Trial&) { return --left % step != 0; });
}

/// Returns where a message is cut, also behind its last byte: another one like it may be longer
/// than the one that was measured.
/// @param size of the one that was measured
[[nodiscard]] std::vector<std::size_t> cuts_of(std::size_t size,
                                               const long_message& l = with_script);

/// Returns the cuts of a command and of its reply.
/// @param seen on a connection without a fault
/// @param message their number, which is the same each way
[[nodiscard]] std::vector<fault> every_cut(fault_kind kind, const traffic& seen,
                                           std::size_t message,
                                           const long_message& l = with_script);

/// Makes an EVALSHA name a script that no server has.
void name_unknown_script(std::span<char> command);

struct cut_options {
    /// The timeout of calls where a fault makes the connection silent. One that ends the connection
    /// also ends its calls.
    std::chrono::milliseconds silence{100};
    module_use server_module = module_use::if_available;
    bool records = false; ///< the proxy does
};

/// A limiter that reaches the server through a proxy: its first connection has the fault. Only what
/// the test asks for is sent.
class cut_limiter {
  public:
    cut_limiter(asio::io_context& context, const std::string& server, const fault& wrong,
                const cut_options& options);

    /// Ends the connection. The limiter makes another one.
    void end_connection();
    /// Ends the connection, and from now on each other one before it is of use; completes when the
    /// limiter sends no call any more. (The proxy keeps its port, as another trial's might get it.)
    asio::awaitable<void> cut_off();

  private:
    bool is_cut_off_ = false;

  public:
    fault_proxy proxy;
    colimit::limiter limiter;
};

/// For `live`: a limiter that asks the server itself, while many trials keep this process busy.
inline void ask_patiently(config& settings) {
    settings.timeout = patience;
}

/// Runs so many trials, 64 at a time.
/// @param one a trial, by its index
void run_trials_at_once(asio::io_context& context, std::size_t trials,
                        const std::function<asio::awaitable<void>(std::size_t)>& one);

/// Reports what trials have found wrong, the first ten of it in words.
void expect_none(const std::vector<std::string>& wrong);

} // namespace colimit::test
