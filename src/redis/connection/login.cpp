// SPDX-License-Identifier: BSL-1.0
//
// Credentials are asked for before each attempt to connect, not when they are sent: then a failure
// ends the attempt before there is a connection.

#include <redis/connection/login.hpp>
#include <redis/protocol/resp.hpp>

#include <boost/assert.hpp>

#include <exception>
#include <new>
#include <string_view>
#include <utility>

namespace colimit::redis {
namespace {

/// Returns the name by which HELLO and AUTH know the user.
[[nodiscard]] std::string_view user_of(const credentials& c) noexcept {
    return c.user.empty() ? std::string_view{"default"} : c.user;
}

} // namespace

login::login(credentials fixed, std::function<credentials()> source, std::string_view option)
    : current_(std::move(fixed)), source_(std::move(source)), option_(option) {}

bool login::renew(error_sink* errors) {
    if (!source_)
        return true;
    const auto fail = [this, errors](std::string_view reason) {
        if (errors != nullptr)
            errors->note_own(errc::auth_failed, phase::handshake,
                             "config::" + std::string{option_} + " failed:", reason);
        return false;
    };
    try {
        current_ = source_();
    } catch (const std::bad_alloc&) {
        throw; // the attempt fails for the want of memory
    } catch (const std::exception& e) {
        return fail(e.what());
    } catch (...) {
        return fail("it threw something else than a std::exception");
    }
    return true;
}

void login::append_hello(std::string& out) const {
    if (has_credentials())
        resp::append_command(out, {"HELLO", "3", "AUTH", user_of(current_), current_.password});
    else
        resp::append_command(out, {"HELLO", "3"});
}

void login::append_auth(std::string& out) const {
    BOOST_ASSERT(has_credentials());
    resp::append_command(out, {"AUTH", user_of(current_), current_.password});
}

} // namespace colimit::redis
