// SPDX-License-Identifier: BSL-1.0
//
// Asks for the map, and reads the two replies.

#include <redis/cluster/map_requests.hpp>

namespace colimit::redis {

void map_requests::write(std::string& out, std::uint64_t /*stream_position*/, std::int64_t now) {
    resp::append_command(out, {"CLUSTER", "INFO"});
    resp::append_command(out, {"CLUSTER", "SLOTS"});
    awaited_ = 2;
    is_asked_ = false;
    sent_at_ = now;
    info_.reset();
    answer_.reset();
}

std::optional<recovery> map_requests::read_reply(const resp::decoder& reply,
                                                 std::string_view bytes) {
    if (awaited_ == 0)
        return std::nullopt;
    if (--awaited_ == 1) // an error reply has no facts either
        info_ = read_cluster_info(reply.text(reply.first(), bytes));
    else
        answer_ = answer{read_slot_map(reply, bytes, host_), info_};
    return recovery::keep;
}

} // namespace colimit::redis
