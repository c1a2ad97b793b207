#pragma once

#include <stdexcept>
#include <string>

namespace xgrad {

/// Base of every exception that xgrad throws. After one, tensors, parameters, buffers and `.grad`
/// are as they were before the call. The text names the operation first, then every shape involved.
/// Thrown itself for an argument out of its range (a negative learning rate, p = 1.5 ...).
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  /// The text, with the modules it passed through.
  const char* what() const noexcept override {
    return text_.empty() ? std::runtime_error::what() : text_.c_str();
  }
  /// Names the module it passes through: `linear: ...` becomes `linear "fc1": ...`, then
  /// `linear "encoder.fc1": ...`.
  void add_module(const std::string& name);

 private:
  std::string path_;
  std::string text_;
};

/// Shapes that do not fit together, or a dimension that does not exist.
class ShapeError : public Error {
 public:
  using Error::Error;
};

/// An element type that the operation cannot take.
class DTypeError : public Error {
 public:
  using Error::Error;
};

/// A dimension or an element index out of range.
class IndexError : public Error {
 public:
  using Error::Error;
};

/// Misuse of the graph: backward twice, a saved tensor changed in place, no gradient to be had.
class GraphError : public Error {
 public:
  using Error::Error;
};

/// A file that is missing, malformed or does not fit. Names the file and, where it can, the offset.
class FileError : public Error {
 public:
  using Error::Error;
};

}  // namespace xgrad
