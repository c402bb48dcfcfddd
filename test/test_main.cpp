// SPDX-License-Identifier: BSL-1.0
//
// Boost.Test itself, the checks of support/unit_test.hpp and main(), compiled once for all test
// programs: the header-only form needs no library to be installed, but takes seconds to compile.
//
//     PROGRAM [options of Boost.Test] [-- --part=K/N]
//
// Programs whose tests mostly wait run as several processes at once: of the test cases in their
// order, part K of N has each N-th one, from the K-th on. So each case is in one part.
#define BOOST_TEST_MODULE colimit
#define BOOST_TEST_NO_MAIN
#define BOOST_TEST_ALTERNATIVE_INIT_API
#include <boost/test/included/unit_test.hpp>
#include <support/unit_test.hpp>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

namespace ut = boost::unit_test;

class all_cases : public ut::test_tree_visitor {
  public:
    struct entry {
        ut::test_unit_id id;
        ut::test_unit_id suite;
    };
    std::vector<entry> found;

  private:
    /// The cases of a data test do not exist before.
    bool test_suite_start(const ut::test_suite& suite) override {
        ut::framework::get<ut::test_suite>(suite.p_id).generate();
        return true;
    }
    void visit(const ut::test_case& one) override { found.push_back({one.p_id, one.p_parent_id}); }
};

void keep_part(std::size_t part, std::size_t parts) {
    auto cases = all_cases{};
    ut::traverse_test_tree(ut::framework::master_test_suite(), cases, true);
    for (std::size_t i = 0; i < cases.found.size(); ++i)
        if (i % parts != part - 1)
            ut::framework::get<ut::test_suite>(cases.found[i].suite).remove(cases.found[i].id);
}

[[nodiscard]] bool prepare() {
    const auto& all = ut::framework::master_test_suite();
    for (auto i = 1; i < all.argc; ++i) {
        if (std::strncmp(all.argv[i], "--part=", 7) != 0)
            continue; // a test that starts its own program has arguments of its own
        auto part = 0U;
        auto parts = 0U;
        auto rest = '\0';
        if (std::sscanf(all.argv[i] + 7, "%u/%u%c", &part, &parts, &rest) != 2 || part == 0 ||
            part > parts) {
            std::fprintf(stderr, "%s: invalid (expected --part=K/N, 1 <= K <= N)\n", all.argv[i]);
            return false;
        }
        keep_part(part, parts);
    }
    return true;
}

} // namespace

namespace colimit::test::checking {
namespace {

[[nodiscard]] boost::test_tools::assertion_result shown(const comparison& c) {
    auto result = boost::test_tools::assertion_result{c.holds};
    if (!c.holds) {
        auto& out = result.message().stream();
        out << " [";
        c.print_left(out, c.left);
        out << c.negated;
        c.print_right(out, c.right);
        out << ']';
    }
    return result;
}

void report(const boost::test_tools::assertion_result& result, const char* text, const char* file,
            std::size_t line, bool is_required) {
    namespace tt = boost::test_tools::tt_detail;
    tt::report_assertion(result, ut::lazy_ostream::instance() << text, file, line,
                         is_required ? tt::REQUIRE : tt::CHECK, tt::CHECK_BUILT_ASSERTION, 0);
}

} // namespace

site::site(const char* file, std::size_t line, const char* text, bool is_required)
    : file_(file), line_(line), text_(text), is_required_(is_required) {
    ut::unit_test_log.set_checkpoint(file, line);
}

void site::check(const comparison& result) const {
    report(shown(result), text_, file_, line_, is_required_);
}

void site::check(bool holds) const {
    report(boost::test_tools::assertion_result{holds}, text_, file_, line_, is_required_);
}

} // namespace colimit::test::checking

int main(int argc, char** argv) {
    return ut::unit_test_main(&prepare, argc, argv);
}
