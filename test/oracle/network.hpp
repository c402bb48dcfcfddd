// SPDX-License-Identifier: BSL-1.0
//
// A bad network between some of the oracle's processes and their server.

#pragma once

#include <support/fault_proxy.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <cstdint>
#include <future>
#include <random>
#include <string>
#include <thread>

namespace colimit::oracle {

/// In a thread; half of the processes are behind it.
class network {
  public:
    network(const std::string& server, std::uint64_t seed)
        : work_(context_.get_executor()), random_(seed),
          proxy_(context_, server, [this](int) { return test::random_fault(random_); }) {}
    ~network() {
        context_.stop();
        if (thread_.joinable())
            thread_.join();
    }
    network(const network&) = delete;
    network& operator=(const network&) = delete;

    /// When all processes have been forked.
    void start() {
        thread_ = std::thread{[this] { context_.run(); }};
    }
    [[nodiscard]] std::string address() const { return proxy_.address(); }
    [[nodiscard]] std::uint16_t port() const { return proxy_.port(); }
    /// Ends all connections, and with them what is under way. New ones are accepted.
    void drop_all() {
        auto done = std::promise<void>{};
        boost::asio::post(context_, [&] {
            proxy_.refuse();
            proxy_.accept();
            done.set_value();
        });
        done.get_future().get();
    }

  private:
    boost::asio::io_context context_{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
    std::mt19937_64 random_;
    test::fault_proxy proxy_;
    std::thread thread_;
};

} // namespace colimit::oracle
