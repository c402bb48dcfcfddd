// SPDX-License-Identifier: BSL-1.0
//
// The loop of a server.

#include "server.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace colimit::simulation {

namespace resp = redis::resp;

std::string text_of(place p) {
    auto text = std::string{};
    for (const auto shift : {24U, 16U, 8U, 0U})
        text += std::to_string((p.ip >> shift) & 255U) + (shift == 0 ? "" : ".");
    return text;
}

void append_error(std::string& out, std::string_view text) {
    out.append("-").append(text).append("\r\n");
}

void append_integer(std::string& out, std::int64_t value) {
    out.append(":").append(std::to_string(value)).append("\r\n");
}

void append_texts(std::string& out, std::initializer_list<std::string_view> texts) {
    resp::append_array(out, texts.size());
    for (const auto text : texts)
        resp::append_bulk(out, text);
}

void append_hello(std::string& out, std::string_view mode) {
    resp::append_header(out, '%', 3);
    for (const auto text :
         {std::string_view{"server"}, std::string_view{"redis"}, std::string_view{"mode"}, mode,
          std::string_view{"role"}, std::string_view{"master"}})
        resp::append_bulk(out, text);
}

bool is_word(std::string_view a, std::string_view upper) noexcept {
    return std::ranges::equal(a, upper, {}, [](char c) {
        return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    });
}

server::server(network& of, place where) : network_(of), address_{text_of(where), where.port} {
    of.add(where, *this);
}

std::int64_t server::clock() const noexcept {
    return machine::epoch + network_.os().now() + elapsed_ + clock_offset_;
}

void server::freeze(std::int64_t duration) {
    busy_until_ = std::max(busy_until_, os().now() + duration);
}

void server::thaw() {
    busy_until_ = os().now();
    if (is_working_)
        work_at(busy_until_);
}

void server::drop_connections() {
    for (const auto& c : network_.connections_of(*this))
        c->reset();
    queue_.clear();
}

void server::kill() {
    is_up = false;
    busy_until_ = 0;
    drop_connections();
}

void server::on_bytes(connection& from, std::string_view bytes) {
    session_of(from).in.append(bytes);
    enqueue(from.shared_from_this());
}

void server::enqueue(const std::shared_ptr<connection>& from) {
    if (std::exchange(session_of(*from).is_queued, true))
        return;
    queue_.push_back(from);
    if (!std::exchange(is_working_, true))
        work_at(std::max(os().now(), busy_until_));
}

void server::work_at(std::int64_t time) {
    os().at(time, [self = std::weak_ptr{self_}] {
        if (const auto alive = self.lock())
            (*alive)->work();
    });
}

/// Executes what one client has sent.
void server::work() {
    if (busy_until_ > os().now())
        return work_at(busy_until_);
    is_working_ = false;
    if (queue_.empty())
        return;
    const auto from = std::move(queue_.front());
    queue_.pop_front();
    execute_all(*from);
    if (!queue_.empty() && !std::exchange(is_working_, true))
        work_at(busy_until_);
}

void server::execute_all(connection& from) {
    auto& s = session_of(from);
    s.is_queued = false;
    auto bytes = std::string_view{s.in};
    auto out = std::string{};
    auto command = std::vector<std::string_view>{};
    while (s.decoder.feed(bytes) == resp::progress::complete) {
        command.clear();
        for (const auto& n : s.decoder.nodes().subspan(1))
            command.push_back(s.decoder.text(n, bytes));
        const auto was_asking = s.is_asking;
        elapsed_ += slowness_ * execute(s, command, out);
        if (was_asking) // by the command before this one, whichever this is
            s.is_asking = false;
        bytes.remove_prefix(s.decoder.consumed());
        s.decoder.next();
    }
    s.in.erase(0, s.in.size() - bytes.size());
    busy_until_ = os().now() + std::exchange(elapsed_, 0);
    if (!out.empty())
        from.reply(std::move(out), busy_until_);
}

} // namespace colimit::simulation
