#include <algorithm>
#include <charconv>

#include "io/file.hpp"
#include "io/reader.hpp"
#include "xgrad/io.hpp"
#include "xgrad/ops.hpp"

/// numpy's format (numpy.lib.format): "\x93NUMPY", two bytes of version, the length of the header
/// in two bytes (version 1) or four (2 and 3), the header, which is a Python dict
/// {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }, then the elements.
///
/// Not read by xtensor's reader, which takes every length that it finds at its word.

namespace xgrad {

namespace {

constexpr std::pair<std::string_view, DType> dtypes[] = {
    {"<f4", float32}, {"<f8", float64}, {"<i8", int64}, {"|b1", bool_}};

/// The header, a small piece of Python.
class NpyHeader {
 public:
  NpyHeader(const detail::Reader& file, std::string_view text)
      : file_(file), text_(text), start_(file.offset() - text.size()) {
    bool seen[3] = {};
    expect('{');
    while (!take('}')) {
      const std::string_view key = quoted();
      const std::size_t which = key == "descr" ? 0 : key == "fortran_order" ? 1 : 2;
      if (which == 2 && key != "shape") fail("unknown key '", detail::shown(key), "'");
      if (std::exchange(seen[which], true)) fail("two of '", key, "'");
      expect(':');
      which == 0 ? read_descr() : which == 1 ? read_order() : read_shape();
      if (!take(',') && next() != '}') fail("expected , or }");
    }
    if (!seen[0] || !seen[1] || !seen[2]) fail("needs descr, fortran_order and shape");
    next();
    if (at_ < text_.size()) fail("expected nothing more");
  }
  DType dtype = float32;
  bool fortran_order = false;
  Shape shape;

 private:
  /// The next character that is not a space; '\0' at the end.
  char next() {
    at_ = std::min(text_.find_first_not_of(" \t\n\r", at_), text_.size());
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char wanted) {
    const bool there = next() == wanted && at_ < text_.size();
    at_ += there ? 1 : 0;
    return there;
  }
  void expect(char wanted) {
    if (!take(wanted)) fail("expected ", std::string_view(&wanted, 1));
  }
  std::string_view quoted() {
    const char quote = next();
    const std::size_t end = quote == '\'' || quote == '"' ? text_.find(quote, at_ + 1) : text_.npos;
    if (end == text_.npos) fail("expected a text in quotes");
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return inside;
  }

  void read_descr() {
    if (next() == '[') fail("records have no place in a tensor; save their fields one by one");
    const std::string_view descr = quoted();
    const auto* known = std::find_if(std::begin(dtypes), std::end(dtypes),
                                     [&](const auto& d) { return d.first == descr; });
    if (known == std::end(dtypes)) {
      const char kind = descr.size() > 1 ? descr[1] : ' ';
      std::string_view fits;
      if (kind == 'i' || kind == 'u') fits = "<i8";
      if (kind == 'f') fits = descr.ends_with("f2") || descr.ends_with("f4") ? "<f4" : "<f8";
      fail("elements are '", detail::shown(descr), "'; '<f4', '<f8', '<i8' and '|b1' can be read.",
           (fits.empty() ? "" : message(" Save x.astype('", fits, "') instead.")));
    }
    dtype = known->second;
  }
  void read_order() {
    next();
    fortran_order = text_.substr(at_).starts_with("True");
    if (!fortran_order && !text_.substr(at_).starts_with("False")) fail("expected True or False");
    at_ += fortran_order ? 4 : 5;
  }
  void read_shape() {
    expect('(');
    bool comma = true;
    while (!take(')')) {
      if (!comma) fail("expected , or )");
      next();
      std::int64_t size = 0;
      const char* end = text_.data() + text_.size();
      const auto [stop, error] = std::from_chars(text_.data() + at_, end, size);
      if (error != std::errc() || size < 0) fail("a size must be a whole number from 0 up");
      if (shape.dim() == Shape::max_dims) fail("more than 8 dimensions");
      shape.push_back(size);
      at_ = static_cast<std::size_t>(stop - text_.data());
      comma = take(',');
    }
    if (shape.dim() == 1 && !comma) fail("a tuple of one needs a comma");
  }

  template <class... What>
  [[noreturn]] void fail(const What&... what) const {
    file_.fail(start_ + at_, "header: ", what...);
  }

  const detail::Reader& file_;
  std::string_view text_;
  std::uint64_t start_;  // of the text in the file
  std::size_t at_ = 0;
};

}  // namespace

Tensor load_npy(const std::string& path) {
  constexpr std::uint64_t longest = 1 << 16;  // enough for any header of version 1
  detail::Reader file("load_npy", path);
  if (file.text(6) != "\x93NUMPY") file.fail(0, "not a .npy file");
  const int version = file.little_endian<std::uint8_t>();
  if (version < 1 || version > 3 || file.little_endian<std::uint8_t>() != 0) {
    file.fail(6, "version ", version, "; 1.0, 2.0 and 3.0 can be read");
  }
  const std::uint64_t length =
      version == 1 ? file.little_endian<std::uint16_t>() : file.little_endian<std::uint32_t>();
  if (length > longest) file.fail(8, "a header of ", length, " bytes");
  const std::string text = file.text(length);
  const NpyHeader header(file, text);
  const Shape& shape = header.shape;
  const std::uint64_t bytes = file.bytes_for(shape, header.dtype, file.offset());
  if (bytes != file.left()) {
    file.fail(file.offset() + std::min(bytes, file.left()), "shape ", shape, " of ", header.dtype,
              " takes ", bytes, " bytes, the file has ", file.left());
  }
  if (!header.fortran_order) return file.tensor(shape, header.dtype);
  // Column after column: the transposed, row after row.
  const std::vector<std::int64_t> sizes(shape.begin(), shape.end());
  std::vector<std::int64_t> dims(sizes.size());
  for (std::size_t d = 0; d < dims.size(); ++d) {
    dims[d] = static_cast<std::int64_t>(dims.size() - 1 - d);
  }
  const std::vector<std::int64_t> reversed(sizes.rbegin(), sizes.rend());
  return file.tensor(reversed, header.dtype).permute(dims);
}

void save_npy(const std::string& path, const Tensor& x) {
  const auto* known = std::find_if(std::begin(dtypes), std::end(dtypes),
                                   [&](const auto& d) { return x.dtype() == d.second; });
  std::string header = message("{'descr': '", known->first,
                               "', 'fortran_order': False, 'shape': ", x.shape(), ", }");
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 10 - 1, ' ');  // the elements at 64 * n
  header += '\n';
  detail::AtomicFile file("save_npy", path);
  file.write(std::string("\x93NUMPY\x01\x00", 8));
  const auto length = static_cast<std::uint16_t>(header.size());
  file.write({reinterpret_cast<const char*>(&length), sizeof length});
  file.write(header);
  file.write(detail::bytes_of(x));
  file.commit();
}

}  // namespace xgrad
