// SPDX-License-Identifier: BSL-1.0
//
// colimit print-library: the functions for servers where EVAL is forbidden.

#include <tool/commands/table.hpp>

#include <string>

namespace tool {

/// Returns the function library that the build makes of lua/, from embed_library.cmake.
[[nodiscard]] std::string library_text();

namespace {

struct library_options {
    void declare(CLI::App& /*app*/) {}
    int run(output& out) {
        out.document(library_text());
        return exit_allowed;
    }
};

} // namespace

command print_library_command() {
    return {.name = "print-library",
            .summary = "Print the function library for servers where EVAL is forbidden",
            .text = {"The names in it contain its version. In a cluster it is loaded on each "
                     "master; replicas copy it."},
            .examples = {{"print-library | redis-cli -x FUNCTION LOAD REPLACE",
                          "loads the library of this version of colimit"}},
            .json =
                R"({"command": "print-library", "text": "#!lua name=colimit_6a75dda520b4 ..."})",
            .declare = declaration_of<library_options>()};
}

} // namespace tool
