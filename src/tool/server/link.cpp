// SPDX-License-Identifier: BSL-1.0
//
// All commands are written at once, and their replies are kept until the last one has come. The
// decoder's flat nodes become a tree; its depth is bounded by the decoder.

#include <base/clocks.hpp>
#include <tool/server/link.hpp>

#include <optional>
#include <utility>

namespace tool {

namespace redis = colimit::redis;

namespace {

namespace resp = redis::resp;

[[nodiscard]] reply_kind kind_of(resp::kind k) noexcept {
    if (resp::is_container(k))
        return reply_kind::array;
    if (resp::is_error(k))
        return reply_kind::error;
    if (k == resp::kind::null)
        return reply_kind::nil;
    return k == resp::kind::integer || k == resp::kind::boolean ? reply_kind::integer
                                                                : reply_kind::text;
}

[[nodiscard]] reply copy_node(const resp::decoder& from, std::string_view bytes, std::size_t& at) {
    const auto& node = from.nodes()[at++];
    auto made = reply{.kind = kind_of(node.kind),
                      .text = std::string{from.text(node, bytes)},
                      .integer = node.integer,
                      .elements = {},
                      .bytes = {}};
    if (made.kind == reply_kind::array)
        for (std::uint32_t i = 0; i < node.size; ++i)
            made.elements.push_back(copy_node(from, bytes, at));
    return made;
}

} // namespace

link::link(const boost::asio::any_io_executor& executor, redis::connection_settings settings)
    : problems_(settings.where.password, colimit::detail::steady_now, settings.log),
      connection_(executor, lock_, std::move(settings), *this, problems_, *this, life_) {}

void link::send(const std::vector<words>& commands) {
    request_.clear();
    for (const auto& command : commands) {
        redis::resp::append_array(request_, command.size());
        for (const auto& word : command)
            redis::resp::append_bulk(request_, word);
    }
    answers_.clear();
    expected_ = commands.size();
    is_written_ = is_lost_ = false;
    connection_.read_clock();
    life_ = weak_from_this();
    if (!std::exchange(is_open_, true))
        connection_.open();
    else
        connection_.flush();
    connection_.wait();
}

void link::on_events() {
    const auto happened = connection_.take_events();
    if (happened.ready)
        problems_.note_ready();
    is_lost_ = is_lost_ || happened.lost;
    connection_.flush();
    connection_.wait();
}

std::vector<reply> link::take() {
    expected_ = 0;
    return std::exchange(answers_, {});
}

std::string link::problem() const {
    const auto last = problems_.last();
    return last ? std::string{to_string(last->phase)} + ": " + last->text : "no reply";
}

void link::write(std::string& out, std::uint64_t /*stream_position*/, std::int64_t now) {
    out += request_;
    sent_at_ = now;
    is_written_ = true;
}

std::optional<redis::recovery> link::read_reply(const redis::resp::decoder& reply,
                                                std::string_view bytes) {
    if (answers_.size() == expected_)
        return std::nullopt;
    auto at = std::size_t{0};
    answers_.push_back(copy_node(reply, bytes, at));
    answers_.back().bytes = bytes.substr(0, reply.consumed());
    return redis::recovery::keep;
}

} // namespace tool
