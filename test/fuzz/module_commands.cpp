// SPDX-License-Identifier: BSL-1.0
//
// Any bytes as choices of hostile commands for the server module, which a fake server in this
// process has loaded: each command gets one reply, and a replica stays equal.
#include <server_module/fake_trial.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

// The name and type are libFuzzer's.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace colimit::test;
    constexpr auto most = 32; // commands
    auto made = fake::trial{choices{std::span{data, size}}};
    for (auto i = 0; i < most && !made.is_over(); ++i)
        made.step();
    return 0;
}
