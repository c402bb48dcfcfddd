// SPDX-License-Identifier: BSL-1.0
//
// Files with documents: what cannot be read, when a change is noticed, and how a file is replaced.

#include <colimit/limits.hpp>
#include <policy_source/document_file.hpp>
#include <support/fresh_folder.hpp>
#include <support/unit_test.hpp>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

BOOST_AUTO_TEST_SUITE(document_files)

namespace {

using namespace colimit;
using detail::read_file;
using detail::replace_file;
using detail::watched_file;
namespace fs = std::filesystem;

struct folder {
    [[nodiscard]] std::string path(std::string_view name) const {
        return files.path() + "/" + std::string{name};
    }
    void write(std::string_view name, std::string_view text) const {
        std::ofstream{path(name), std::ios::binary} << text;
    }

    test::fresh_folder files;
};

/// What one look has found: `same`, or the text or the problem, and whether it was settled.
[[nodiscard]] std::string look(watched_file& file) {
    const auto seen = file.poll();
    if (!seen)
        return "same";
    const auto& [content, is_settled] = *seen;
    return (content.problem.empty() ? content.text : content.problem) +
           (is_settled ? ", settled" : "");
}

} // namespace

BOOST_AUTO_TEST_CASE(what_cannot_be_read_is_a_problem) {
    const auto f = folder{};
    BOOST_TEST(read_file(f.path("a")).problem == "cannot be read: No such file or directory");
    f.write("a", "text");
    BOOST_TEST(read_file(f.path("a")).text == "text");
    BOOST_TEST(read_file(f.path("a")).problem == "");
    BOOST_TEST(read_file(f.path("a/b")).problem == "cannot be read: Not a directory");
    BOOST_TEST(read_file(f.path("")).problem == "is a directory");
    BOOST_REQUIRE(::mkfifo(f.path("pipe").c_str(), 0600) == 0);
    BOOST_TEST(read_file(f.path("pipe")).problem == "is not a regular file");
    fs::create_symlink("loop", f.path("loop"));
    BOOST_TEST(read_file(f.path("loop")).problem ==
               "cannot be read: Too many levels of symbolic links");
    BOOST_TEST(read_file("/proc/self/mem").problem == "cannot be read: Input/output error");
}

BOOST_AUTO_TEST_CASE(a_file_without_permission_is_a_problem) {
    const auto f = folder{};
    f.write("a", "text");
    fs::permissions(f.path("a"), fs::perms::none);
    const auto is_root = ::geteuid() == 0; // who may read everything
    if (is_root) {
        fs::permissions(f.files.path(), fs::perms::all);
        BOOST_REQUIRE(::seteuid(65'534) == 0);
    }
    const auto content = read_file(f.path("a"));
    if (is_root)
        BOOST_REQUIRE(::seteuid(0) == 0);
    BOOST_TEST(content.problem == "cannot be read: Permission denied");
}

BOOST_AUTO_TEST_CASE(a_file_is_as_long_as_a_document_may_be) {
    const auto f = folder{};
    f.write("a", std::string(limits::max_json_bytes, 'x'));
    BOOST_TEST(read_file(f.path("a")).text.size() == limits::max_json_bytes);
    f.write("a", std::string(limits::max_json_bytes + 1, 'x'));
    BOOST_TEST(read_file(f.path("a")).problem == "is too long (expected at most 4194304 bytes)");
    BOOST_TEST(read_file(f.path("a")).text == "");
}

BOOST_AUTO_TEST_CASE(a_change_is_seen_twice_and_then_no_more) {
    const auto f = folder{};
    f.write("a", "1");
    auto file = watched_file{f.path("a")};
    BOOST_TEST(file.read().text == "1");
    BOOST_TEST(look(file) == "1, settled");
    BOOST_TEST(look(file) == "same");
    f.write("a", "22");
    BOOST_TEST(look(file) == "22");
    f.write("a", "333"); // it is still being written
    BOOST_TEST(look(file) == "333");
    BOOST_TEST(look(file) == "333, settled");
    BOOST_TEST(look(file) == "same");
    BOOST_TEST(look(file) == "same");
}

BOOST_AUTO_TEST_CASE(a_missing_file_is_settled_too) {
    const auto f = folder{};
    f.write("a", "1");
    auto file = watched_file{f.path("a")};
    (void)file.read();
    fs::remove(f.path("a"));
    const std::string missing = "cannot be read: No such file or directory";
    BOOST_TEST(look(file) == missing);
    BOOST_TEST(look(file) == missing + ", settled");
    BOOST_TEST(look(file) == "same");
    f.write("a", "1");
    BOOST_TEST(look(file) == "1");
    BOOST_TEST(look(file) == "1, settled");
}

BOOST_AUTO_TEST_CASE(a_file_that_could_not_be_read_is_read_again) {
    const auto f = folder{};
    f.write("a", "1");
    auto file = watched_file{f.path("a")};
    (void)file.read();
    f.write("a", "22");
    rlimit usual{};
    BOOST_REQUIRE(::getrlimit(RLIMIT_NOFILE, &usual) == 0);
    const auto none = rlimit{.rlim_cur = 0, .rlim_max = usual.rlim_max};
    BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
    auto seen = std::vector<std::string>{};
    for (auto i = 0; i < 3; ++i)
        seen.push_back(look(file));
    BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &usual) == 0);
    const std::string problem = "cannot be read: Too many open files";
    BOOST_TEST(seen[0] == problem);
    BOOST_TEST(seen[1] == problem + ", settled");
    BOOST_TEST(seen[2] == problem + ", settled");
    BOOST_TEST(look(file) == "22");
    BOOST_TEST(look(file) == "22, settled");
    BOOST_TEST(look(file) == "same");
}

