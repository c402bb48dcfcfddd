// SPDX-License-Identifier: BSL-1.0
//
// conformance --cases FILE [--store core|memory|redis] [--server ADDRESS]
//
// Runs published cases of other limiters on a limiter of colimit. The last line is `N passed, M
// failed, K left out`; failed and skipped cases are listed before, with the reasons. Ends with 0 if
// nothing failed, 1 if something did, 2 if the file is not one of cases.

#include "document.hpp"
#include "run.hpp"
#include "store.hpp"
#include "suite.hpp"

#include <CLI/CLI.hpp>

#include <exception>
#include <iostream>
#include <string>

namespace colimit::conformance {
namespace {

struct tally {
    int passed = 0;
    int failed = 0;
    int left_out = 0;
};

/// Returns the name of a suite that cannot be parsed: its id if it has one.
[[nodiscard]] std::string name_of(const element& source, std::size_t index) {
    const auto id = source.find("id");
    return id && id->is_text() ? id->text() : "suite " + std::to_string(index);
}

void run_one(const element& source, std::size_t index, store& where, tally& count) {
    const auto name = name_of(source, index);
    try {
        const auto differences = run(read_suite(source), where, std::to_string(index) + '/' + name);
        ++(differences.empty() ? count.passed : count.failed);
        for (const auto& line : differences)
            std::cout << "failed: " << name << ", " << line << '\n';
    } catch (const left_out& why) {
        ++count.left_out;
        std::cout << "left out: " << name << ": " << why.reason << '\n';
    } catch (const bad_file&) {
        throw;
    } catch (const std::exception& e) {
        ++count.failed;
        std::cout << "failed: " << name << ": " << e.what() << '\n';
    }
}

int run_file(int argc, char** argv) {
    auto file = std::string{};
    auto name = std::string{"core"};
    auto address = std::string{};
    CLI::App app{"Published cases of other limiters, put to one of ours."};
    app.add_option("--cases", file, "a JSON file of suites")->required();
    app.add_option("--store", name, "core (the arithmetic alone), memory or redis")
        ->check(CLI::IsMember({"core", "memory", "redis"}))
        ->capture_default_str();
    app.add_option("--server", address, "for redis, as config::server; by default one is started");
    CLI11_PARSE(app, argc, argv);

    const auto document = read_document(file);
    const auto suites = element{document, ""}.at("suites").items();
    if (suites.empty())
        throw bad_file{file + ": has no suites"};
    const auto where = open_store(name, address);
    auto count = tally{};
    for (std::size_t i = 0; i < suites.size(); ++i)
        run_one(suites[i], i, *where, count);
    std::cout << count.passed << " passed, " << count.failed << " failed, " << count.left_out
              << " left out\n";
    return count.failed == 0 ? 0 : 1;
}

} // namespace
} // namespace colimit::conformance

int main(int argc, char** argv) {
    try {
        return colimit::conformance::run_file(argc, argv);
    } catch (const std::exception& e) {
        std::cerr << "conformance: " << e.what() << '\n';
        return 2;
    }
}
