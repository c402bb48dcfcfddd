// SPDX-License-Identifier: BSL-1.0
//
// As bare_75 and latency_75 while the server's table of keys doubles: for some 50 ms it moves keys
// with each command and is slower than its load. How long do calls take until the backlog is gone?

#include <scenarios.hpp>

namespace colimit::benchmark {

measurement bare_growth(const conditions& c) {
    return bare_load(c, 0.75, key_table::grows);
}

measurement latency_growth(const conditions& c) {
    return latency(c, 0.75, key_table::grows);
}

} // namespace colimit::benchmark
