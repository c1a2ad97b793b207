#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "detail/check.hpp"
#include "io/file.hpp"
#include "xgrad/io.hpp"

/// Eight bytes: length of the header; the header, a JSON object of
/// {name: {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}}; then the data, without
/// gaps. Numbers are little-endian, and offsets count from the end of the header.
///
/// The format has no checksum, so files written here have one in their metadata: "crc32" is zlib's
/// of the whole file with these eight digits as zeros.

namespace xgrad {

namespace {

static_assert(std::endian::native == std::endian::little);

using Json = nlohmann::json;

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

std::span<char> bytes_of(const Tensor& x) {
  const detail::TensorImpl& impl = x.impl();
  const std::int64_t size = itemsize(x.dtype());
  return {reinterpret_cast<char*>(impl.storage->data()) + impl.offset * size,
          static_cast<std::size_t>(x.numel() * size)};
}

struct Entry {
  std::string name;
  DType dtype = float32;
  Shape shape{};
  std::uint64_t begin = 0, end = 0;
};

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path), in_(path, std::ios::binary) {
    if (!in_) throw FileError(message("load_safetensors: ", path, ": ", std::strerror(errno)));
  }

  StateDict load(Metadata* metadata) {
    in_.seekg(0, std::ios::end);
    const auto size = static_cast<std::uint64_t>(in_.tellg());
    in_.seekg(0);
    std::uint64_t length = 0;
    read({reinterpret_cast<char*>(&length), sizeof length}, 0);
    if (length > size - sizeof length) {
      fail(0, "the header is said to have ", length, " bytes, the file has ", size);
    }
    header_.resize(length);
    read(header_, start);
    data_ = start + length;
    StateDict tensors;
    const std::vector<Entry> all = entries(size - data_);
    const std::string stored = take_checksum();
    uLong sum = checksum(0, {reinterpret_cast<char*>(&length), sizeof length});
    sum = checksum(sum, header_);
    for (const Entry& entry : all) {
      const Tensor x = empty(entry.shape, {.dtype = entry.dtype});
      const std::span<char> bytes = bytes_of(x);
      read(bytes, data_ + entry.begin);
      sum = checksum(sum, bytes);
      const auto is_bool = [](char byte) { return byte == 0 || byte == 1; };
      if (entry.dtype == bool_ && !std::all_of(bytes.begin(), bytes.end(), is_bool)) {
        fail(data_ + entry.begin, "tensor ", entry.name, " has a bool that is neither 0 nor 1");
      }
      tensors.emplace_back(entry.name, x);
    }
    if (!stored.empty() && stored != hex(sum)) {
      fail(0, "the checksum in its metadata is ", stored, ", that of the file ", hex(sum),
           ": the file is damaged, or was changed by a program that kept the old \"crc32\"");
    }
    if (metadata) *metadata = std::move(metadata_);
    return tensors;
  }

 private:
  static constexpr std::uint64_t start = 8;  // of the header

  template <class... What>
  [[noreturn]] void fail(std::uint64_t offset, const What&... what) const {
    throw FileError(message("load_safetensors: ", path_, ", offset ", offset, ": ", what...));
  }

  void read(std::span<char> to, std::uint64_t offset) {
    if (!in_.read(to.data(), static_cast<std::streamsize>(to.size()))) {
      fail(offset, "the file ends early");
    }
  }

  /// The header, in which no name may stand twice.
  Json parsed() const {
    std::vector<std::set<std::string>> names;  // of the objects that are open
    const auto check_names = [&](int, Json::parse_event_t event, const Json& value) {
      if (event == Json::parse_event_t::object_start) names.emplace_back();
      if (event == Json::parse_event_t::object_end) names.pop_back();
      if (event == Json::parse_event_t::key &&
          !names.back().insert(value.get<std::string>()).second) {
        fail(start, "the header has two entries ", value.dump());
      }
      return true;
    };
    if (!header_.starts_with('{')) fail(start, "the header is not a JSON object");
    try {
      return Json::parse(header_, check_names);
    } catch (const Json::parse_error& error) {
      fail(start + error.byte - 1, error.what());
    } catch (const Json::exception& error) {  // a number beyond all bounds
      fail(start, error.what());
    }
  }

  /// Puts zeros in the place of the checksum. Empty: there is none, or another program wrote it.
  std::string take_checksum() {
    const std::size_t at = header_.find(checksum_key);
    if (at == std::string::npos || header_.size() < at + checksum_key.size() + 8) return "";
    std::string stored = header_.substr(at + checksum_key.size(), 8);
    header_.replace(at + checksum_key.size(), 8, 8, '0');
    return stored;
  }

