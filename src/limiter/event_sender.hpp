// SPDX-License-Identifier: BSL-1.0
//
// Posts events to `config::on_event`. If that is empty, sending does nothing.

#pragma once

#include <colimit/diagnostics.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

namespace colimit::detail {

class event_sender {
  public:
    using function = std::function<void(const event&)>;

    event_sender(boost::asio::any_io_executor executor, const function& to)
        : executor_(std::move(executor)), to_(to ? std::make_shared<const function>(to) : nullptr) {
    }

    [[nodiscard]] explicit operator bool() const noexcept { return to_ != nullptr; }

    /// @param find_cause makes the event's cause, if it is sent
    template<class FindCause>
    void send(event_kind kind, FindCause find_cause) const noexcept {
        send_made([&] {
            return event{.kind = kind,
                         .at = std::chrono::system_clock::now(),
                         .cause = find_cause(),
                         .filter = {}};
        });
    }

    /// @param make makes the event, if it is sent
    template<class Make>
    void send_made(Make make) const noexcept {
        if (to_ == nullptr)
            return;
        try {
            auto what = make();
            boost::asio::post(executor_, [to = to_, what = std::move(what)] { (*to)(what); });
        } catch (...) { // NOLINT(bugprone-empty-catch): the event is lost, as documented
        }
    }

  private:
    boost::asio::any_io_executor executor_;
    std::shared_ptr<const function> to_;
};

} // namespace colimit::detail
