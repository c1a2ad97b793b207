// Two pictures from real values: statistics stretched over a tensor, rows against columns.
// The numbers are those of lessons 3 and 7. Usage: 14_pictures [FOLDER]
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "xgrad/xgrad.hpp"

namespace xg = xgrad;

std::string fixed(double v, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", digits, v);
  return text;
}

/// An SVG picture that grows as parts are drawn; sizes in pixels.
class Picture {
 public:
  static constexpr int cell = 62, row = 38;

  void text(double x, double y, const std::string& words, const std::string& style = "") {
    body_ += "<text x='" + fixed(x, 0) + "' y='" + fixed(y, 0) + "' class='" + style + "'>" +
             words + "</text>\n";
  }
  void box(double x, double y, double width, double height, const std::string& style) {
    body_ += "<rect x='" + fixed(x, 0) + "' y='" + fixed(y, 0) + "' width='" + fixed(width, 0) +
             "' height='" + fixed(height, 0) + "' rx='3' style='" + style + "'/>\n";
  }

  /// A matrix with its values: blue below 0, orange above, deeper the farther from 0. `columns`
  /// above its own number repeats the last column in faint dashes, as broadcasting does.
  void matrix(double x, double y, const xg::Tensor& values, std::int64_t columns = 0,
              int digits = 3, const std::string& outline = "#777") {
    const double most = std::max(values.abs().max().item<double>(), 1e-9);
    for (std::int64_t i = 0; i < values.size(0); ++i) {
      for (std::int64_t j = 0; j < std::max(columns, values.size(1)); ++j) {
        const bool ghost = j >= values.size(1);
        const double v = xg::index(values, {i, std::min(j, values.size(1) - 1)}).item<double>();
        const std::string colour = v < 0 ? "#3b78c3" : "#e08a2e";
        const double depth = std::abs(v) / most * (ghost ? 0.25 : 0.55);
        box(x + double(j) * cell, y + double(i) * row, cell - 8, row - 8,
            "fill:" + colour + ";fill-opacity:" + fixed(depth, 2) + ";stroke:" + outline +
                (ghost ? ";stroke-dasharray:3 3" : ";stroke-width:1.5"));
        text(x + double(j) * cell + (cell - 8) / 2.0, y + double(i) * row + 20, fixed(v, digits),
             ghost ? "number ghost" : "number");
      }
    }
  }

  void save(const std::string& path, int width, int height, const std::string& title) const {
    std::ofstream file(path);
    file << "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 " << width << " " << height
         << "' width='" << width << "' role='img'>\n<title>" << title << "</title>\n"
         << "<style>text{font:14px sans-serif;fill:#222}.number{font:13px monospace;"
            "text-anchor:middle}.ghost{fill:#888}.sign{font-size:26px;text-anchor:middle}"
            ".note{fill:#555;font-size:13px}.head{font-weight:bold}</style>\n"
         << "<rect width='100%' height='100%' fill='#fff'/>\n"
         << body_ << "</svg>\n";
    if (!file.flush()) throw xg::Error("cannot write " + path);
    std::cout << path << ": " << title << "\n";
  }

 private:
  std::string body_;
};

/// out - mean, then / std: each (2, 1) statistic drawn solid, and dashed where it is stretched.
void draw_broadcasting(const std::string& folder) {
  xg::manual_seed(123);
  const xg::Tensor batch = xg::randn({2, 5});
  auto layer = xg::nn::Sequential(xg::nn::Linear(5, 6), xg::nn::ReLU());
  const xg::Tensor out = layer(batch).detach();
  const xg::Tensor mean = out.mean(-1, true);
  const xg::Tensor std = xg::sqrt((out - mean).square().mean(-1, true));
  const xg::Tensor norm = (out - mean) / std;

  Picture picture;
  const struct {
    std::string sign, name, shape, note;
    xg::Tensor values;
  } parts[] = {{"", "Linear", "(2, 6)", "any sign", layer[0](batch).detach()},
               {"→", "ReLU: out", "(2, 6)", "zeros and positive values", out},
               {"−", "mean", "(2, 1)", "one per row, meets all six features", mean},
               {"=", "out − mean", "(2, 6)", "each row now has mean 0", out - mean},
               {"÷", "sqrt(var)", "(2, 1)", "one per row again; var is its square", std},
               {"=", "norm", "(2, 6)", "mean 0, variance 1, negatives again", norm}};
  double y = 20;
  for (const auto& part : parts) {
    picture.text(24, y + 42, part.sign, "sign");
    picture.text(50, y + 30, part.name, "head");
    picture.text(50, y + 50, part.shape);
    picture.matrix(150, y, part.values, 6);
    picture.text(534, y + 42, part.note, "note");
    y += 100;
  }
  picture.save(folder + "/broadcasting.svg", 800, 606,
               "The (2, 1) mean and standard deviation stretched over the (2, 6) outputs");
}

/// The same numbers, outlined by what shares one mean: rows for LayerNorm, columns for BatchNorm.
void draw_rows_and_columns(const std::string& folder) {
  const xg::Tensor x = xg::tensor({{1.0, 2.0, 3.0}, {10.0, 20.0, 30.0}});
  xg::nn::LayerNorm across(3);
  xg::nn::BatchNorm1d down(3);
  const double cell = Picture::cell, row = Picture::row;

  Picture picture;
  picture.text(40, 30, "LayerNorm: across each row", "head");
  picture.text(440, 30, "BatchNorm: down each column", "head");
  const std::string groups[] = {"#7a3fb0", "#1c8a5b", "#b8860b"};
  for (const double left : {40.0, 440.0}) {
    for (const double top : {60.0, 220.0}) {
      const bool rows = left == 40;
      for (int i = 0; i < (rows ? 2 : 3); ++i) {
        const std::string style = "fill:none;stroke-width:2.5;stroke:" + groups[i];
        if (rows)
          picture.box(left - 3, top - 3 + i * row, 3 * cell - 2, row - 2, style);
        else
          picture.box(left - 3 + i * cell, top - 3, cell - 2, 2 * row - 2, style);
      }
    }
    picture.matrix(left, 60, x, 0, 0, "none");
  }
  for (int i = 0; i < 2; ++i) {
    const xg::Tensor one = x[i];
    picture.text(242, 80 + i * row,
                 "mean " + fixed(one.mean().item<double>(), 0) + ", std " +
                     fixed(one.std(false).item<double>(), 2),
                 "note");
  }
  for (int j = 0; j < 3; ++j) {
    const xg::Tensor one = x.select(1, j);
    const double middle = 440 + j * cell + 27;
    picture.text(middle, 156, fixed(one.mean().item<double>(), 1), "number");
    picture.text(middle, 174, fixed(one.std(false).item<double>(), 1), "number");
  }
  picture.text(640, 156, "mean of the column", "note");
  picture.text(640, 174, "std of the column", "note");
  picture.matrix(40, 220, across(x).detach(), 0, 2, "none");
  picture.matrix(440, 220, down(x).detach(), 0, 2, "none");
  picture.text(242, 262, "the same row twice", "note");
  picture.text(640, 262, "the same column three times", "note");
  picture.save(folder + "/rows_and_columns.svg", 850, 320,
               "LayerNorm takes its statistics across each row, BatchNorm down each column");
}

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "pictures";
  std::filesystem::create_directories(folder);
  draw_broadcasting(folder);
  draw_rows_and_columns(folder);
}