  /// All tensors in the order of their data, of which there are `size` bytes.
  std::vector<Entry> entries(std::uint64_t size) {
    std::vector<Entry> all;
    const Json header = parsed();
    for (const auto& [name, value] : header.items()) {
      if (name != "__metadata__") {
        all.push_back(entry(name, value));
      } else if (!value.is_object() || !std::all_of(value.begin(), value.end(),
                                                    [](const Json& v) { return v.is_string(); })) {
        fail(start, "__metadata__ is not a map of strings");
      } else {
        for (const auto& [key, text] : value.items()) metadata_.emplace_back(key, text);
      }
    }
    const auto place = [](const Entry& e) { return std::pair(e.begin, e.end); };
    std::stable_sort(all.begin(), all.end(),
                     [&](const Entry& a, const Entry& b) { return place(a) < place(b); });
    std::uint64_t covered = 0;
    for (const Entry& e : all) {
      if (e.begin != covered) {
        fail(data_ + covered, "the data of tensor ", e.name, " should start here, not at ",
             data_ + e.begin);
      }
      covered = e.end;
    }
    if (covered != size) {
      fail(data_ + std::min(covered, size), "the tensors take ", covered,
           " bytes of data, the file has ", size);
    }
    return all;
  }

  Entry entry(const std::string& name, const Json& value) const {
    const std::size_t at = header_.find('"' + name + '"');  // not found if the name has escapes
    const std::uint64_t offset = start + (at == std::string::npos ? 0 : at);
    const auto refuse = [&](const auto&... what) { fail(offset, "tensor ", name, ": ", what...); };
    const auto numbers = [&](const char* key) {
      std::vector<std::int64_t> list;
      const Json& json = value.contains(key) ? value[key] : Json();
      if (!json.is_array()) refuse("no list of ", key);
      for (const Json& n : json) {
        if (!n.is_number_unsigned() || n > std::uint64_t{INT64_MAX}) {
          refuse(key, " ", json.dump(), ": only whole numbers from 0 up");
        }
        list.push_back(n);
      }
      return list;
    };
    if (!value.is_object() || value.size() != 3 || !value.contains("dtype")) {
      refuse("needs exactly dtype, shape and data_offsets");
    }
    Entry e{.name = name};
    const auto* known = std::find_if(std::begin(dtypes), std::end(dtypes),
                                     [&](const auto& d) { return value["dtype"] == d.first; });
    if (known == std::end(dtypes)) {
      refuse("dtype ", value["dtype"].dump(), "; F32, F64, I64 and BOOL can be read");
    }
    e.dtype = known->second;
    const std::vector<std::int64_t> offsets = numbers("data_offsets");
    std::uint64_t bytes = 0;
    try {
      e.shape = numbers("shape");
      bytes = detail::checked_bytes("shape", e.shape, e.dtype);
    } catch (const ShapeError& error) {
      refuse(error.what());
    }
    if (offsets.size() != 2 || offsets[0] > offsets[1] ||
        static_cast<std::uint64_t>(offsets[1] - offsets[0]) != bytes) {
      refuse("shape ", e.shape, " takes ", bytes, " bytes, data_offsets are ",
             value["data_offsets"].dump());
    }
    e.begin = static_cast<std::uint64_t>(offsets[0]);
    e.end = static_cast<std::uint64_t>(offsets[1]);
    return e;
  }

  std::string path_;
  std::ifstream in_;
  std::string header_;
  Metadata metadata_;
  std::uint64_t data_ = 0;  // where the data begin
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
  return Reader(path).load(metadata);
}

void save_safetensors(const std::string& path, const StateDict& tensors, const Metadata& metadata) {
  std::string header = header_of(tensors, metadata);
  const std::uint64_t length = header.size();
  const std::span<const char> prefix{reinterpret_cast<const char*>(&length), sizeof length};
  uLong sum = checksum(checksum(0, prefix), header);
  for (const auto& [name, x] : tensors) sum = checksum(sum, bytes_of(x));
  header.replace(header.find(checksum_key) + checksum_key.size(), 8, hex(sum));

  detail::AtomicFile file("save_safetensors", path);
  file.write(prefix);
  file.write(header);
  for (const auto& [name, x] : tensors) file.write(bytes_of(x));
  file.commit();
}

}  // namespace xgrad
