// SPDX-License-Identifier: BSL-1.0
//
// Texts are omitted if memory for them cannot be allocated.

#include <redis/connection/connection_problems.hpp>

namespace colimit::redis {
namespace {

template<class Text>
void report(error_sink& to, errc code, phase where, Text text) noexcept {
    try {
        to.note_own(code, where, text(), {});
    } catch (const std::exception&) {
        to.note_own(code, where, "out of memory", {});
    }
}

} // namespace

phase connection_problems::reached() const noexcept {
    switch (session_.state()) {
    case session_state::ready:
        return phase::reply;
    case session_state::handshake:
        return phase::handshake;
    default:
        return stream_.reached();
    }
}

/// Returns the name of the server for messages. The port of a host without an address is omitted:
/// in `redis://user:12345`, where `@host` was forgotten, it is a password.
std::string connection_problems::name() const {
    const auto& where = stream_.where();
    if (is_named_)
        return {};
    if (where.kind == address::kind::unix_socket)
        return where.path + ": ";
    if (stream_.reached() == phase::resolve)
        return where.host + ": ";
    return where.host + ":" + std::to_string(where.port) + ": ";
}

void connection_problems::report_failure(error_code why) noexcept {
    report(to_, connection_error(why), stream_.reached(), [&] {
        const auto tls = stream_.tls_failure();
        return name() + (tls.empty() ? why.message() : std::string{tls});
    });
}

void connection_problems::report_late() noexcept {
    report(to_, errc::unavailable, reached(), [&] {
        return name() + (session_.state() == session_state::handshake
                             ? "no reply within config::advanced.connect_timeout"
                             : "no connection within config::advanced.connect_timeout");
    });
}

/// A server that says why it refuses a client, such as one that has too many, closes at once. Its
/// message is the problem, not that the connection was lost.
void connection_problems::report_loss(error_code why) noexcept {
    if (session_.has_error_reply())
        return;
    const auto is_ready = session_.state() == session_state::ready;
    report(to_, connection_error(why), is_ready ? phase::reply : phase::handshake, [&] {
        const auto tls = stream_.tls_failure();
        return "the connection was lost: " + (tls.empty() ? why.message() : std::string{tls});
    });
}
} // namespace colimit::redis