/// Another text of the same length may have the same times, if a file system has coarse clocks.
BOOST_AUTO_TEST_CASE(a_change_right_after_a_look_is_seen) {
    const auto f = folder{};
    f.write("a", "0");
    auto file = watched_file{f.path("a")};
    (void)file.read();
    for (auto i = 1; i < 200; ++i) {
        const auto text = std::to_string(i % 10);
        f.write("a", text);
        BOOST_TEST(look(file) == text);
    }
}

BOOST_AUTO_TEST_CASE(a_file_with_the_same_length_and_time_is_another_one) {
    const auto f = folder{};
    f.write("a", "1");
    const auto time = fs::last_write_time(f.path("a"));
    auto file = watched_file{f.path("a")};
    (void)file.read();
    BOOST_TEST(look(file) == "1, settled");
    f.write("b", "2");
    fs::last_write_time(f.path("b"), time);
    fs::rename(f.path("b"), f.path("a"));
    BOOST_TEST(look(file) == "2");
    BOOST_TEST(look(file) == "2, settled");
    f.write("a", "3"); // in place
    fs::last_write_time(f.path("a"), time);
    BOOST_TEST(look(file) == "3");
}

/// As Kubernetes changes a ConfigMap.
BOOST_AUTO_TEST_CASE(a_link_in_the_path_may_be_exchanged) {
    const auto f = folder{};
    fs::create_directory(f.path("first"));
    fs::create_directory(f.path("second"));
    f.write("first/a", "1");
    f.write("second/a", "2");
    fs::create_directory_symlink("first", f.path("data"));
    fs::create_symlink("data/a", f.path("a"));
    auto file = watched_file{f.path("a")};
    BOOST_TEST(file.read().text == "1");
    BOOST_TEST(look(file) == "1, settled");
    fs::create_directory_symlink("second", f.path("next"));
    fs::rename(f.path("next"), f.path("data"));
    BOOST_TEST(look(file) == "2");
}

BOOST_AUTO_TEST_CASE(a_permission_that_changes_is_a_change) {
    const auto f = folder{};
    f.write("a", "1");
    auto file = watched_file{f.path("a")};
    (void)file.read();
    BOOST_TEST(look(file) == "1, settled");
    fs::permissions(f.path("a"), fs::perms::owner_all);
    BOOST_TEST(look(file) == "1");
}

BOOST_AUTO_TEST_CASE(a_file_is_replaced_as_a_whole) {
    const auto f = folder{};
    replace_file(f.path("a"), "first");
    BOOST_TEST(read_file(f.path("a")).text == "first");
    struct stat before{};
    BOOST_REQUIRE(::stat(f.path("a").c_str(), &before) == 0);
    BOOST_TEST((before.st_mode & 0777U) == 0600U);
    replace_file(f.path("a"), "second");
    BOOST_TEST(read_file(f.path("a")).text == "second");
    struct stat after{};
    BOOST_REQUIRE(::stat(f.path("a").c_str(), &after) == 0);
    BOOST_TEST(before.st_ino != after.st_ino);

    fs::create_directory(f.path("full"));
    fs::create_directory(f.path("full/inside"));
    BOOST_CHECK_THROW(replace_file(f.path("full"), "text"), std::system_error);
    BOOST_CHECK_THROW(replace_file(f.path("missing/a"), "text"), std::system_error);
    const auto left = std::distance(fs::directory_iterator{f.files.path()}, {});
    BOOST_TEST(left == 2); // nothing beside them
}

BOOST_AUTO_TEST_SUITE_END()
