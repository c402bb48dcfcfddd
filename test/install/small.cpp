// SPDX-License-Identifier: BSL-1.0
//
// A user of an installed colimit that compiles in no time.
#include <colimit/rule_text.hpp>

int main() {
    return colimit::parse_rules("5/s burst 10").size() == 1 ? 0 : 1;
}
