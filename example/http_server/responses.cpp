// SPDX-License-Identifier: BSL-1.0
//
// The page may load nothing but its own files, run no script within its HTML, and be shown in no
// frame: so a key that contains markup could do nothing, even if it were not shown as text.

#include "responses.hpp"

#include "page.hpp"

#include <boost/beast/http/field.hpp>
#include <boost/beast/http/verb.hpp>

#include <utility>

namespace http_server {

namespace http = boost::beast::http;

session::response make_response(const session::request& to, http::status status,
                                std::string_view type, std::string body) {
    session::response r{status, to.version()};
    r.set(http::field::content_type, type);
    r.set("X-Content-Type-Options", "nosniff");
    r.keep_alive(to.keep_alive());
    const auto size = body.size();
    if (to.method() != http::verb::head)
        r.body() = std::move(body);
    r.content_length(size);
    return r;
}

session::response page_response(const session::request& to, std::string_view path) {
    const auto* const file = find_page_file(path);
    if (file == nullptr)
        return make_response(to, http::status::not_found, "text/plain",
                             "nothing is here; the page is at /\n");
    if (to.method() != http::verb::get && to.method() != http::verb::head) {
        auto r = make_response(to, http::status::method_not_allowed, "text/plain",
                               "only GET and HEAD are allowed here\n");
        r.set(http::field::allow, "GET, HEAD");
        return r;
    }
    auto r = make_response(to, http::status::ok, file->type, std::string{file->text});
    r.set(http::field::cache_control, "no-cache");
    r.set("Content-Security-Policy",
          "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
          "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    r.set("Referrer-Policy", "no-referrer");
    return r;
}

session::response rejection(http::status status, std::string_view reason) {
    session::response r{status, 11};
    r.set(http::field::content_type, "text/plain");
    r.keep_alive(false);
    r.body().append(reason).append("\n");
    r.prepare_payload();
    return r;
}

void to_text(const session::response& r, std::string& text) {
    text.assign(r.version() == 10 ? "HTTP/1.0 " : "HTTP/1.1 ");
    text.append(std::to_string(r.result_int())).append(" ").append(r.reason()).append("\r\n");
    for (const auto& field : r)
        text.append(field.name_string()).append(": ").append(field.value()).append("\r\n");
    text.append("\r\n").append(r.body());
}

} // namespace http_server
