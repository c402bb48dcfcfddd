// SPDX-License-Identifier: BSL-1.0
//
// The messages and conditions of the error codes.

#include <base/error_category.hpp>
#include <colimit/error.hpp>

namespace colimit {
namespace {

[[nodiscard]] const char* message_of(int value) noexcept {
    switch (static_cast<errc>(value)) {
    case errc::unavailable:
        return "no connection to the store; nothing was charged";
    case errc::deadline_exceeded:
        return "the deadline passed before the request was sent; nothing was charged";
    case errc::outcome_unknown:
        return "no reply to a request that was sent; it may or may not have been charged";
    case errc::too_many_in_flight:
        return "too many calls are waiting already; nothing was charged";
    case errc::server_error:
        return "the server refused the command; nothing was charged";
    case errc::bad_reply:
        return "the server is not a Redis server, or TLS is on at one end only; nothing was "
               "charged";
    case errc::key_conflict:
        return "the key holds a value that colimit did not write; it was not changed";
    case errc::corrupt_state:
        return "the server and this process disagree about the same state";
    case errc::auth_failed:
        return "the server did not accept the user name, password or client certificate, or does "
               "not permit the command";
    case errc::untrusted_server:
        return "the server certificate is signed by a CA that is not trusted, is for another "
               "name, or is not valid at present";
    case errc::closed:
        return "the limiter was closed";
    case errc::invalid_argument:
        return "an argument is out of range";
    case errc::invalid_policy:
        return "the policy is invalid";
    case errc::invalid_key:
        return "the key is longer than 65536 bytes";
    case errc::invalid_config:
        return "the configuration is invalid";
    case errc::wrong_node:
        return "the server is a cluster node that does not serve the key; use a "
               "redis+cluster:// address; nothing was charged";
    }
    return "unknown colimit error";
}

[[nodiscard]] condition condition_of(int value) noexcept {
    switch (static_cast<errc>(value)) {
    case errc::unavailable:
    case errc::deadline_exceeded:
    case errc::too_many_in_flight:
    case errc::server_error:
        return condition::transient;
    case errc::outcome_unknown:
        return condition::maybe_charged;
    case errc::closed:
        return condition::closed;
    default:
        return condition::permanent;
    }
}

class condition_texts final : public boost::system::error_category {
  public:
    [[nodiscard]] const char* name() const noexcept override { return "colimit.condition"; }
    [[nodiscard]] std::string message(int value) const override {
        switch (static_cast<condition>(value)) {
        case condition::transient:
            return "nothing was charged; it may succeed later";
        case condition::maybe_charged:
            return "it may have been charged";
        case condition::permanent:
            return "the call, the configuration or the server must be changed first";
        case condition::closed:
            return "the limiter is closed";
        }
        return "unknown colimit condition";
    }
};

class plain_category final : public detail::code_category {};

} // namespace

std::string detail::code_category::message(int value) const {
    return message_of(value);
}

boost::system::error_condition
detail::code_category::default_error_condition(int value) const noexcept {
    return make_error_condition(condition_of(value));
}

const boost::system::error_category& error_category() noexcept {
    static const plain_category instance;
    return instance;
}

const boost::system::error_category& condition_category() noexcept {
    static const condition_texts instance;
    return instance;
}

} // namespace colimit
