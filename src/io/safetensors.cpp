#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

#include "detail/check.hpp"
#include "io/file.hpp"
#include "io/reader.hpp"
#include "xgrad/io.hpp"

/// Eight bytes: length of the header; the header, a JSON object of
/// {name: {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}}; then the data, without
/// gaps. Numbers are little-endian, and offsets count from the end of the header.
///
/// The format has no checksum, so files written here have one in their metadata: "crc32" is zlib's
/// of the whole file with these eight digits as zeros.

namespace xgrad {

namespace {

using Json = nlohmann::json;
using detail::bytes_of;
using detail::shown;

constexpr std::pair<const char*, DType> dtypes[] = {
    {"F32", float32}, {"F64", float64}, {"I64", int64}, {"BOOL", bool_}};

constexpr std::string_view checksum_key = R"("crc32":")";

uLong checksum(uLong before, std::span<const char> bytes) {
  return crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
}

std::string hex(uLong sum) {
  char text[9];
  std::snprintf(text, sizeof text, "%08lx", sum);
  return text;
}

std::span<const char> as_bytes(const std::uint64_t& number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

constexpr std::uint64_t longest = 100'000'000;  // header; the bound of the format's own library

struct Entry {
  std::string name;
  std::uint64_t at = 0;  // its place in the file
  DType dtype = float32;
  Shape shape{};
  std::vector<std::uint64_t> offsets{};
};

/// The header, followed word by word (nlohmann's parser calls its public functions) up to the first
/// that the format does not know. So none is too deep or too long.
class Header {
 public:
  explicit Header(detail::Reader& file) : file_(file) {
    const auto length = file.little_endian<std::uint64_t>();
    if (length > file.left()) {
      file.fail(0, "the header is said to have ", length, " bytes, the file has ", file.size());
    }
    if (length > longest) file.fail(0, "a header of ", length, " bytes");
    text = file.text(length);
    if (!text.starts_with('{')) refuse();
    Json::sax_parse(Place{text.data(), &taken_}, Place{text.data() + length, &taken_}, this);
    put_in_order();
  }
  std::string text{};
  std::vector<Entry> entries{};  // in the order of their data
  Metadata metadata{};

  bool start_object(std::size_t) {
    if (depth_ >= 2) refuse();
    ++depth_;
    return true;
  }
  bool end_object() {
    if (--depth_ == 1 && !in_metadata_) check(entries.back());
    return true;
  }
  bool start_array(std::size_t) {
    if (depth_ != 2 || in_metadata_ || key_ == "dtype") refuse();
    ++depth_;
    return true;
  }
  bool end_array() { return --depth_ > 0; }
  bool key(const std::string& key) {
    if (!(depth_ == 1 ? names_ : keys_).insert(key).second) {
      file_.fail(here(), "two entries \"", shown(key), "\"");
    }
    if (depth_ == 1) {
      in_metadata_ = key == "__metadata__";
      keys_.clear();
      if (!in_metadata_) entries.push_back({.name = key, .at = here() - key.size() - 2});
    } else if (!in_metadata_ && key != "dtype" && key != "shape" && key != "data_offsets") {
      refuse("has an unknown \"" + shown(key) + "\"");
    }
    key_ = key;
    return true;
  }
  bool string(const std::string& value) {
    if (depth_ != 2 || (!in_metadata_ && key_ != "dtype")) refuse();
    if (in_metadata_) {
      metadata.emplace_back(key_, value);
      return true;
    }
    const auto* known = std::find_if(std::begin(dtypes), std::end(dtypes),
                                     [&](const auto& d) { return value == d.first; });
    if (known == std::end(dtypes)) {
      refuse("has dtype " + shown(value) +
             "; F32, F64, I64 and BOOL can be read: save x.float() or x.long()");
    }
    entries.back().dtype = known->second;
    return true;
  }
  bool number_unsigned(std::uint64_t n) {
    if (depth_ != 3 || n > std::uint64_t{INT64_MAX}) refuse();
    Entry& e = entries.back();
    if (key_ == "data_offsets") {
      e.offsets.push_back(n);
      return e.offsets.size() <= 2 || refuse("needs two data_offsets");
    }
    if (e.shape.dim() == Shape::max_dims) refuse("has more than 8 dimensions");
    e.shape.push_back(static_cast<std::int64_t>(n));
    return true;
  }
  bool number_integer(std::int64_t) { return refuse(); }
  bool number_float(double, const std::string&) { return refuse(); }
  bool boolean(bool) { return refuse(); }
  bool null() { return refuse(); }
  bool binary(const Json::binary_t&) { return refuse(); }
  bool parse_error(std::size_t, const std::string&, const Json::exception& error) {
    file_.fail(here(), "the header is not JSON: ", shown(error.what()));
  }

 private:
  /// A place in the text that counts the characters the parser has taken.
  struct Place {
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;
    const char* at;
    std::uint64_t* taken;
    char operator*() const { return *at; }
    Place& operator++() {
      ++at, ++*taken;
      return *this;
    }
    bool operator==(const Place& other) const { return at == other.at; }
  };

  std::uint64_t here() const { return sizeof(std::uint64_t) + taken_; }

  /// Throws. For what cannot stand in this place, unless told more.
  bool refuse(const std::string& why = "") const {
    if (depth_ == 0) file_.fail(here(), "the header is not a JSON object");
    if (in_metadata_) file_.fail(here(), "__metadata__ is not a map of strings");
    const char* expected = depth_ == 1       ? "is not {dtype, shape, data_offsets}"
                           : depth_ == 3     ? ": only whole numbers from 0 up"
                           : key_ == "dtype" ? " is not a string"
                                             : " is not a list";
    file_.fail(here(), "tensor ", shown(entries.back().name), " ",
               !why.empty() ? why : (depth_ == 1 ? "" : key_) + expected);
  }

  void check(const Entry& e) const {
    if (keys_.size() != 3) refuse("needs dtype, shape and data_offsets");
    if (e.offsets.size() != 2) refuse("needs two data_offsets");
    const std::uint64_t bytes = file_.bytes_for(e.shape, e.dtype, e.at);
    if (e.offsets[0] > e.offsets[1] || e.offsets[1] - e.offsets[0] != bytes) {
      file_.fail(e.at, "tensor ", shown(e.name), ": shape ", e.shape, " takes ", bytes,
                 " bytes, data_offsets are [", e.offsets[0], ", ", e.offsets[1], "]");
    }
  }

  /// The data lie one behind the other up to the end of the file.
  void put_in_order() {
    std::stable_sort(entries.begin(), entries.end(),
                     [](const Entry& a, const Entry& b) { return a.offsets < b.offsets; });
    const std::uint64_t data = file_.offset();
    std::uint64_t covered = 0;
    for (const Entry& e : entries) {
      if (e.offsets[0] != covered) {
        file_.fail(data + covered, "the data of tensor ", shown(e.name),
                   " should start here, not at ", data + e.offsets[0]);
      }
      covered = e.offsets[1];
    }
    if (covered != file_.left()) {
      file_.fail(data + std::min(covered, file_.left()), "the tensors take ", covered,
                 " bytes of data, the file has ", file_.left());
    }
  }

  detail::Reader& file_;
  std::uint64_t taken_ = 0;
  int depth_ = 0;  // 1: names of tensors, 2: what is said of one, 3: a list
  bool in_metadata_ = false;
  std::string key_;
  std::set<std::string> names_, keys_;
};

std::string header_of(const StateDict& tensors, const Metadata& metadata) {
  nlohmann::ordered_json header;
  auto& words = header["__metadata__"];
  words["crc32"] = "00000000";
  words["format"] = "pt";  // what PyTorch's own loaders look for
  for (const auto& [key, text] : metadata) {
    if (!words.contains(key)) words[key] = text;
  }
  std::int64_t end = 0;
  for (const auto& [name, tensor] : tensors) {
    const Tensor& x = tensor;
    throw_if<Error>(header.contains(name), "save_safetensors: two tensors are named ", name);
    const std::int64_t begin = end;
    end += x.numel() * itemsize(x.dtype());
    const auto* known = std::find_if(std::begin(dtypes), std::end(dtypes),
                                     [&](const auto& d) { return x.dtype() == d.second; });
    header[name] = {{"dtype", known->first},
                    {"shape", std::vector<std::int64_t>(x.shape().begin(), x.shape().end())},
                    {"data_offsets", {begin, end}}};
  }
  try {
    std::string text = header.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');
    return text;
  } catch (const Json::exception&) {
    throw Error("save_safetensors: a name or a text is not valid UTF-8");
  }
}

}  // namespace

StateDict load_safetensors(const std::string& path, Metadata* metadata) {
  detail::Reader file("load_safetensors", path);
  Header header(file);
  std::string stored;
  if (const std::size_t at = header.text.find(checksum_key); at != std::string::npos) {
    stored = header.text.substr(at + checksum_key.size(), 8);
    header.text.replace(at + checksum_key.size(), stored.size(), stored.size(), '0');
  }
  uLong sum = checksum(checksum(0, as_bytes(header.text.size())), header.text);
  StateDict tensors;
  for (const Entry& entry : header.entries) {
    tensors.emplace_back(entry.name, file.tensor(entry.shape, entry.dtype));
    sum = checksum(sum, bytes_of(tensors.back().second));
  }
  if (!stored.empty() && stored != hex(sum)) {
    file.fail(0, "the checksum in its metadata is ", shown(stored), ", that of the file ", hex(sum),
              ": the file is damaged, or was changed by a program that kept the old \"crc32\"");
  }
  if (metadata) *metadata = std::move(header.metadata);
  return tensors;
}

void save_safetensors(const std::string& path, const StateDict& tensors, const Metadata& metadata) {
  std::string header = header_of(tensors, metadata);
  const std::uint64_t length = header.size();
  uLong sum = checksum(checksum(0, as_bytes(length)), header);
  for (const auto& [name, x] : tensors) sum = checksum(sum, bytes_of(x));
  header.replace(header.find(checksum_key) + checksum_key.size(), 8, hex(sum));

  detail::AtomicFile file("save_safetensors", path);
  file.write(as_bytes(length));
  file.write(header);
  for (const auto& [name, x] : tensors) file.write(bytes_of(x));
  file.commit();
}

}  // namespace xgrad
