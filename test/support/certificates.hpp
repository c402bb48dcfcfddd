// SPDX-License-Identifier: BSL-1.0
//
// Certificates that a test makes in a temporary folder, so that none is older than its test.
//
//     certificate_authority ca;
//     const auto server = ca.sign("server");
//     const auto expired = ca.sign("expired", {.until = -1h});

#pragma once

#include <support/fresh_folder.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace colimit::test {

/// Two files in PEM form.
struct identity {
    std::string certificate;
    std::string key;
};

struct certificate_wishes {
    /// For which it is valid, as OpenSSL writes it.
    std::string names = "DNS:localhost,IP:127.0.0.1";
    /// From now.
    std::chrono::hours from{-24};
    std::chrono::hours until{24};
};

class certificate_authority {
  public:
    certificate_authority();
    ~certificate_authority();

    /// Its own certificate.
    [[nodiscard]] std::string file() const { return folder_.path() + "/authority.pem"; }
    [[nodiscard]] const std::string& folder() const noexcept { return folder_.path(); }
    /// @param name of the files
    [[nodiscard]] identity sign(const std::string& name, const certificate_wishes& wishes = {});

  private:
    struct secrets;

    fresh_folder folder_;
    std::unique_ptr<secrets> secrets_;
};

/// Writes `text` into `path`.
std::string write_file(std::string path, const std::string& text);

/// The same key, under a passphrase.
std::string with_passphrase(const std::string& key_file);

} // namespace colimit::test
