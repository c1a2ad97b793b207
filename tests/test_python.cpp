#include <cstdlib>
#include <limits>

#include "support/folder.hpp"
#include "xgrad/xgrad.hpp"

namespace xg = xgrad;
namespace nn = xg::nn;
using xg::Tensor;

namespace {

/// Values that tests/check_files.py makes by itself.
Tensor pattern(xg::Shape shape, xg::DType dtype) {
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < shape.numel(); ++i) numbers.push_back(i * 37 % 101 - 50);
  const Tensor x = xg::tensor(numbers).reshape(shape);
  if (dtype == xg::bool_) return x > 0;
  return dtype == xg::int64 ? x * 1'000'000'000'000'000 : (x.to(xg::float64) / 8).to(dtype);
}

class Python : public FolderTest {};

TEST_F(Python, ReadsWhatIsWrittenAndWritesWhatIsRead) {
  if (std::system("python3 -c 'import struct' 2>/dev/null") != 0) GTEST_SKIP() << "no python3";
  // A layer that has seen one batch: its running statistics go into the file.
  nn::BatchNorm1d norm(3);
  norm(xg::tensor({{1.0, 2.0, 4.0}, {3.0, 2.5, -4.0}}));
  const double inf = std::numeric_limits<double>::infinity();
  xg::StateDict state = norm.state_dict();
  const xg::StateDict more{
      {"float32", pattern({2, 3, 5}, xg::float32)},
      {"float64", pattern({7}, xg::float64)},
      {"int64", pattern({4, 2}, xg::int64)},
      {"bool", pattern({3, 4}, xg::bool_)},
      {"scalar", xg::tensor(-0.625F)},
      {"empty", xg::empty({2, 0, 3})},
      {"transposed", pattern({2, 3}, xg::float32).t()},
      {"special", xg::tensor({-0.0, inf, -inf, 1e-45, std::nan("")})},
      {"ü \"x\"/y", xg::tensor({true})},
  };
  state.insert(state.end(), more.begin(), more.end());
  xg::save_safetensors(path("state.safetensors"), state, {{"note", "größer"}});
  for (const auto& [name, x] : state) {
    if (name.find('/') == name.npos) xg::save_npy(path(name + ".npy"), x);
  }
  const std::string script = "python3 " XGRAD_SOURCE_DIR "/tests/check_files.py '" + path("") +
                             "' >'" + path("out") + "' 2>&1";
  ASSERT_EQ(std::system(script.c_str()), 0) << content(path("out"));

  // What the script has written.
  xg::Metadata metadata;
  const xg::StateDict theirs = xg::load_safetensors(path("python.safetensors"), &metadata);
  EXPECT_EQ(metadata, (xg::Metadata{{"format", "pt"}, {"note", "größer"}}));
  ASSERT_EQ(theirs.size(), 5U);
  for (const auto& [name, x] : theirs) {
    const Tensor expected = pattern(x.shape(), x.dtype());
    EXPECT_TRUE(xg::equal(x, expected)) << name;
    EXPECT_EQ(name.substr(0, name.find('.')), xg::name(x.dtype()));
    EXPECT_TRUE(xg::equal(xg::load_npy(path("python-" + name + ".npy")), expected)) << name;
  }
  EXPECT_EQ(theirs[3].second.shape(), xg::Shape({}));
  EXPECT_EQ(theirs[4].second.shape(), xg::Shape({0, 3}));
  EXPECT_TRUE(xg::equal(xg::load_npy(path("python-fortran.npy")), pattern({2, 3}, xg::float32)));
}

}  // namespace
