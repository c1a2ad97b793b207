#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "support/folder.hpp"
#include "xgrad/xgrad.hpp"

namespace xg = xgrad;
namespace fs = std::filesystem;

namespace {

class WrittenFile : public FolderTest {};

TEST_F(WrittenFile, ReplacesWholeAndKeepsPermissionsAndLinks) {
  xg::write_file(path("page"), "first");
  fs::permissions(path("page"), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("page", path("link"));
  xg::write_file(path("link"), "second");
  EXPECT_EQ(content(path("page")), "second");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(fs::status(path("page")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(files(), 2U);
}

TEST_F(WrittenFile, ALinkThatLeadsToNothingYetIsFollowed) {
  fs::create_directory(path("folder"));
  fs::create_symlink("folder/second", path("first"));
  fs::create_symlink("page", path("folder/second"));
  xg::write_file(path("first"), "text");
  EXPECT_EQ(content(path("folder/page")), "text");
  EXPECT_TRUE(fs::is_symlink(path("first")));
  EXPECT_TRUE(fs::is_symlink(path("folder/second")));
  EXPECT_FALSE(fs::is_symlink(path("folder/page")));
}

TEST_F(WrittenFile, RefusesDevicesFoldersAndPathsBelowAFile) {
  EXPECT_THROW(xg::write_file("/dev/full", "x"), xg::FileError);
  EXPECT_THROW(xg::write_file(path(""), "x"), xg::FileError);
  xg::write_file(path("file"), "kept");
  EXPECT_THROW(xg::write_file(path("file/below"), "x"), xg::FileError);
  EXPECT_EQ(content(path("file")), "kept");
  EXPECT_EQ(files(), 1U);
}

TEST_F(WrittenFile, MetadataComesBack) {
  const xg::Tensor x = xg::tensor({1.5, -2.0});
  xg::save_safetensors(path("net"), {{"x", x}}, {{"norm", "layer"}, {"text", "\"ü\" \n"}});
  xg::Metadata metadata;
  xg::load_safetensors(path("net"), &metadata);
  ASSERT_EQ(metadata.size(), 4U);  // with format and crc32
  EXPECT_NE(std::find(metadata.begin(), metadata.end(),
                      std::pair<std::string, std::string>("text", "\"ü\" \n")),
            metadata.end());
  const std::string bytes = content(path("net"));
  xg::save_safetensors(path("again"), {{"x", x}}, metadata);  // "crc32" is made anew
  EXPECT_EQ(xg::load_safetensors(path("again")).size(), 1U);
}

TEST_F(WrittenFile, AFlippedBitInAnyByteIsNoticed) {
  xg::save_safetensors(path("net"), {{"x", xg::tensor({1.5, -2.0})}}, {{"norm", "layer"}});
  const std::string good = content(path("net"));
  std::size_t unnoticed = 0;
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ (1 << i % 8));
    std::ofstream(path("net"), std::ios::binary) << bad;
    try {
      xg::Metadata metadata;
      const xg::StateDict loaded = xg::load_safetensors(path("net"), &metadata);
      // Only the key of the checksum itself can be lost like this.
      EXPECT_EQ(metadata.end(), std::find_if(metadata.begin(), metadata.end(),
                                             [](auto& m) { return m.first == "crc32"; }));
      EXPECT_EQ(loaded[0].second.to_vector<float>(), (std::vector<float>{1.5, -2.0}));
      ++unnoticed;
    } catch (const xg::FileError& error) {
      EXPECT_NE(std::string(error.what()).find(path("net")), std::string::npos);
    }
  }
  EXPECT_LE(unnoticed, 5U);
}

}  // namespace
