#pragma once

#include <vector>

/// The bug museum: defects like those of real libraries, planted one at a time into a build of the
/// library made for this (see src/detail/bug.hpp). A new one is one XGRAD_BUG(name) in src/ and one
/// row of bugs.cpp.

namespace museum {

struct Bug {
  const char* name;         ///< as XGRAD_BUG has it
  const char* breaks;       ///< what is wrong with it
  const char* origin;       ///< where such a bug has been seen
  const char* filter;       ///< the tests that are to notice, as gtest's filter
  const char* layer;        ///< what a failing message must name: the layer or operation
  const char* quantity;     ///< and what of it is wrong
  const char* explanation;  ///< the shortest one of why it is wrong
};

const std::vector<Bug>& bugs();

}  // namespace museum
