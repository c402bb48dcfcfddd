// SPDX-License-Identifier: BSL-1.0
//
// TLS options for `rediss://` addresses: trusted CAs and client certificate.

#pragma once

#include <string>

namespace colimit {

/// Options of `rediss://` addresses; they are errors with others. By default the server certificate
/// must match the host of the address and be signed by a CA that the system trusts. At least TLS
/// 1.2 is required.
///
/// The files named here are in PEM format and are read when the limiter is constructed, never
/// later. If one does not exist or is not valid, the constructor throws `colimit::error` with
/// `errc::invalid_config`, which names the option and the file.
///
///     auto settings = colimit::config{};
///     settings.server = "rediss://cache.example.org";
///     settings.tls.ca_file = "/etc/ssl/example-ca.pem";
struct tls_options {
    /// The file with the certificates of the trusted CAs. Empty: the CAs that the system trusts. If
    /// these are in a folder, as on Debian, OpenSSL looks for them there in each handshake, so one
    /// that is added later is found.
    std::string ca_file = {};

    /// The name that the server certificate must match, and that is sent to the server (SNI), if it
    /// is not the host of the address: a host name, 1 to 253 characters of `[A-Za-z0-9._-]`, or an
    /// IP address, which is not sent.
    std::string server_name = {};

    /// For servers that require client certificates: the file with the certificate, followed by the
    /// intermediate certificates, and the file with its key, which may be the same. Both or
    /// neither; the key must not need a passphrase.
    std::string cert_file = {};
    std::string key_file = {};

    /// Whether the server certificate is verified. False is for development only: it allows
    /// man-in-the-middle attacks, in which all traffic, including the password, can be read and
    /// modified. Not together with `ca_file` or `server_name`, which have no effect then.
    bool verify_peer = true;
};

} // namespace colimit
