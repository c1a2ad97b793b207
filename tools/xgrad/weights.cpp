#include "weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

namespace tool {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

/// Letters and digits of any alphabet, _ - and . (but not in front) stand for themselves.
std::string file_name(const std::string& name, bool keep_capitals) {
  std::string out;
  for (char c : name) {
    const bool capital = c >= 'A' && c <= 'Z';
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
                       (c == '.' && !out.empty()) || c < 0 || (capital && keep_capitals);
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out + ".npy";
}

std::string tensor_name(const fs::path& file) {
  const std::string text = file.stem();
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](std::size_t at) {
      const std::size_t value = std::string("0123456789ABCDEF").find(text[at]);
      if (value > 15) throw xgrad::FileError(file.string() + ": % without two digits in the name");
      return static_cast<int>(value);
    };
    if (text[i] != '%') {
      out += text[i];
    } else if (i + 2 < text.size()) {
      out += static_cast<char>(16 * digit(i + 1) + digit(i + 2));
      i += 2;
    } else {
      throw xgrad::FileError(file.string() + ": % without two digits in the name");
    }
  }
  return out;
}

xgrad::Metadata read_metadata(const fs::path& path) {
  xgrad::Metadata metadata;
  if (!fs::exists(path)) return metadata;
  std::ifstream in(path);
  try {
    const json texts = json::parse(in);
    for (const auto& [key, value] : texts.items()) metadata.emplace_back(key, value);
  } catch (const json::exception&) {
    throw xgrad::FileError(path.string() + ": is not a JSON object of texts");
  }
  return metadata;
}

}  // namespace

Weights read_weights(const std::string& path) {
  Weights weights;
  if (fs::is_directory(path)) {
    weights.format = "folder of npy files";
    std::map<std::string, fs::path> files;
    for (const auto& entry : fs::directory_iterator(path)) {
      if (entry.path().extension() != ".npy") continue;
      const auto [there, is_new] = files.emplace(tensor_name(entry.path()), entry.path());
      if (!is_new) {
        throw xgrad::FileError(fmt::format("{} and {} have the same tensor name",
                                           there->second.string(), entry.path().string()));
      }
    }
    if (files.empty()) throw xgrad::FileError(path + ": no .npy file in this folder");
    for (const auto& [name, file] : files)
      weights.tensors.emplace_back(name, xgrad::load_npy(file));
    weights.metadata = read_metadata(fs::path(path) / "metadata.json");
    return weights;
  }
  std::string start(6, '\0');
  if (fs::is_regular_file(path)) std::ifstream(path, std::ios::binary).read(start.data(), 6);
  if (start == "\x93NUMPY") {
    weights.format = "npy";
    weights.tensors.emplace_back(fs::path(path).stem(), xgrad::load_npy(path));
  } else {
    weights.format = "safetensors";
    weights.tensors = xgrad::load_safetensors(path, &weights.metadata);
  }
  return weights;
}

void write_folder(const std::string& folder, const Weights& weights) {
  std::map<std::string, int> alike;
  for (const auto& [name, x] : weights.tensors) ++alike[lower(name)];
  fs::create_directory(folder);
  for (const auto& [name, x] : weights.tensors) {
    if (name.empty()) throw xgrad::Error("convert: a tensor without a name cannot become a file");
    xgrad::save_npy(fs::path(folder) / file_name(name, alike[lower(name)] == 1), x);
  }
  json metadata = json::object();
  for (const auto& [key, value] : weights.metadata) {
    if (key != "format" && key != "crc32") metadata[key] = value;
  }
  if (metadata.empty()) return;
  xgrad::write_file(fs::path(folder) / "metadata.json", metadata.dump(2) + "\n");
}

std::string printable(const std::string& name) {
  const bool plain = std::none_of(name.begin(), name.end(),
                                  [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; });
  return plain && !name.empty() ? name : json(name).dump();
}

}  // namespace tool
