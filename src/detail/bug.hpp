#pragma once

/// A defect that tests/museum plants, to see the tests find it: false in every other build.
#ifdef XGRAD_MUSEUM
namespace xgrad::detail {
bool is_planted(const char* bug);
}
#define XGRAD_BUG(name) xgrad::detail::is_planted(#name)
#else
#define XGRAD_BUG(name) false
#endif
