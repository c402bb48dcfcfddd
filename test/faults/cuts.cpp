// SPDX-License-Identifier: BSL-1.0
//
// Places of cuts, and trials that run at the same time.

#include <faults/cuts.hpp>
#include <support/unit_test.hpp>

#include <support/asked_number.hpp>
#include <support/on_failure.hpp>

#include <algorithm>
#include <string>
#include <string_view>

namespace colimit::test {
namespace {

using namespace std::chrono_literals;

/// How many trials run at once: their deadlines pass together.
constexpr auto at_once = 64;

/// A nonce or an id of a client may have more digits than the measured one, and a reply has
/// microseconds, of 1 to 6 digits.
constexpr std::size_t slack = 5;

/// The server hears nothing on a connection. (One that is reset leaves nothing in the system.)
constexpr auto before_handshake = fault{.kind = fault_kind::reset, .way = way::to_server};

[[nodiscard]] config settings(const std::string& server, fault_kind kind, const cut_options& o) {
    auto made = config{};
    made.server = server;
    made.advanced.server_module = o.server_module;
    made.timeout = kind == fault_kind::stall ? o.silence : patience;
    made.advanced.ping_interval = 0ms;
    made.advanced.connect_timeout = patience;
    made.advanced.reconnect_delay_min = 1ms;
    errors_come_through(made);
    return made;
}

} // namespace

std::size_t step_of(std::size_t trials) {
    constexpr std::size_t enough = 30; // to see all that may become of a call
    static const auto asked = test::asked_number("COLIMIT_CUT_STEP", 1);
    return std::clamp<std::size_t>(trials / enough, 1, static_cast<std::size_t>(asked));
}

std::vector<std::size_t> cuts_of(std::size_t size, const long_message& l) {
    const auto at_each_byte = long_message{.size = 0, .head = 0, .tail = 0, .step = 1};
    const auto& cut = size > l.size ? l : at_each_byte;
    auto all = std::vector<std::size_t>{};
    for (std::size_t byte = 0; byte <= size + slack; ++byte)
        if (byte < cut.head || byte + cut.tail > size || byte % cut.step == 0)
            all.push_back(byte);
    return all;
}

std::vector<fault> every_cut(fault_kind kind, const traffic& seen, std::size_t message,
                             const long_message& l) {
    auto all = std::vector<fault>{};
    for (const auto w : {way::to_server, way::to_client})
        for (const auto byte :
             cuts_of(seen.messages[static_cast<std::size_t>(w)].at(message).size(), l))
            all.push_back({.kind = kind, .way = w, .message = message, .byte = byte});
    thin_out(all);
    return all;
}

void name_unknown_script(std::span<char> command) {
    const auto size_of_digest = std::string_view{"$40\r\n"}; // the digest follows
    const auto text = std::string_view{command.data(), command.size()};
    const auto at = text.find(size_of_digest) + size_of_digest.size();
    std::ranges::fill(command.subspan(at, 40), '0');
}

cut_limiter::cut_limiter(asio::io_context& context, const std::string& server, const fault& wrong,
                         const cut_options& options)
    : proxy(
          context, server,
          [this, wrong](int connection) {
              return connection == 1 ? wrong : is_cut_off_ ? before_handshake : fault{};
          },
          options.records),
      limiter(context.get_executor(), settings(proxy.address(), wrong.kind, options)) {}

void cut_limiter::end_connection() {
    proxy.refuse();
    proxy.accept();
}

asio::awaitable<void> cut_limiter::cut_off() {
    is_cut_off_ = true;
    end_connection();
    co_await until([&] { return limiter.health().state == health_state::degraded; });
}

void run_trials_at_once(asio::io_context& context, std::size_t trials,
                        const std::function<asio::awaitable<void>(std::size_t)>& one) {
    auto next = std::size_t{0};
    auto working = at_once;
    for (auto i = 0; i < at_once; ++i)
        asio::co_spawn(
            context,
            [&]() -> asio::awaitable<void> {
                while (next < trials)
                    co_await one(next++);
                --working;
            },
            rethrow);
    while (working != 0)
        context.run_one();
}

void expect_none(const std::vector<std::string>& wrong) {
    for (std::size_t i = 0; i < std::min<std::size_t>(wrong.size(), 10); ++i)
        BOOST_ERROR(wrong[i]);
    BOOST_TEST(wrong.size() == 0U);
}

} // namespace colimit::test
