#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "targets.hpp"

/// replay CORPUS: gives every file of CORPUS/TARGET to the target of that name.
int main(int argc, char** argv) {
  const std::map<std::string, void (*)(fuzz::Bytes)> targets = {{"safetensors", fuzz::safetensors},
                                                                {"npy", fuzz::npy},
                                                                {"idx", fuzz::idx},
                                                                {"csv", fuzz::csv},
                                                                {"tensor", fuzz::tensor}};
  if (argc != 2) return std::fprintf(stderr, "usage: replay CORPUS\n"), 2;
  for (const auto& [name, target] : targets) {
    int files = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(argv[1]) / name)) {
      std::ifstream in(entry.path(), std::ios::binary);
      const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
      std::printf("%s\n", entry.path().c_str());
      std::fflush(stdout);  // the last one named is the one that ended the program
      target({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
      ++files;
    }
    if (files == 0) return std::fprintf(stderr, "%s: no corpus\n", name.c_str()), 1;
  }
}
