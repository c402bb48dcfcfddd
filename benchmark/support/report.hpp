// SPDX-License-Identifier: BSL-1.0
//
// The output of a run: a table and JSON.

#pragma once

#include <support/result.hpp>

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

namespace colimit::benchmark {

struct report {
    std::string machine;
    std::string date;
    std::string revision;
    std::string compiler;
    std::string boost;
    std::string server;
    double load_average_before = 0;
    double seconds_per_round = 0;
    std::size_t rounds = 0;
    std::vector<std::string> warnings;
    std::vector<std::string> left_out; ///< `name: why`
    std::vector<result> results;
};

void print_table(std::ostream& out, const report& r);
void write_json(std::ostream& out, const report& r);

} // namespace colimit::benchmark
