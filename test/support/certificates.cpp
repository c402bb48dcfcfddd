// SPDX-License-Identifier: BSL-1.0
//
// Elliptic keys, which are fast to generate.

#include <support/certificates.hpp>

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <fstream>
#include <stdexcept>
#include <string_view>

namespace colimit::test {
namespace {

struct free_all {
    void operator()(EVP_PKEY* p) const noexcept { EVP_PKEY_free(p); }
    void operator()(X509* p) const noexcept { X509_free(p); }
    void operator()(BIO* p) const noexcept { BIO_free(p); }
    void operator()(X509_EXTENSION* p) const noexcept { X509_EXTENSION_free(p); }
};
using key_pointer = std::unique_ptr<EVP_PKEY, free_all>;
using certificate_pointer = std::unique_ptr<X509, free_all>;

void demand(bool holds) {
    if (!holds)
        throw std::runtime_error{"OpenSSL makes no certificate"};
}

[[nodiscard]] key_pointer new_key() {
    auto made = key_pointer{EVP_EC_gen("P-256")};
    demand(made != nullptr);
    return made;
}

void extend(X509* certificate, int what, const std::string& value) {
    const auto made = std::unique_ptr<X509_EXTENSION, free_all>{
        X509V3_EXT_conf_nid(nullptr, nullptr, what, value.c_str())};
    demand(made != nullptr && X509_add_ext(certificate, made.get(), -1) == 1);
}

[[nodiscard]] certificate_pointer new_certificate(const std::string& name, EVP_PKEY* key) {
    static auto serial = 0L;
    auto made = certificate_pointer{X509_new()};
    demand(made != nullptr);
    X509_set_version(made.get(), X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(made.get()), ++serial);
    const auto* text = reinterpret_cast<const unsigned char*>(name.c_str());
    demand(X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_UTF8, text,
                                      -1, -1, 0) == 1);
    demand(X509_set_pubkey(made.get(), key) == 1);
    return made;
}

void date(X509* certificate, std::chrono::seconds from, std::chrono::seconds until) {
    X509_gmtime_adj(X509_getm_notBefore(certificate), from.count());
    X509_gmtime_adj(X509_getm_notAfter(certificate), until.count());
}

template<class Write>
std::string write_pem(std::string path, Write write) {
    const auto file = std::unique_ptr<BIO, free_all>{BIO_new_file(path.c_str(), "w")};
    demand(file != nullptr && write(file.get()) == 1);
    return path;
}

std::string write_key(std::string path, EVP_PKEY* key, const char* passphrase = nullptr) {
    return write_pem(std::move(path), [&](BIO* file) {
        return PEM_write_bio_PrivateKey(file, key, passphrase ? EVP_aes_256_cbc() : nullptr,
                                        nullptr, 0, nullptr, const_cast<char*>(passphrase));
    });
}

std::string write_certificate(std::string path, X509* certificate) {
    return write_pem(std::move(path),
                     [&](BIO* file) { return PEM_write_bio_X509(file, certificate); });
}

} // namespace

struct certificate_authority::secrets {
    key_pointer key = new_key();
    certificate_pointer certificate = new_certificate("colimit test authority", key.get());
};

certificate_authority::certificate_authority() : secrets_(std::make_unique<secrets>()) {
    auto* const own = secrets_->certificate.get();
    date(own, std::chrono::hours{-48}, std::chrono::hours{48});
    X509_set_issuer_name(own, X509_get_subject_name(own));
    extend(own, NID_basic_constraints, "critical,CA:TRUE");
    extend(own, NID_key_usage, "critical,keyCertSign");
    demand(X509_sign(own, secrets_->key.get(), EVP_sha256()) != 0);
    write_certificate(file(), own);
}

certificate_authority::~certificate_authority() = default;

identity certificate_authority::sign(const std::string& name, const certificate_wishes& wishes) {
    const auto key = new_key();
    const auto made = new_certificate(name, key.get());
    date(made.get(), wishes.from, wishes.until);
    X509_set_issuer_name(made.get(), X509_get_subject_name(secrets_->certificate.get()));
    extend(made.get(), NID_subject_alt_name, wishes.names);
    demand(X509_sign(made.get(), secrets_->key.get(), EVP_sha256()) != 0);
    return {write_certificate(folder_.path() + "/" + name + ".pem", made.get()),
            write_key(folder_.path() + "/" + name + ".key", key.get())};
}

std::string write_file(std::string path, const std::string& text) {
    std::ofstream{path} << text;
    return path;
}

std::string with_passphrase(const std::string& key_file) {
    const auto file = std::unique_ptr<BIO, free_all>{BIO_new_file(key_file.c_str(), "r")};
    const auto key = key_pointer{PEM_read_bio_PrivateKey(file.get(), nullptr, nullptr, nullptr)};
    demand(key != nullptr);
    return write_key(key_file + ".locked", key.get(), "open sesame");
}

} // namespace colimit::test
