#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "support/folder.hpp"
#include "support/values.hpp"
#include "xgrad/xgrad.hpp"

namespace xg = xgrad;
namespace data = xg::data;
using xg::Tensor;

namespace {

using Integers = std::vector<std::int64_t>;
using Floats = std::vector<float>;

class Files : public FolderTest {
 protected:
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  std::string write_gzip(const std::string& name, const std::string& bytes) const {
    const gzFile out = gzopen(path(name).c_str(), "wb");
    gzwrite(out, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(out);
    return path(name);
  }
};
class Idx : public Files {};
class Csv : public Files {};

std::string big_endian(std::initializer_list<std::uint32_t> words) {
  std::string bytes;
  for (std::uint32_t w : words) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(w >> shift);
  }
  return bytes;
}

/// Row i of the inputs is (2i, 2i + 1), its label i mod 3.
data::Dataset counting(std::int64_t n) {
  Tensor labels = xg::arange(n);
  for (std::int64_t& label : labels.mut<std::int64_t>()) label %= 3;
  return {xg::arange(2 * n).to(xg::float32).reshape({n, 2}), labels, 3};
}

// ---- digits -------------------------------------------------------------------------------------

/// In the units of the file.
double pixel_sum(const data::Dataset& digits) {
  double sum = 0;
  for (float pixel : digits.inputs.data<float>()) {
    EXPECT_TRUE(pixel >= 0 && pixel <= 1);
    sum += 16 * pixel;
  }
  return sum;
}

TEST(Digits, AreTheOnesOfUci) {
  const data::Dataset all = data::digits();
  EXPECT_EQ(all.inputs.shape(), xg::Shape({1797, 64}));
  EXPECT_EQ(all.labels.shape(), xg::Shape({1797}));
  EXPECT_EQ(all.classes, 10);
  Integers count(10);
  for (std::int64_t label : all.labels.data<std::int64_t>()) {
    ++count.at(static_cast<std::size_t>(label));
  }
  EXPECT_EQ(count, (Integers{178, 182, 177, 183, 181, 182, 181, 179, 174, 180}));
  const std::span<const float> first = all.inputs.data<float>().first(8);
  EXPECT_EQ(Floats(first.begin(), first.end()),
            (Floats{0, 0, 0.3125F, 0.8125F, 0.5625F, 0.0625F, 0, 0}));
  EXPECT_EQ(pixel_sum(all), 561718);  // scikit-learn's digits.data.sum()
}

TEST(Digits, SplitIsStratifiedAndAlwaysTheSame) {
  xg::manual_seed(99);  // must not matter
  const auto [train, test] = data::digits_split();
  EXPECT_EQ(train.inputs.shape(), xg::Shape({1437, 64}));
  EXPECT_EQ(test.inputs.shape(), xg::Shape({360, 64}));
  Integers count(10);
  for (std::int64_t label : test.labels.data<std::int64_t>()) {
    ++count.at(static_cast<std::size_t>(label));
  }
  EXPECT_EQ(count, (Integers{36, 37, 35, 37, 36, 36, 36, 36, 35, 36}));
  // Drawn by PyTorch's torch.randperm(1797) with seed 0.
  EXPECT_EQ(pixel_sum(test), 111878);
}

TEST(StratifiedSplit, IsAPartitionDrawnByThePermutation) {
  const data::Dataset all = counting(20);  // 7, 7 and 6 rows of the classes
  const auto [train, test] = data::stratified_split(all, 8, 5);
  xg::Generator generator(5);
  Integers wanted_test;
  Integers wanted_train;
  Integers left{3, 3, 2};  // 2.8, 2.8 and 2.4
  for (std::int64_t row : xg::randperm(20, generator).to_vector<std::int64_t>()) {
    (left[static_cast<std::size_t>(row % 3)]-- > 0 ? wanted_test : wanted_train).push_back(row);
  }
  const auto rows_of = [](const data::Dataset& part) {
    Integers rows;
    for (std::int64_t i = 0; i < part.size(); ++i) {
      rows.push_back(part.inputs.to_vector<std::int64_t>()[static_cast<std::size_t>(2 * i)] / 2);
      EXPECT_EQ(part.labels.to_vector<std::int64_t>()[static_cast<std::size_t>(i)],
                rows.back() % 3);
    }
    return rows;
  };
  std::sort(wanted_test.begin(), wanted_test.end());
  std::sort(wanted_train.begin(), wanted_train.end());
  EXPECT_EQ(rows_of(test), wanted_test);
  EXPECT_EQ(rows_of(train), wanted_train);
  expect_error<xg::Error>([&] { data::stratified_split(all, 21); }, {"21", "20"});
  expect_error<xg::IndexError>(
      [&] {
        data::stratified_split({all.inputs, all.labels, 2}, 4);
      },
      {"label 2", "2 classes"});
}

// ---- loader -------------------------------------------------------------------------------------

TEST(DataLoader, WithoutShufflingBatchesShareMemory) {
  const data::Dataset all = counting(7);
  data::DataLoader loader(all, {.batch_size = 3});
  EXPECT_EQ(loader.size(), 3);
  std::vector<xg::Shape> shapes;
  std::int64_t row = 0;
  for (const auto& [x, y] : loader) {
    shapes.push_back(x.shape());
    EXPECT_EQ(x.data<float>().data(), all.inputs.data<float>().data() + 2 * row);
    EXPECT_EQ(y.data<std::int64_t>().data(), all.labels.data<std::int64_t>().data() + row);
    row += y.numel();
  }
  EXPECT_EQ(shapes, (std::vector<xg::Shape>{{3, 2}, {3, 2}, {1, 2}}));
}

TEST(DataLoader, DropLastLeavesOutTheShortBatch) {
  data::DataLoader loader(counting(7), {.batch_size = 3, .shuffle = true, .drop_last = true});
  EXPECT_EQ(loader.size(), 2);
  for (const auto& [x, y] : loader) EXPECT_EQ(x.shape(), xg::Shape({3, 2}));
  EXPECT_EQ(data::DataLoader(counting(2), {.batch_size = 3, .drop_last = true}).size(), 0);
}

TEST(DataLoader, ShufflesEveryEpochByTheGenerator) {
  const data::Dataset all = counting(11);
  data::DataLoader loader(all, {.batch_size = 4, .shuffle = true, .seed = 6});
  xg::Generator generator(6);
  for (int epoch = 0; epoch < 3; ++epoch) {
    Integers rows;
    for (const auto& [x, y] : loader) {
      for (std::int64_t i = 0; i < y.numel(); ++i) {
        rows.push_back(x.to_vector<std::int64_t>()[static_cast<std::size_t>(2 * i + 1)] / 2);
        EXPECT_EQ(y.to_vector<std::int64_t>()[static_cast<std::size_t>(i)], rows.back() % 3);
      }
    }
    EXPECT_EQ(rows, xg::randperm(11, generator).to_vector<std::int64_t>()) << epoch;
  }
  EXPECT_EQ(loader.generator().state(), generator.state());
}

TEST(DataLoader, RefusesWhatDoesNotFit) {
  const data::Dataset all = counting(5);
  expect_error<xg::Error>([&] { data::DataLoader(all, {.batch_size = 0}); }, {"batch_size", "0"});
  expect_error<xg::ShapeError>(
      [&] {
        data::DataLoader({all.inputs, counting(4).labels, 3});
      },
      {"(5, 2)", "(4,)"});
}

// ---- IDX ----------------------------------------------------------------------------------------

const std::string two_images =
    big_endian({0x803, 2, 1, 3}) + std::string("\x00\x33\xff\x66\x01\x02", 6);
const std::string two_labels = big_endian({0x801, 2}) + std::string("\x04\x09", 2);

TEST_F(Idx, ReadsPlainAndGzip) {
  const std::string images = write("images", two_images);
  const std::string labels = write_gzip("labels.gz", two_labels);
  const data::Dataset all = data::read_idx(images, labels);
  EXPECT_EQ(all.inputs.shape(), xg::Shape({2, 3}));
  EXPECT_EQ(all.inputs.to_vector<float>(), (Floats{0, 0.2F, 1, 0.4F, 1 / 255.0F, 2 / 255.0F}));
  EXPECT_EQ(all.labels.to_vector<std::int64_t>(), (Integers{4, 9}));
  EXPECT_EQ(all.classes, 10);
}

TEST_F(Idx, RefusesDamagedFilesByNameAndOffset) {
  const std::string labels = write("labels", two_labels);
  const auto refused = [&](const std::string& bytes, std::initializer_list<std::string> words) {
    const std::string images = write("images", bytes);
    const std::int64_t before = xg::live_bytes();
    expect_error<xg::FileError>([&] { data::read_idx(images, labels); }, {images});
    expect_error<xg::FileError>([&] { data::read_idx(images, labels); }, words);
    EXPECT_EQ(xg::live_bytes(), before);
  };
  for (std::size_t length = 0; length < two_images.size(); ++length) {
    refused(two_images.substr(0, length), {"offset " + std::to_string(length)});
  }
  refused(two_images + "x", {"offset 22", "6 bytes", "7"});
  refused(two_labels, {"offset"});
  refused(big_endian({0x903, 2, 1, 3}) + "123456", {"offset 0", "magic number 2307", "2051"});
  refused(big_endian({0x803, 0xffffffff, 0xffffffff, 0xffffffff}) + "123456",
          {"offset 4", "too many"});
  refused(big_endian({0x803, 0x80000000, 0x80000000, 4}), {"offset 4", "too many"});  // 2^64 bytes
  refused(big_endian({0x803, 1, 2, 3}) + "123456", {"(1, 2, 3)", labels, "(2,)"});

  const std::string images = write("images", two_images);
  expect_error<xg::FileError>([&] { data::read_idx(images, labels, 9); },
                              {labels, "offset 9", "label 9", "9 classes"});
  expect_error<xg::FileError>([&] { data::read_idx(path("none"), labels); },
                              {path("none"), "No such file"});
  expect_error<xg::FileError>([&] { data::read_idx(path(""), labels); }, {path("")});
}

TEST_F(Idx, RefusesDamagedGzip) {
  const std::string images = write("images", two_images);
  const std::string labels = write_gzip("labels.gz", two_labels);
  std::string bytes(std::filesystem::file_size(labels), '\0');
  std::ifstream(labels, std::ios::binary).read(bytes.data(), static_cast<long>(bytes.size()));
  EXPECT_EQ(data::read_idx(images, write("labels", bytes)).size(), 2);
  for (std::size_t length = 2; length < bytes.size(); ++length) {
    const std::string cut = write("cut", bytes.substr(0, length));
    expect_error<xg::FileError>([&] { data::read_idx(images, cut); }, {cut, "gzip"});
  }
  bytes[bytes.size() - 5] ^= 1;  // the checksum
  const std::string damaged = write("damaged", bytes);
  expect_error<xg::FileError>([&] { data::read_idx(images, damaged); }, {damaged, "gzip"});
}

TEST_F(Idx, FashionMnistFindsItsFilesPacked) {
  write("train-images-idx3-ubyte", two_images);
  write_gzip("train-labels-idx1-ubyte.gz", two_labels);
  write_gzip("t10k-images-idx3-ubyte.gz", big_endian({0x803, 1, 1, 2}) + "\x0a\x14");
  write("t10k-labels-idx1-ubyte", big_endian({0x801, 1}) + "\x07");
  const auto [train, test] = data::fashion_mnist(path(""));
  EXPECT_EQ(train.inputs.shape(), xg::Shape({2, 3}));
  EXPECT_EQ(test.inputs.shape(), xg::Shape({1, 2}));
  EXPECT_EQ(test.labels.to_vector<std::int64_t>(), (Integers{7}));
  expect_error<xg::FileError>([&] { data::fashion_mnist(path("none")); },
                              {path("none/train-labels-idx1-ubyte.gz"), "No such file"});
}

// ---- CSV ----------------------------------------------------------------------------------------

TEST_F(Csv, LastColumnIsTheLabel) {
  const data::Dataset all = data::read_csv(write("a.csv", "1,2.5,0\n-3, 4e-1 ,2\r\n\n0.5,6,1"));
  EXPECT_EQ(all.inputs.shape(), xg::Shape({3, 2}));
  EXPECT_EQ(all.inputs.to_vector<float>(), (Floats{1, 2.5F, -3, 0.4F, 0.5F, 6}));
  EXPECT_EQ(all.labels.to_vector<std::int64_t>(), (Integers{0, 2, 1}));
  EXPECT_EQ(all.classes, 3);
}

TEST_F(Csv, ANamedColumnIsTheLabel) {
  const std::string text = "\xef\xbb\xbf\"kind\";width;height\n3;0.5;0.25\n1;8;9\n";
  const data::CsvOptions options{.header = true, .label = "kind", .separator = ';'};
  const data::Dataset all = data::read_csv(write_gzip("a.csv.gz", text), options);
  EXPECT_EQ(all.inputs.to_vector<float>(), (Floats{0.5F, 0.25F, 8, 9}));
  EXPECT_EQ(all.labels.to_vector<std::int64_t>(), (Integers{3, 1}));
  EXPECT_EQ(all.classes, 4);
  EXPECT_EQ(data::read_csv(write("b.csv", "a,b\n7,0\n"), {.header = true}).size(), 1);
}

TEST_F(Csv, ANumberMayHaveAPlus) {
  EXPECT_EQ(data::read_csv(write("a.csv", "+1,+.5,0\n")).inputs.to_vector<float>(),
            (Floats{1, 0.5F}));
  expect_error<xg::FileError>([&] { data::read_csv(write("a.csv", "+-1,0\n")); }, {"+-1"});
}

TEST_F(Csv, ALineOfNamesIsFound) {
  const auto read = [&](const std::string& text, bool has_labels = true) {
    return data::read_csv(write("a.csv", text), {.find_header = true, .has_labels = has_labels});
  };
  const auto expect = [](const data::Dataset& all, const Floats& inputs, const Integers& labels) {
    EXPECT_EQ(all.inputs.to_vector<float>(), inputs);
    EXPECT_EQ(all.labels.to_vector<std::int64_t>(), labels);
  };
  expect(read("\xef\xbb\xbf\n\"a\",b,kind\n0.5,7,2\n8,9,0\n"), {0.5F, 7, 8, 9}, {2, 0});
  expect(read("label,a,b\n2,0.5,7\n0,8,9\n"), {0.5F, 7, 8, 9}, {2, 0});
  expect(read("0.5,7,2\n8,9,0\n"), {0.5F, 7, 8, 9}, {2, 0});
  EXPECT_EQ(read("label,b\n1,2\n", false).inputs.to_vector<float>(), (Floats{1, 2}));
  for (const char* text : {"a,b,3\n1,2,3\n", "1e99999,nan,1\n1,2,3\n", "a,b,c\nd,e,f\n"}) {
    expect_error<xg::FileError>([&] { read(text); }, {"column 1", "is not a finite"});
  }
  expect_error<xg::FileError>([&] { read("a,b\n"); }, {"no rows"});
  const std::string file = write("a.csv", "1,0\n");
  expect_error<xg::Error>([&] { data::read_csv(file, {.label = "y", .find_header = true}); },
                          {"\"y\"", "header"});
}

TEST_F(Csv, RefusesByLineAndColumn) {
  const auto refused = [&](const std::string& text, std::initializer_list<std::string> words,
                           data::CsvOptions options = {}) {
    const std::string file = write("a.csv", text);
    expect_error<xg::FileError>([&] { data::read_csv(file, options); }, {file});
    expect_error<xg::FileError>([&] { data::read_csv(file, options); }, words);
  };
  refused("1,2,0\n1,2\n", {"line 2, column 3", "2 cells", "3"});
  refused("1,2,0\n\n1,2,0,4\n", {"line 3, column 4", "4 cells"});
  refused("1,2,0\n1,two,0\n", {"line 2, column 2", "\"two\""});
  refused("1,2,0\n1,,0\n", {"line 2, column 2", "\"\""});
  refused("1,2,0\n1,2x,0\n", {"line 2, column 2", "\"2x\""});
  refused("1,2,0\n1,nan,0\n", {"line 2, column 2", "\"nan\""});
  refused("1,2,0\n1,1e39,0\n", {"line 2, column 2", "\"1e39\""});
  refused("1,2,0\n1,2,0.5\n", {"line 2, column 3", "label 0.5"});
  refused("1,2,-1\n", {"line 1, column 3", "label -1"});
  refused("1,2,1e18\n", {"line 1, column 3", "label 1e18"});
  refused("x,y\n1,0\n", {"line 1, column 1", "\"x\"", "header"});
  refused("x,y\n1,0\n", {"line 1", "\"z\""}, {.header = true, .label = "z"});
  refused("x,y\n", {"no rows"}, {.header = true});
  refused("", {"no rows"});
  refused("5\n6\n", {"line 1", "one column"});
  const std::string file = write("a.csv", "x,y\n1,0\n");
  expect_error<xg::Error>([&] { data::read_csv(file, {.label = "y"}); }, {"\"y\"", "header"});
  expect_error<xg::FileError>([&] { data::read_csv(path("none")); },
                              {path("none"), "No such file"});
}

}  // namespace
