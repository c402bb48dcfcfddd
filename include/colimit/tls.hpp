// SPDX-License-Identifier: BSL-1.0
//
// Whom to trust behind a `rediss://` address, and how to show who we are.

#ifndef COLIMIT_TLS_HPP
#define COLIMIT_TLS_HPP

#include <string>

namespace colimit {

/// Options of `rediss://` addresses; with others they must not be given. All of them may be left as
/// they are: then the server needs a certificate for the host of its address, from an authority
/// that this system trusts. TLS 1.2 at least is spoken.
///
/// Files are read when the limiter is made, never later, and are in PEM form. One that is missing
/// or is not what it should be makes the constructor throw `colimit::error` with
/// `errc::invalid_config`, which names the option and the file.
///
///     auto settings = colimit::config{};
///     settings.server = "rediss://cache.example.org";
///     settings.tls.authorities = "/etc/ssl/our-authority.pem";
struct tls {
    /// The file with the certificates of those who may vouch for the server. Empty: the system's
    /// authorities.
    std::string authorities = {};

    /// The name to ask the server for, and to find in its certificate, if that is not the host of
    /// the address: a host name, 1 to 253 characters of `[A-Za-z0-9._-]`, or an IP address, which
    /// is not sent to the server.
    std::string name = {};

    /// For servers that ask who we are: the file with our certificate, followed by those between it
    /// and the server's authority, and the one with its key, which may be the same. Both or none;
    /// the key must not need a passphrase.
    std::string certificate = {};
    std::string key = {};

    /// For development only: neither authority nor name nor dates are looked at. Whoever is on the
    /// way to the server can then read and change everything, the password included. Not together
    /// with `authorities` or `name`, which would mean nothing.
    bool accept_any_certificate = false;
};

} // namespace colimit

#endif
