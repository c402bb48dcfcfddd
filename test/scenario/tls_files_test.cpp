// SPDX-License-Identifier: BSL-1.0
//
// When the files of config::tls are read: once, when the limiter is constructed. What the system
// trusts may be in a folder, where OpenSSL looks in each handshake.

#include <scenario/tls_server.hpp>
#include <scenario/world.hpp>
#include <support/fresh_folder.hpp>
#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <openssl/pem.h>
#include <openssl/x509.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

BOOST_FIXTURE_TEST_SUITE(files_of_tls, colimit::scenario::world)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
namespace fs = std::filesystem;
using scenario::tls_server;
using test::live;

const auto rules = policy{"p", gcra(100, 1h)};

/// The name under which OpenSSL looks for a CA in a folder.
[[nodiscard]] std::string name_in_folder(const std::string& certificate) {
    const auto close = [](std::FILE* f) { (void)std::fclose(f); };
    const auto file =
        std::unique_ptr<std::FILE, decltype(close)>{std::fopen(certificate.c_str(), "re"), close};
    BOOST_TEST_REQUIRE(file != nullptr);
    const auto read = std::unique_ptr<X509, decltype(&X509_free)>{
        PEM_read_X509(file.get(), nullptr, nullptr, nullptr), X509_free};
    BOOST_TEST_REQUIRE(read != nullptr);
    auto name = std::string(8, '\0');
    (void)std::snprintf(name.data(), name.size() + 1, "%08lx", X509_subject_name_hash(read.get()));
    return name + ".0";
}

/// While it lives, OpenSSL finds what the system trusts there.
struct system_folder {
    system_folder() {
        ::setenv("SSL_CERT_FILE", (folder.path() + "/none").c_str(), 1);
        ::setenv("SSL_CERT_DIR", folder.path().c_str(), 1);
    }
    system_folder(const system_folder&) = delete;
    system_folder& operator=(const system_folder&) = delete;
    ~system_folder() {
        ::unsetenv("SSL_CERT_FILE");
        ::unsetenv("SSL_CERT_DIR");
    }

    test::fresh_folder folder;
};

} // namespace

BOOST_AUTO_TEST_CASE(files_are_read_when_a_limiter_is_constructed_and_never_later) {
    auto s = tls_server{*this, {}, true};
    const auto ours = s.authority.sign("ours");
    const auto folder = test::fresh_folder{};
    const auto copy_of = [&](const std::string& file) {
        auto copy = folder.path() + "/" + fs::path{file}.filename().string();
        fs::copy_file(file, copy);
        return copy;
    };
    auto l = live{context, s.address(), [&](config& c) {
                      c.tls = {.ca_file = copy_of(s.authority.file()),
                               .cert_file = copy_of(ours.certificate),
                               .key_file = copy_of(ours.key)};
                  }};
    fs::remove_all(folder.path());
    run([&]() -> asio::awaitable<void> {
        for (auto connections = 0U; connections < 3; ++connections) {
            co_await l.until_it_works("k", rules);
            BOOST_TEST(l.limiter.statistics().reconnects == connections);
            s.front.restart_as(s.own);
            co_await test::until(
                [&] { return l.limiter.statistics().reconnects == connections + 1; });
        }
    });
}

/// A new limiter knows it.
BOOST_AUTO_TEST_CASE(a_ca_that_replaces_another_one_in_its_file_is_unknown) {
    auto s = tls_server{*this};
    auto l = live{context, s.address(), s.trusted()};
    auto next = test::certificate_authority{};
    fs::copy_file(next.file(), s.authority.file(), fs::copy_options::overwrite_existing);
    run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        s.front.restart_as(next.sign("server"));
        co_await l.until_code("k", rules, errc::untrusted_server);
        auto fresh = live{context, s.address(), s.trusted()};
        co_await fresh.until_it_works("k", rules);
    });
}

BOOST_AUTO_TEST_CASE(what_the_system_trusts_is_looked_for_in_each_handshake) {
    const auto trusted = system_folder{};
    auto s = tls_server{*this};
    auto l = live{context, s.address()};
    run([&]() -> asio::awaitable<void> {
        co_await l.until_code("k", rules, errc::untrusted_server);
        fs::copy_file(s.authority.file(),
                      trusted.folder.path() + "/" + name_in_folder(s.authority.file()));
        co_await l.until_it_works("k", rules);
    });
}

BOOST_AUTO_TEST_SUITE_END()
