// SPDX-License-Identifier: BSL-1.0
//
// A timer that is set again whenever it has ended.

#include <support/loop_clock.hpp>

#include <boost/asio/steady_timer.hpp>

namespace colimit::test {

using namespace std::chrono_literals;

/// A timer that ends with the clock leaves its handler behind, which only may ask for the state.
struct loop_clock::state : std::enable_shared_from_this<state> {
    explicit state(boost::asio::io_context& context) : timer(context) {}

    void tick() {
        timer.expires_after(1ms);
        timer.async_wait([weak = weak_from_this()](boost::system::error_code /*ended*/) {
            if (const auto self = weak.lock()) {
                self->passed += 1ms;
                self->tick();
            }
        });
    }

    boost::asio::steady_timer timer;
    std::chrono::milliseconds passed{0};
};

loop_clock::loop_clock(boost::asio::io_context& context)
    : state_(std::make_shared<state>(context)) {
    state_->tick();
}

std::chrono::milliseconds loop_clock::now() const noexcept {
    return state_->passed;
}

} // namespace colimit::test
