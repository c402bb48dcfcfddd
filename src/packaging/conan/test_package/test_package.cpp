// SPDX-License-Identifier: BSL-1.0
//
// One check, in process: the package can be compiled, linked and run.
#include <chrono>
#include <colimit.hpp>

int main() {
    colimit::local_limiter limiter;
    const auto decision = limiter.allow("client", colimit::gcra(5, std::chrono::seconds{1}));
    return decision ? 0 : 1;
}
