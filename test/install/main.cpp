// SPDX-License-Identifier: BSL-1.0
//
// The smallest user of an installed colimit: one check, in process. That it compiles, links and is
// allowed says that the package is complete.
#include <chrono>
#include <colimit.hpp>

int main() {
    using namespace std::chrono_literals;

    colimit::local_limiter limiter;
    const auto decision = limiter.allow("somebody", colimit::gcra(5, 1s));
    return decision ? 0 : 1;
}
