// SPDX-License-Identifier: BSL-1.0
//
// Boost.Test itself and main(), compiled once for all test programs: the header-only form needs no
// library to be installed, but takes seconds to compile.
#define BOOST_TEST_MODULE colimit
#include <boost/test/included/unit_test.hpp>
