#include "xgrad/shape.hpp"

#include <algorithm>
#include <ostream>

#include "detail/message.hpp"

namespace xgrad {

Shape::Shape(std::span<const std::int64_t> sizes) {
  for (std::int64_t s : sizes) push_back(s);
}

void Shape::push_back(std::int64_t size) {
  if (dim_ == max_dims) {
    throw ShapeError(message("shape: more than ", max_dims, " dimensions after ", str()));
  }
  sizes_[dim_++] = size;
}

bool Shape::operator==(const Shape& other) const {
  return std::equal(begin(), end(), other.begin(), other.end());
}

Shape Shape::slice(int begin, int end) const {
  Shape out;
  const int last = std::min(end, dim_);
  for (int d = begin; d < last; ++d) out.sizes_[out.dim_++] = sizes_[d];
  return out;
}

Shape operator+(const Shape& a, const Shape& b) {
  Shape out = a;
  for (std::int64_t s : b) out.push_back(s);
  return out;
}

static std::string joined(const Shape& shape) {
  std::string text;
  for (std::int64_t s : shape) text += (text.empty() ? "" : ", ") + std::to_string(s);
  return text;
}

std::string Shape::str() const { return "(" + joined(*this) + (dim_ == 1 ? ",)" : ")"); }

std::ostream& operator<<(std::ostream& os, const Shape& shape) {
  return os << "torch.Size([" << joined(shape) << "])";
}

}  // namespace xgrad
