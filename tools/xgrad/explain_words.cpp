#include "explain_words.hpp"

#include <map>

namespace tool {

Words words_of(const std::string& step, const xgrad::teach::Norm& n) {
  static const std::map<std::string, Words> all = {
      {"x",
       {"", "", "dx = dcentred + dmean / n",
        R"(\frac{\partial L}{\partial x_i} = \frac{\partial L}{\partial c_i} + \frac{1}{n}\frac{\partial L}{\partial \mu})"}},
      {"mean",
       {"mean = sum(x) / n", R"(\mu = \frac{1}{n}\sum_i x_i)", "dmean = -sum(dcentred)",
        R"(\frac{\partial L}{\partial \mu} = -\sum_i \frac{\partial L}{\partial c_i})"}},
      {"centred",
       {"centred = x - mean", R"(c_i = x_i - \mu)",
        "dcentred = dx_hat * rstd + dvariance * 2 * centred / n",
        R"(\frac{\partial L}{\partial c_i} = r\,\frac{\partial L}{\partial \hat x_i} + \frac{2 c_i}{n}\frac{\partial L}{\partial \sigma^2})"}},
      {"variance",
       {"variance = sum(centred^2) / n", R"(\sigma^2 = \frac{1}{n}\sum_i c_i^2)",
        "dvariance = dstd / (2 * std)",
        R"(\frac{\partial L}{\partial \sigma^2} = \frac{1}{2s}\frac{\partial L}{\partial s})"}},
      {"std",
       {"std = sqrt(variance + eps)", R"(s = \sqrt{\sigma^2 + \varepsilon})",
        "dstd = -drstd * rstd^2",
        R"(\frac{\partial L}{\partial s} = -r^2\,\frac{\partial L}{\partial r})"}},
      {"rstd",
       {"rstd = 1 / std", R"(r = \frac{1}{s})", "drstd = sum(dx_hat * centred)",
        R"(\frac{\partial L}{\partial r} = \sum_i c_i\,\frac{\partial L}{\partial \hat x_i})"}},
      {"mean_square",
       {"mean_square = sum(x^2) / n", R"(m = \frac{1}{n}\sum_i x_i^2)",
        "dmean_square = drms / (2 * rms)",
        R"(\frac{\partial L}{\partial m} = \frac{1}{2s}\frac{\partial L}{\partial s})"}},
      {"rms",
       {"rms = sqrt(mean_square + eps)", R"(s = \sqrt{m + \varepsilon})", "drms = -drrms * rrms^2",
        R"(\frac{\partial L}{\partial s} = -r^2\,\frac{\partial L}{\partial r})"}},
      {"rrms",
       {"rrms = 1 / rms", R"(r = \frac{1}{s})", "drrms = sum(dx_hat * x)",
        R"(\frac{\partial L}{\partial r} = \sum_i x_i\,\frac{\partial L}{\partial \hat x_i})"}},
      {"x_hat",
       {"x_hat = centred * rstd", R"(\hat x_i = c_i\, r)", "dx_hat = dy * weight",
        R"(\frac{\partial L}{\partial \hat x_i} = w_i\,\frac{\partial L}{\partial y_i})"}},
      {"weight",
       {"", "", "dweight = sum(dy * x_hat), over all that one weight scales",
        R"(\frac{\partial L}{\partial w} = \sum \hat x\,\frac{\partial L}{\partial y})"}},
      {"bias",
       {"", "", "dbias = sum(dy), over all that one bias moves",
        R"(\frac{\partial L}{\partial b} = \sum \frac{\partial L}{\partial y})"}},
      {"y",
       {"y = x_hat * weight + bias", R"(y_i = w_i\,\hat x_i + b_i)",
        "dy = upstream: where the gradient comes from",
        R"(\frac{\partial L}{\partial y_i} = g_i)"}}};
  Words w = all.at(step);
  if (!n.centred()) {
    if (step == "x") {
      w.backward = "dx = dx_hat * rrms + dmean_square * 2 * x / n";
      w.backward_tex =
          R"(\frac{\partial L}{\partial x_i} = r\,\frac{\partial L}{\partial \hat x_i} + \frac{2 x_i}{n}\frac{\partial L}{\partial m})";
    } else if (step == "x_hat") {
      w.forward = "x_hat = x * rrms";
      w.forward_tex = R"(\hat x_i = x_i\, r)";
    } else if (step == "y") {
      w.forward = "y = x_hat * weight";
      w.forward_tex = R"(y_i = w_i\,\hat x_i)";
    }
  }
  if (!n.own_statistics()) {
    if (step == "mean") {
      w.forward = "mean = running_mean, a constant";
      w.forward_tex = R"(\mu = \mu_{\text{running}})";
    } else if (step == "variance") {
      w.forward = "variance = running_var, a constant";
      w.forward_tex = R"(\sigma^2 = \sigma^2_{\text{running}})";
    } else if (step == "centred") {
      w.backward = "dcentred = dx_hat * rstd";
      w.backward_tex =
          R"(\frac{\partial L}{\partial c_i} = r\,\frac{\partial L}{\partial \hat x_i})";
    } else if (step == "x") {
      w.backward = "dx = dcentred";
      w.backward_tex = R"(\frac{\partial L}{\partial x_i} = \frac{\partial L}{\partial c_i})";
    }
  }
  return w;
}

}  // namespace tool
