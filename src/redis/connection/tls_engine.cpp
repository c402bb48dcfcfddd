// SPDX-License-Identifier: BSL-1.0
//
// OpenSSL between two buffers in memory. It only ever waits for more bytes from the server.

#include <redis/connection/tls_engine.hpp>

#include <boost/assert.hpp>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/sslerr.h>

#include <algorithm>
#include <new>

namespace colimit::redis {
namespace {

/// Alerts with which a server permanently rejects this client. (The others report corrupted data.)
constexpr std::array refusals{
    SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE, // also a missing certificate, before TLS 1.3
    SSL_R_SSLV3_ALERT_NO_CERTIFICATE,
    SSL_R_SSLV3_ALERT_BAD_CERTIFICATE,
    SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE,
    SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED,
    SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED,
    SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN,
    SSL_R_TLSV1_ALERT_UNKNOWN_CA,
    SSL_R_TLSV1_ALERT_ACCESS_DENIED,
    SSL_R_TLSV1_ALERT_DECRYPT_ERROR, // signed by another CA with the same name
    SSL_R_TLSV1_ALERT_PROTOCOL_VERSION,
    SSL_R_TLSV1_ALERT_INSUFFICIENT_SECURITY,
    SSL_R_TLSV1_UNRECOGNIZED_NAME,
    SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED,
};

[[nodiscard]] bool is_refusal(unsigned long failure) noexcept {
    return ERR_GET_LIB(failure) == ERR_LIB_SSL &&
           std::ranges::find(refusals, ERR_GET_REASON(failure)) != refusals.end();
}

} // namespace

tls_engine::tls_engine(const tls_context& context, const std::string& host)
    : connection_(context.new_connection(host)), from_server_(BIO_new(BIO_s_mem())),
      to_server_(BIO_new(BIO_s_mem())) {
    if (from_server_ == nullptr || to_server_ == nullptr) {
        BIO_free(from_server_);
        BIO_free(to_server_);
        throw std::bad_alloc{};
    }
    SSL_set_bio(connection_.get(), from_server_, to_server_);
}

/// Reads and removes OpenSSL's errors, so that they are not left for other users.
error_code tls_engine::take_failure(int result) noexcept {
    const auto what = SSL_get_error(connection_.get(), result);
    if (what == SSL_ERROR_WANT_READ)
        return {};
    auto is_refused = false;
    while (const auto failure = ERR_get_error()) {
        is_refused = is_refused || is_refusal(failure);
        const auto* reason = ERR_reason_error_string(failure);
        keep_failure_text("TLS: ", reason != nullptr ? reason : "error");
    }
    // TLS begins with a handshake or an alert record.
    if (!is_open_ && first_size_ != 0 && first_bytes_[0] != SSL3_RT_HANDSHAKE &&
        first_bytes_[0] != SSL3_RT_ALERT) {
        const auto all = std::string_view{first_bytes_.data(), first_size_};
        keep_failure_text("the server does not speak TLS; it replied: ",
                          all.substr(0, all.find_first_of("\r\n")));
        return failure_ = errc::bad_reply;
    }
    const auto verified = SSL_get_verify_result(connection_.get());
    const auto is_verified =
        SSL_get_verify_mode(connection_.get()) == SSL_VERIFY_NONE || verified == X509_V_OK;
    if (!is_verified)
        keep_failure_text("server certificate: ", X509_verify_cert_error_string(verified));
    failure_ = !is_verified ? errc::untrusted_server
               : is_refused ? errc::auth_failed
                            : errc::unavailable;
    return failure_;
}

void tls_engine::keep_failure_text(const char* before, std::string_view words) noexcept {
    failure_size_ = 0;
    for (const auto part : {std::string_view{before}, words}) {
        const auto size = std::min(part.size(), failure_text_.size() - failure_size_);
        std::copy_n(part.begin(), size,
                    failure_text_.begin() + static_cast<std::ptrdiff_t>(failure_size_));
        failure_size_ += size;
    }
}

bool tls_engine::handshake(error_code& ec) noexcept {
    ERR_clear_error();
    const auto result = SSL_do_handshake(connection_.get());
    is_open_ = result == 1;
    if (!is_open_)
        ec = take_failure(result);
    return is_open_;
}

void tls_engine::commit(std::size_t bytes) {
    BOOST_ASSERT(bytes <= in_.size());
    std::size_t taken = 0;
    if (!is_open_ && first_size_ < first_bytes_.size()) {
        const auto size = std::min(bytes, first_bytes_.size() - first_size_);
        std::copy_n(in_.begin(), size,
                    first_bytes_.begin() + static_cast<std::ptrdiff_t>(first_size_));
        first_size_ += size;
    }
    if (bytes != 0 && BIO_write_ex(from_server_, in_.data(), bytes, &taken) != 1) {
        ERR_clear_error();
        throw std::bad_alloc{};
    }
}

std::size_t tls_engine::decrypt(std::span<char> into, error_code& ec) noexcept {
    std::size_t total = 0;
    while (!failure_ && total < into.size()) {
        std::size_t n = 0;
        ERR_clear_error();
        const auto result =
            SSL_read_ex(connection_.get(), into.data() + total, into.size() - total, &n);
        total += n;
        if (result != 1 && !take_failure(result))
            break;
    }
    if (total == 0)
        ec = failure_;
    return total;
}

void tls_engine::encrypt(std::string_view bytes) {
    std::size_t taken = 0;
    ERR_clear_error();
    if (!failure_ && SSL_write_ex(connection_.get(), bytes.data(), bytes.size(), &taken) == 1)
        return;
    ERR_clear_error();
    failure_ = errc::unavailable;
    throw error{errc::unavailable, "the TLS connection cannot be written to"};
}

std::string_view tls_engine::output() {
    const auto bytes = BIO_ctrl_pending(to_server_);
    if (out_.size() < bytes)
        out_.resize(bytes);
    std::size_t taken = 0;
    if (bytes != 0)
        (void)BIO_read_ex(to_server_, out_.data(), bytes, &taken);
    return {out_.data(), taken};
}

std::size_t tls_engine::end(std::span<char> output) noexcept {
    ERR_clear_error();
    if (is_open_ && !failure_)
        (void)SSL_shutdown(connection_.get());
    std::size_t taken = 0;
    (void)BIO_read_ex(to_server_, output.data(), output.size(), &taken);
    ERR_clear_error();
    return taken;
}

} // namespace colimit::redis
