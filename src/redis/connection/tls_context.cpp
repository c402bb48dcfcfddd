// SPDX-License-Identifier: BSL-1.0
//
// Makes an OpenSSL context from the options. OpenSSL's messages about files are hard to understand,
// so each failure has a message of this library.

#include <colimit/error.hpp>
#include <redis/connection/tls_context.hpp>

#include <boost/asio/ip/address.hpp>
#include <boost/assert.hpp>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <cerrno>
#include <cstdio>
#include <new>
#include <system_error>

namespace colimit::redis {
namespace {

/// OpenSSL keeps errors per thread until they are read; they must not be left for other users.
struct own_errors {
    own_errors() noexcept { ERR_clear_error(); }
    own_errors(const own_errors&) = delete;
    own_errors& operator=(const own_errors&) = delete;
    ~own_errors() { ERR_clear_error(); }
};

[[noreturn]] void refuse(const char* option, const std::string& reason) {
    throw error{errc::invalid_config, "config::tls." + std::string{option} + ": " + reason};
}

void check_readable(const char* option, const std::string& path) {
    if (path.find('\0') != std::string::npos)
        refuse(option, "the file name has a zero byte");
    const auto close = [](std::FILE* f) { (void)std::fclose(f); };
    errno = 0;
    const auto file =
        std::unique_ptr<std::FILE, decltype(close)>{std::fopen(path.c_str(), "re"), close};
    // A folder can be opened, but not read.
    if (file == nullptr || (std::fgetc(file.get()) == EOF && std::ferror(file.get()) != 0))
        refuse(option, "cannot read " + path + ": " + std::generic_category().message(errno));
}

/// Without this, OpenSSL would ask for a passphrase at the terminal.
int refuse_passphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* is_encrypted) {
    *static_cast<bool*>(is_encrypted) = true;
    return -1;
}

} // namespace

void tls_deleter::operator()(ssl_ctx_st* context) const noexcept {
    SSL_CTX_free(context);
}

void tls_deleter::operator()(ssl_st* connection) const noexcept {
    SSL_free(connection);
}

tls_context::tls_context(const tls_options& options)
    : context_(SSL_CTX_new(TLS_client_method())), name_(options.server_name),
      verifies_(options.verify_peer) {
    const own_errors guard;
    if (context_ == nullptr)
        throw std::bad_alloc{};
    auto* const context = context_.get();
    (void)SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    // A connection has one handshake. Sessions are not resumed, so none is kept.
    (void)SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
    (void)SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    load_certificate(options);
    SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nullptr);
    if (!verifies_)
        return;
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    load_trusted(options);
}

void tls_context::load_trusted(const tls_options& options) {
    if (options.ca_file.empty()) {
        if (SSL_CTX_set_default_verify_paths(context_.get()) != 1)
            throw std::bad_alloc{};
        return;
    }
    check_readable("ca_file", options.ca_file);
    if (SSL_CTX_load_verify_file(context_.get(), options.ca_file.c_str()) != 1)
        refuse("ca_file", options.ca_file + " has no certificates in PEM form");
}

void tls_context::load_certificate(const tls_options& options) {
    if (options.cert_file.empty())
        return;
    auto* const context = context_.get();
    check_readable("cert_file", options.cert_file);
    if (SSL_CTX_use_certificate_chain_file(context, options.cert_file.c_str()) != 1)
        refuse("cert_file", options.cert_file + " has no certificate in PEM form");
    check_readable("key_file", options.key_file);
    auto is_encrypted = false;
    SSL_CTX_set_default_passwd_cb(context, refuse_passphrase);
    SSL_CTX_set_default_passwd_cb_userdata(context, &is_encrypted);
    ERR_clear_error();
    const auto is_read =
        SSL_CTX_use_PrivateKey_file(context, options.key_file.c_str(), SSL_FILETYPE_PEM) == 1;
    SSL_CTX_set_default_passwd_cb_userdata(context, nullptr);
    if (is_encrypted)
        refuse("key_file", options.key_file + " needs a passphrase; expected a key without one");
    const auto failure = ERR_peek_last_error();
    const auto is_other = ERR_GET_LIB(failure) == ERR_LIB_X509 &&
                          (ERR_GET_REASON(failure) == X509_R_KEY_VALUES_MISMATCH ||
                           ERR_GET_REASON(failure) == X509_R_KEY_TYPE_MISMATCH);
    if (!is_read && !is_other)
        refuse("key_file", options.key_file + " has no private key in PEM form");
    if (!is_read || SSL_CTX_check_private_key(context) != 1)
        refuse("key_file",
               options.key_file + " is not the key of the certificate in " + options.cert_file);
}

std::unique_ptr<ssl_st, tls_deleter> tls_context::new_connection(const std::string& host) const {
    const own_errors guard;
    auto name = name_.empty() ? host : name_;
    // For OpenSSL ".h" matches any host below h, and an empty name any host.
    BOOST_ASSERT(!name.empty() && name.front() != '.');
    auto ec = error_code{};
    (void)boost::asio::ip::make_address(name, ec);
    const auto is_literal = !ec;
    if (!is_literal && name.ends_with('.')) // a trailing dot is not part of names in certificates
        name.pop_back();
    auto made = std::unique_ptr<ssl_st, tls_deleter>{SSL_new(context_.get())};
    if (made == nullptr || (!is_literal && SSL_set_tlsext_host_name(made.get(), name.c_str()) != 1))
        throw std::bad_alloc{};
    SSL_set_connect_state(made.get());
    if (!verifies_)
        return made;
    auto* const wanted = SSL_get0_param(made.get());
    X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    const auto is_set = is_literal ? X509_VERIFY_PARAM_set1_ip_asc(wanted, name.c_str())
                                   : X509_VERIFY_PARAM_set1_host(wanted, name.c_str(), name.size());
    if (is_set != 1)
        throw std::bad_alloc{};
    return made;
}

} // namespace colimit::redis
