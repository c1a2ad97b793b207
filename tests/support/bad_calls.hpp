#pragma once

#include <functional>

#include "support/values.hpp"

/// Tables of calls with wrong arguments. Each throws an error before anything is computed, whose
/// text names the operation and what is wrong.

struct BadCall {
  const char* what;
  std::function<void()> call;
  std::vector<std::string> words;  ///< all in the error's text
  bool (*is)(const xgrad::Error*) = [](const xgrad::Error*) { return true; };  ///< of what type
};

/// A call that must throw an E.
template <class E = xgrad::Error, class F>
BadCall bad(const char* what, F call, std::vector<std::string> words) {
  return {what, call, std::move(words),
          [](const xgrad::Error* e) { return dynamic_cast<const E*>(e) != nullptr; }};
}

inline void expect_refused(const std::vector<BadCall>& calls) {
  for (const BadCall& bad : calls) {
    SCOPED_TRACE(bad.what);
    const std::int64_t nodes = xgrad::live_nodes();
    try {
      bad.call();
      ADD_FAILURE() << "no error";
    } catch (const xgrad::Error& error) {
      expect_words(error.what(), bad.words);
      EXPECT_TRUE(bad.is(&error)) << "of another type: " << error.what();
    }
    EXPECT_EQ(xgrad::live_nodes(), nodes);
  }
}
