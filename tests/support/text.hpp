#pragma once

#include <sstream>
#include <string>

/// What `os << x` prints.
template <class T>
std::string text(const T& x) {
  std::ostringstream os;
  os << x;
  return os.str();
}
