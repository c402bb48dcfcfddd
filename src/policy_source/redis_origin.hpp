// SPDX-License-Identifier: BSL-1.0
//
// Documents that are published in Redis: decides which versions are read and taken, and keeps a
// copy of the last one.
//
// What was read last is remembered, also if it was refused. It is read again, in case it was
// replaced under its version, but with pauses: a megabyte that is checked on the event loop of each
// process in each poll would stall them all.
//
// A document is a hash: HSET sets both fields at once, and a poll reads only the version, so forty
// processes that poll four times per second cost a server 160 small commands. No message is
// published: a process that was cut off would have to look anyway. As a lower version is ignored,
// processes that look at different times, or at a replica that became a master and lacks the last
// write, do not go back and forth.

#pragma once

#include <colimit/config.hpp>
#include <hash/siphash.hpp>
#include <policy_source/key_link.hpp>
#include <policy_source/source_core.hpp>
#include <redis/connection/address.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace colimit::detail {

/// The files of such a source.
struct origin_files {
    std::string first; ///< the document before Redis has one, unless the copy is newer
    std::string copy;  ///< empty: none
};

class redis_origin final : public origin, public link_owner {
  public:
    /// Takes the document of the copy or of the file.
    /// @throws colimit::error as the constructor of the source
    redis_origin(source_core& core, origin_files files, const config& settings,
                 const redis::address& where, std::chrono::milliseconds poll_interval);

    void open() override { link_.open(); }
    void reload() override {
        read_.again_at = 0;
        link_.ask_version();
    }
    void close() noexcept override { link_.close(); }

    void on_answer(redis::document_requests::answer answer) override;
    void on_silence(std::string why) override {
        core_.report(policy_event_kind::unavailable, {}, why);
    }

  private:
    /// What was read last. Times are in microseconds.
    struct reading {
        std::int64_t version = 0; ///< 0: none
        hash::digest text;
        std::string problem; ///< why it is not in force, or empty
        std::int64_t pause = 0;
        std::int64_t again_at = 0;
    };

    void take_first();
    [[nodiscard]] std::optional<policy_document> read_copy();
    void take(policy_document fresh, std::string_view from, std::string_view remark = {});
    void read(std::int64_t version, const std::string& text);
    [[nodiscard]] std::string problem_of(std::int64_t version, const std::string& text);
    void take_published(std::int64_t version, const std::string& text);
    void report_reading();
    void keep_copy(std::int64_t version, std::string_view text);

    source_core& core_;
    const origin_files files_;
    const std::string key_;
    const std::int64_t poll_interval_;
    std::int64_t version_ = 0; ///< of the document in force; 0: none
    bool is_copy_due_ = false; ///< of this document
    reading read_;
    key_link link_;
};

} // namespace colimit::detail
