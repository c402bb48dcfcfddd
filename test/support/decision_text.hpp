// SPDX-License-Identifier: BSL-1.0
//
// Decisions as text, for tests that show them:
//
//   limited granted 0 at 1700000000000000 binding 0 limit 10 remaining 0 retry 200000 reset 2000000
//   [10 0 200000 2000000 /1] [...]
//
// the latter for each rule: limit, balance, retry_after, reset_after and resolution.

#pragma once

#include <colimit/decision.hpp>

#include <ostream>
#include <sstream>
#include <string>

namespace colimit {

inline std::ostream& operator<<(std::ostream& out, outcome o) {
    return out << (o == outcome::allowed ? "allowed" : o == outcome::denied ? "limited" : "never");
}

inline std::ostream& operator<<(std::ostream& out, const decision& d) {
    out << d.outcome << " granted " << d.granted << " at "
        << d.server_time.time_since_epoch().count() << " binding " << int{d.limiting_rule}
        << " limit " << d.limit << " remaining " << d.remaining << " retry "
        << d.retry_after.count() << " reset " << d.reset_after.count();
    if (d.source != decision_source::store)
        out << " origin " << static_cast<int>(d.source);
    for (const auto& r : d.rules)
        out << " [" << r.limit << ' ' << r.balance << ' ' << r.retry_after.count() << ' '
            << r.reset_after.count() << " /" << r.resolution.count() << ']';
    return out;
}

namespace test {

[[nodiscard]] inline std::string text_of(const decision& d) {
    std::ostringstream out;
    out << d;
    return out.str();
}

} // namespace test
} // namespace colimit
