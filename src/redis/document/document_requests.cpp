// SPDX-License-Identifier: BSL-1.0
//
// Asks for a document and reads the replies.

#include <redis/document/document_requests.hpp>

namespace colimit::redis {
namespace {

/// Returns the text of a field, or nullopt for null.
[[nodiscard]] std::optional<std::string> field_of(const resp::decoder& reply, std::size_t i,
                                                  std::string_view bytes) {
    const auto& field = reply.nodes()[i];
    if (field.kind == resp::kind::null)
        return std::nullopt;
    return std::string{reply.text(field, bytes)};
}

} // namespace

void document_requests::write(std::string& out, std::uint64_t /*stream_position*/,
                              std::int64_t now) {
    awaited_ = std::exchange(next_, question::none);
    if (awaited_ == question::document)
        resp::append_command(out, {"HMGET", key_, "version", "document"});
    else
        resp::append_command(out, {"HMGET", key_, "version"});
    sent_at_ = now;
}

std::optional<recovery> document_requests::read_reply(const resp::decoder& reply,
                                                      std::string_view bytes) {
    const auto asked = std::exchange(awaited_, question::none);
    const auto& first = reply.first();
    if (asked == question::none)
        return std::nullopt;
    auto made = answer{
        .has_document = asked == question::document, .version = {}, .document = {}, .error = {}};
    if (resp::is_error(first.kind)) {
        made.error = reply.text(first, bytes);
        const auto meaning = classify(made.error);
        report({.code = meaning.code, .phase = phase::reply, .text = made.error});
        answer_ = std::move(made);
        return meaning.recovery;
    }
    const auto fields = std::size_t{asked == question::document ? 2U : 1U};
    if (first.kind != resp::kind::array || reply.nodes().size() != 1 + fields)
        return std::nullopt;
    made.version = field_of(reply, 1, bytes);
    if (made.has_document)
        made.document = field_of(reply, 2, bytes);
    answer_ = std::move(made);
    ++answers_;
    return recovery::keep;
}

} // namespace colimit::redis
