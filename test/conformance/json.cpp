// SPDX-License-Identifier: BSL-1.0
//
// Boost.JSON, compiled here: Debian's packages bring it for one compiler only.

#include <boost/json/src.hpp>
