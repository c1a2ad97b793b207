#pragma once

#include <string>

#include "xgrad/error.hpp"

/// The text of the error that the call throws; "no error" if it throws none.
std::string message(const auto& call) {
  try {
    call();
  } catch (const xgrad::Error& e) {
    return e.what();
  }
  return "no error";
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
