#include <cmath>
#include <limits>

#include "support/folder.hpp"
#include "support/values.hpp"
#include "xgrad/xgrad.hpp"

namespace xg = xgrad;
using xg::Tensor;

namespace {

class Npy : public FolderTest {
 protected:
  /// The array of a file with this header and these elements.
  Tensor array(std::string header, const auto& elements, int version = 1) const {
    header += '\n';
    std::string bytes = "\x93NUMPY" + std::string{static_cast<char>(version), '\0'};
    for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
      bytes += static_cast<char>(header.size() >> 8 * i);
    std::ofstream out(path("a.npy"), std::ios::binary);
    out << bytes << header;
    out.write(reinterpret_cast<const char*>(elements.data()),
              static_cast<std::streamsize>(elements.size() * sizeof elements[0]));
    out.close();
    return xg::load_npy(path("a.npy"));
  }
};

TEST_F(Npy, RoundTripKeepsTypesShapesAndBits) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor rows = xg::tensor({{1.5F, -0.0F, nan}, {4.0F, 5.0F, INFINITY}});
  for (const Tensor& x :
       {rows, rows[1], rows.to(xg::float64), xg::tensor({true, false, true}),
        xg::tensor(std::int64_t{-7'000'000'000}), xg::empty({2, 0, 3}, {.dtype = xg::float64}),
        xg::arange(120).reshape({1, 2, 1, 3, 4, 1, 5, 1}),
        xg::ones({2, 3}, {.requires_grad = true})}) {
    xg::save_npy(path("a.npy"), x);
    const Tensor y = xg::load_npy(path("a.npy"));
    EXPECT_EQ(y.dtype(), x.dtype());
    EXPECT_EQ(y.shape(), x.shape());
    EXPECT_FALSE(y.requires_grad());
    EXPECT_TRUE(xg::allclose(y.to(xg::float64), x.detach().to(xg::float64), 0, 0, true));
    EXPECT_EQ(std::filesystem::file_size(path("a.npy")) % 64,
              static_cast<std::size_t>(x.numel() * xg::itemsize(x.dtype())) % 64);  // aligned
  }
  EXPECT_EQ(files(), 1U);
}

TEST_F(Npy, S04ColumnsAfterColumns) {
  const std::vector<double> columns{1, 4, 2, 5, 3, 6};
  const Tensor rows = xg::tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}, {.dtype = xg::float64});
  EXPECT_TRUE(
      xg::equal(array("{'descr':'<f8','fortran_order':True,'shape':(2,3)}", columns), rows));
  xg::save_npy(path("t.npy"), rows.t());
  EXPECT_TRUE(xg::equal(xg::load_npy(path("t.npy")),
                        xg::tensor({{1.0, 4.0}, {2.0, 5.0}, {3.0, 6.0}}, {.dtype = xg::float64})));
  const Tensor cube = array("{'descr': '<i8', 'fortran_order': True, 'shape': (2, 1, 3)}",
                            std::vector<std::int64_t>{1, 4, 2, 5, 3, 6});
  EXPECT_TRUE(xg::equal(cube, rows.to(xg::int64).reshape({2, 1, 3})));
  EXPECT_EQ(array("{'descr': '<f8', 'fortran_order': True, 'shape': ()}", std::vector{2.5})
                .item<double>(),
            2.5);
}

TEST_F(Npy, ReadsEverySpellingOfTheHeader) {
  const std::vector<float> two{1, -2};
  for (const char* header : {
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }",
           "{'shape':(2,),'fortran_order':False,'descr':'<f4'}",
           "  { \"descr\" : \"<f4\" ,\t\"fortran_order\":False\n, \"shape\" : ( 2 , ) }     ",
       }) {
    for (int version : {1, 2, 3}) {
      const Tensor x = array(header, two, version);
      EXPECT_EQ(x.shape(), xg::Shape({2}));
      EXPECT_EQ(x.to_vector<float>(), two);
    }
  }
  EXPECT_EQ(array("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2,)}", two).shape(),
            xg::Shape({1, 2}));
}

TEST_F(Npy, ARefusalSaysWhatWouldDo) {
  const std::vector<float> two{1, -2};
  const auto refused = [&](const char* header, const std::vector<std::string>& words) {
    expect_error<xg::FileError>([&] { array(header, two); }, words);
  };
  refused("{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}",
          {path("a.npy"), "offset 25", "'>f4'", "astype('<f4')"});
  refused("{'descr': '<i4', 'fortran_order': False, 'shape': (2,)}", {"'<i4'", "astype('<i8')"});
  refused("{'descr': '>f8', 'fortran_order': False, 'shape': (2,)}", {"'>f8'", "astype('<f8')"});
  EXPECT_EQ(error_of<xg::Error>([&] {
              array("{'descr': '<c8', 'fortran_order': False, 'shape': (2,)}", two);
            }).find("astype"),
            std::string::npos);
  refused("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", {"one by one"});
  EXPECT_THROW(xg::save_npy(path("no/folder.npy"), xg::ones({2})), xg::FileError);
  EXPECT_THROW(xg::save_npy(path("b.npy"), Tensor()), xg::Error);
  EXPECT_EQ(files(), 1U);
}

}  // namespace
