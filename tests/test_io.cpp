#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "support/folder.hpp"
#include "support/values.hpp"
#include "xgrad/xgrad.hpp"

namespace xg = xgrad;
using xg::Tensor;

namespace {

class Safetensors : public FolderTest {
 protected:
  std::string write(const std::string& bytes) const {
    std::ofstream(path("written"), std::ios::binary) << bytes;
    return path("written");
  }
  /// Loading it is an error with these words, and the memory of tensors is as before.
  static void refused(const std::string& path, const std::vector<std::string>& words) {
    const std::int64_t before = xg::live_bytes();
    expect_error<xg::FileError>([&] { xg::load_safetensors(path); }, words);
    EXPECT_EQ(xg::live_bytes(), before);
  }
};

/// A file with this header and these data.
std::string file_of(const std::string& header, const std::string& data) {
  std::string bytes;
  for (std::size_t i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i));
  return bytes + header + data;
}
const std::string two_floats("\x00\x00\x80\x3f\x00\x00\x00\xc0", 8);  // 1, -2

std::string header_w(const std::string& dtype, const std::string& shape,
                     const std::string& offsets) {
  return R"({"w":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets +
         "}}";
}

TEST_F(Safetensors, RoundTripKeepsOrderTypesAndBits) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor rows = xg::tensor({{1.5, -0.0, nan}, {4.0, 5.0, INFINITY}});
  const xg::StateDict saved{
      {"z.weight", rows},
      {"a \"quoted\" ü", xg::tensor({true, false, true})},
      {"count", xg::tensor(std::int64_t{-7'000'000'000})},
      {"none", xg::empty({2, 0, 3}, {.dtype = xg::float64})},
      {"slice", rows.detach().reshape({3, 2})},
      {"trained", xg::tensor(std::vector{0.1, 0.2}, {.dtype = xg::float64, .requires_grad = true})},
  };
  xg::save_safetensors(path("model"), saved);
  const xg::StateDict loaded = xg::load_safetensors(path("model"));
  ASSERT_EQ(loaded.size(), saved.size());
  for (std::size_t i = 0; i < saved.size(); ++i) {
    const auto& [name, x] = loaded[i];
    EXPECT_EQ(name, saved[i].first);
    EXPECT_EQ(x.dtype(), saved[i].second.dtype()) << name;
    EXPECT_EQ(x.shape(), saved[i].second.shape()) << name;
    EXPECT_FALSE(x.requires_grad());
    const auto wanted = saved[i].second.to_vector<double>();
    const auto got = x.to_vector<double>();
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      EXPECT_TRUE(got[k] == wanted[k] || (std::isnan(got[k]) && std::isnan(wanted[k])));
      EXPECT_EQ(std::signbit(got[k]), std::signbit(wanted[k]));
    }
  }
  xg::save_safetensors(path("model"), {{"only", rows}});  // replaces
  EXPECT_EQ(xg::load_safetensors(path("model")).size(), 1U);
  EXPECT_EQ(files(), 1U);  // no temporary file is left
}

TEST_F(Safetensors, LoadsAFileOfPyTorch) {
  const xg::StateDict state =
      xg::load_safetensors(XGRAD_SOURCE_DIR "/tests/golden/state.safetensors");
  ASSERT_EQ(state.size(), 13U);
  EXPECT_EQ(state[0].first, "0.weight");
  EXPECT_EQ(state[0].second.shape(), xg::Shape({12, 7}));
  EXPECT_EQ(state[10].first, "4.num_batches_tracked");
  EXPECT_EQ(state[10].second.item<std::int64_t>(), 20);
  EXPECT_EQ(state[12].second.shape(), xg::Shape({4}));
}

TEST_F(Safetensors, S02NamesAMissingOrForeignFile) {
  refused(path("nowhere"), {path("nowhere") + ": No such file"});
  refused(write("This is not a model but a letter.\n"), {path("written"), "offset 0"});
  refused(std::filesystem::temp_directory_path(), {"a folder"});
}

TEST_F(Safetensors, S03RefusesWhatTheHeaderCannotMean) {
  const std::string good = file_of(header_w("F32", "[2]", "[0,8]"), two_floats);
  const xg::StateDict loaded = xg::load_safetensors(write(good));
  ASSERT_EQ(loaded.size(), 1U);
  EXPECT_EQ(loaded[0].first, "w");
  EXPECT_EQ(loaded[0].second.to_vector<float>(), (std::vector<float>{1, -2}));

  for (std::size_t length = 0; length < good.size(); ++length) {
    SCOPED_TRACE(length);
    refused(write(good.substr(0, length)), {"offset"});
  }
  const std::string rest = good.substr(8);
  refused(write(std::string(8, '\xff') + rest), {"18446744073709551615"});
  refused(write(std::string(8, '\0') + rest), {"offset 8"});
  refused(write(good + "x"), {"offset 70"});  // a byte too many
}

TEST_F(Safetensors, S03RefusesEveryContradiction) {
  const auto contradicts = [&](const std::string& header, const std::string& hint,
                               const std::string& data = two_floats) {
    SCOPED_TRACE(header.substr(0, 80));
    refused(write(file_of(header, data)), {hint, path("written")});
  };
  contradicts(header_w("F32", "[2]", "[-8,0]"), "w data_offsets: only whole numbers from 0");
  contradicts(header_w("F32", "[2]", "[8,0]"), "data_offsets are [8, 0]");
  contradicts(header_w("F32", "[2]", "[0,800]"), "takes 8 bytes");
  contradicts(header_w("F32", "[200]", "[0,800]"), "the file has 8");
  contradicts(header_w("F32", "[2]", "[8,16]"),
              "offset 63: the data of tensor w should start here");
  contradicts(header_w("F32", "[2]", "[0,8,8]"), "data_offsets");
  contradicts(header_w("F32", "[2]", "[0,18446744073709551615]"), "data_offsets");
  contradicts(header_w("F32", "[2,1e18]", "[0,8]"), "shape");
  contradicts(header_w("F32", "[2,1000000000000000000]", "[0,8]"), "offset 9");
  contradicts(header_w("F32", "[4294967296,4294967296]", "[0,8]"), "too many elements");
  contradicts(header_w("F32", "[1e999]", "[0,8]"), "not JSON");
  contradicts(header_w("F32", "[-2]", "[0,8]"), "w shape: only whole numbers from 0");
  contradicts(header_w("F32", "[1,1,1,1,1,1,1,1,2]", "[0,8]"), "8 dimensions");
  contradicts(header_w("F32", "2", "[0,8]"), "w shape is not a list");
  contradicts(header_w("F32", "[3]", "[0,8]"), "takes 12 bytes");
  contradicts(header_w("F16", "[4]", "[0,8]"), "F16");
  contradicts(header_w("BOOL", "[8]", "[0,8]"), "neither 0 nor 1");
  contradicts(R"({"w":{"dtype":"F32","shape":[2]}})", "needs dtype, shape and data_offsets");
  contradicts(R"({"w":[0,8]})", "is not {dtype, shape, data_offsets}");
  contradicts(R"([1,2])", "not a JSON object");
  contradicts("7", "not a JSON object");
  contradicts(R"({"w":)", "offset");
  contradicts(R"({"__metadata__":{"format":1}})", "__metadata__", "");
  contradicts(std::string(100000, '['), "not a JSON object");
  contradicts(R"({"w":)" + std::string(100000, '['), "is not {dtype, shape, data_offsets}");

  const std::string one = R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  const std::string two = R"({"dtype":"F32","shape":[1],"data_offsets":[4,8]})";
  contradicts(R"({"w":)" + one + R"(,"v":)" + one + "}", "should start here");  // overlap
  contradicts(R"({"w":)" + one + R"(,"w":)" + two + "}", "two entries \"w\"");
  contradicts(R"({"w":)" + one + "}", "the file has 8");  // data of nobody
}

TEST_F(Safetensors, OrdersByOffsetAndNotByName) {
  const std::string header =
      R"({"a":{"dtype":"F32","shape":[],"data_offsets":[4,8]},)"
      R"("b":{"dtype":"F32","shape":[],"data_offsets":[0,4]},"__metadata__":{"k":"v"}}  )";
  const xg::StateDict loaded = xg::load_safetensors(write(file_of(header, two_floats)));
  ASSERT_EQ(loaded.size(), 2U);
  EXPECT_EQ(loaded[0].first, "b");
  EXPECT_EQ(loaded[0].second.item<float>(), 1);
  EXPECT_EQ(loaded[1].first, "a");
}

TEST_F(Safetensors, SavingRefusesAndLeavesTheOldFile) {
  const Tensor x = xg::tensor({1.0, 2.0});
  xg::save_safetensors(path("model"), {{"x", x}});
  EXPECT_THROW(xg::save_safetensors(path("model"), {{"w", x}, {"w", x}}), xg::Error);
  EXPECT_THROW(xg::save_safetensors(path("model"), {{"\xff", x}}), xg::Error);
  EXPECT_THROW(xg::save_safetensors(path("model"), {{"w", Tensor()}}), xg::Error);
  EXPECT_THROW(xg::save_safetensors(path("no/folder"), {{"w", x}}), xg::FileError);
  std::filesystem::create_directories(path("taken/full"));
  EXPECT_THROW(xg::save_safetensors(path("taken"), {{"w", x}}), xg::FileError);
  EXPECT_EQ(xg::load_safetensors(path("model"))[0].first, "x");
  EXPECT_EQ(files(), 2U);  // "model" and "taken"
}

}  // namespace
