// SPDX-License-Identifier: BSL-1.0
//
// Shared by the small examples: a context, a limiter at the address of the command line, and one
// coroutine.

#pragma once

#include <colimit/limiter.hpp>

#include <boost/asio.hpp>
#include <exception>
#include <iostream>

namespace example {

/// Runs `show(limiter)`. `NAME [ADDRESS]`: counts are in this process unless an address is given.
template<class Show>
int run(int argc, char** argv, Show show) {
    try {
        boost::asio::io_context context;
        colimit::limiter limiter{context.get_executor(), argc > 1 ? argv[1] : "memory:"};
        std::exception_ptr failure;
        boost::asio::co_spawn(context, show(limiter), [&](const std::exception_ptr& e) {
            failure = e;
            limiter.close(); // so that the context ends
        });
        context.run();
        if (failure)
            std::rethrow_exception(failure);
        return 0;
    } catch (const std::exception& e) {
        std::cerr << argv[0] << ": " << e.what() << '\n';
        return 1;
    }
}

} // namespace example
