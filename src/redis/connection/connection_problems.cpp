// SPDX-License-Identifier: BSL-1.0
//
// Texts are omitted if memory for them cannot be allocated.

#include <redis/connection/connection_problems.hpp>

#include <boost/asio/ip/address.hpp>

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

[[nodiscard]] bool is_ip_address(const std::string& host) noexcept {
    auto ec = error_code{};
    boost::asio::ip::make_address(host.c_str(), ec);
    return !ec;
}

} // namespace

void connection_problems::note(const error_report& what) noexcept {
    const auto is_next = next_ && !session_.has_connection();
    const auto& where = is_next ? *next_ : stream_.where();
    const auto has_address =
        (!is_next && stream_.reached() != phase::resolve) || is_ip_address(where.host);
    const auto server = named_server{.host = where.host,
                                     .port = has_address ? where.port : std::uint16_t{0},
                                     .is_sentinel = session_.role() == server_role::sentinel};
    auto made = what;
    made.server = naming_ == naming::all ? &server : nullptr;
    made.password = session_.password();
    to_.note(made);
}

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

std::string server_name(const stream& s) {
    const auto& where = s.where();
    if (where.kind == address::kind::unix_socket)
        return where.path + ": ";
    if (where.kind == address::kind::cluster)
        return "cluster: "; // for calls while no node is known
    if (where.kind == address::kind::sentinel)
        return "master " + where.master + ": ";
    if (s.reached() == phase::resolve)
        return where.host + ": ";
    return where.host + ":" + std::to_string(where.port) + ": ";
}

void connection_problems::report_failure(error_code why) noexcept {
    report(*this, connection_error(why), stream_.reached(), [&] {
        const auto tls = stream_.tls_failure();
        return name() + (tls.empty() ? why.message() : std::string{tls});
    });
}

void connection_problems::report_late() noexcept {
    report(*this, errc::unavailable, reached(), [&] {
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
    report(*this, connection_error(why), is_ready ? phase::reply : phase::handshake, [&] {
        const auto tls = stream_.tls_failure();
        return "the connection was lost: " + (tls.empty() ? why.message() : std::string{tls});
    });
}
} // namespace colimit::redis
