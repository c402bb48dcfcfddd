// SPDX-License-Identifier: BSL-1.0
//
// A file of records, as they lie in memory: written by one process, read by another of the same
// program.

#pragma once

#include "record.hpp"

#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace colimit::oracle {

class records_file {
  public:
    explicit records_file(const std::string& name) : out_(name, std::ios::binary) {
        pending_.reserve(most);
    }
    records_file(const records_file&) = delete;
    records_file& operator=(const records_file&) = delete;
    ~records_file() { flush(); }

    void append(const record& r) {
        pending_.push_back(r);
        ++size_;
        if (pending_.size() == most)
            flush();
    }
    [[nodiscard]] std::int64_t size() const noexcept { return size_; }

  private:
    static constexpr std::size_t most = 4096;

    void flush() {
        out_.write(reinterpret_cast<const char*>(pending_.data()),
                   static_cast<std::streamsize>(pending_.size() * sizeof(record)));
        out_.flush();
        pending_.clear();
    }

    std::ofstream out_;
    std::vector<record> pending_;
    std::int64_t size_ = 0;
};

/// Appends what the file has to `all`.
inline void read_records(const std::string& name, std::vector<record>& all) {
    auto in = std::ifstream{name, std::ios::binary};
    if (!in)
        throw std::runtime_error{"no records in " + name};
    auto r = record{};
    while (in.read(reinterpret_cast<char*>(&r), sizeof r))
        all.push_back(r);
}

} // namespace colimit::oracle
