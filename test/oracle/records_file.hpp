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

template<class Record>
class file_of {
  public:
    explicit file_of(const std::string& name) : out_(name, std::ios::binary) {
        pending_.reserve(most);
    }
    file_of(const file_of&) = delete;
    file_of& operator=(const file_of&) = delete;
    ~file_of() { flush(); }

    void append(const Record& r) {
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
                   static_cast<std::streamsize>(pending_.size() * sizeof(Record)));
        out_.flush();
        pending_.clear();
    }

    std::ofstream out_;
    std::vector<Record> pending_;
    std::int64_t size_ = 0;
};

using records_file = file_of<record>;

/// Appends what the file has to `all`.
template<class Record>
void read_records(const std::string& name, std::vector<Record>& all) {
    auto in = std::ifstream{name, std::ios::binary};
    if (!in)
        throw std::runtime_error{"no records in " + name};
    auto r = Record{};
    while (in.read(reinterpret_cast<char*>(&r), sizeof r))
        all.push_back(r);
}

} // namespace colimit::oracle
