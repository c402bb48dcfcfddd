// SPDX-License-Identifier: BSL-1.0
//
// The files that config::tls names: which are accepted, and what is said of the others.

#include <redis/connection/tls_context.hpp>
#include <support/certificates.hpp>
#include <support/refusal.hpp>
#include <support/unit_test.hpp>

#include <openssl/err.h>

#include <filesystem>
#include <fstream>
#include <string>

BOOST_AUTO_TEST_SUITE(tls_contexts)

namespace {

using colimit::redis::tls_context;
using colimit::test::certificate_authority;
using colimit::test::write_file;

[[nodiscard]] std::string reason(const colimit::tls_options& options,
                                 const std::string& host = "h") {
    const auto said = colimit::test::refusal(colimit::errc::invalid_config, [&] {
        const auto made = tls_context{options};
        return made.new_connection(host);
    });
    BOOST_TEST(ERR_peek_error() == 0U); // nothing is left for who uses OpenSSL next
    return said;
}

} // namespace

BOOST_AUTO_TEST_CASE(no_option_is_needed) {
    for (const auto* const host : {"cache.example.org", "cache.example.org.", "10.0.0.1", "::1"})
        BOOST_TEST(reason({}, host) == "not refused");
    BOOST_TEST(reason({.verify_peer = false}) == "not refused");
}

BOOST_AUTO_TEST_CASE(files_that_are_what_they_should_be_are_accepted) {
    auto authority = certificate_authority{};
    const auto we = authority.sign("we");
    BOOST_TEST(
        reason({.ca_file = authority.file(), .cert_file = we.certificate, .key_file = we.key}) ==
        "not refused");
    // Both in one file.
    const auto both = authority.folder() + "/both.pem";
    std::filesystem::copy_file(we.certificate, both);
    auto key = std::ifstream{we.key};
    std::ofstream{both, std::ios::app} << key.rdbuf();
    BOOST_TEST(reason({.cert_file = both, .key_file = both}) == "not refused");
}

BOOST_AUTO_TEST_CASE(files_that_cannot_be_read_are_named) {
    auto authority = certificate_authority{};
    const auto we = authority.sign("we");
    const auto none = authority.folder() + "/none.pem";
    BOOST_TEST(reason({.ca_file = none}) ==
               "config::tls.ca_file: cannot read " + none + ": No such file or directory");
    BOOST_TEST(reason({.ca_file = authority.folder()}) ==
               "config::tls.ca_file: cannot read " + authority.folder() + ": Is a directory");
    BOOST_TEST(reason({.cert_file = none, .key_file = we.key}) ==
               "config::tls.cert_file: cannot read " + none + ": No such file or directory");
    BOOST_TEST(reason({.cert_file = we.certificate, .key_file = none}) ==
               "config::tls.key_file: cannot read " + none + ": No such file or directory");
    BOOST_TEST(reason({.ca_file = authority.file() + std::string(1, '\0')}) ==
               "config::tls.ca_file: the file name has a zero byte");
}

BOOST_AUTO_TEST_CASE(files_with_something_else_are_named) {
    auto authority = certificate_authority{};
    const auto we = authority.sign("we");
    const auto empty = write_file(authority.folder() + "/empty.pem", "");
    const auto prose = write_file(authority.folder() + "/prose.pem", "to whom it may concern\n");
    const auto broken =
        write_file(authority.folder() + "/broken.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n"
                                                       "-----END CERTIFICATE-----\n");
    for (const auto& file : {empty, prose, broken, we.key}) {
        BOOST_TEST(reason({.ca_file = file}) ==
                   "config::tls.ca_file: " + file + " has no certificates in PEM form");
        BOOST_TEST(reason({.cert_file = file, .key_file = we.key}) ==
                   "config::tls.cert_file: " + file + " has no certificate in PEM form");
    }
    for (const auto& file : {empty, prose, broken, we.certificate})
        BOOST_TEST(reason({.cert_file = we.certificate, .key_file = file}) ==
                   "config::tls.key_file: " + file + " has no private key in PEM form");
}

BOOST_AUTO_TEST_CASE(a_key_must_be_open_and_of_the_certificate) {
    auto authority = certificate_authority{};
    const auto we = authority.sign("we");
    const auto they = authority.sign("they");
    const auto locked = colimit::test::with_passphrase(we.key);
    BOOST_TEST(reason({.cert_file = we.certificate, .key_file = they.key}) ==
               "config::tls.key_file: " + they.key + " is not the key of the certificate in " +
                   we.certificate);
    BOOST_TEST(reason({.cert_file = we.certificate, .key_file = locked}) ==
               "config::tls.key_file: " + locked +
                   " needs a passphrase; expected a key without one");
}

BOOST_AUTO_TEST_SUITE_END()
