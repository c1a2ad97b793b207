#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>

#include "graph.hpp"
#include "html.hpp"
#include "lab.hpp"
#include "support/folder.hpp"
#include "train.hpp"

namespace {

namespace fs = std::filesystem;

class Report : public FolderTest {
 protected:
  tool::TrainOptions options(const std::string& report, const std::string& checkpoint = "",
                             std::int64_t every = 0) const {
    tool::TrainOptions o;
    o.net = {.hidden = {12}, .norm = "batch"};
    o.epochs = 3;
    o.batch_size = 50;  // 29 steps an epoch
    if (!report.empty()) o.report = path(report);
    if (!checkpoint.empty()) o.checkpoint = path(checkpoint);
    o.checkpoint_every = every;
    return o;
  }
  static void train(const tool::TrainOptions& options) {
    testing::internal::CaptureStdout();
    const int status = tool::run_train(options);
    const std::string out = testing::internal::GetCapturedStdout();
    EXPECT_EQ(status, 0) << out;
  }
  /// What a page says of the run, without times: the lead, and all from the first chart on.
  std::string findings(const std::string& name) const {
    const std::string page = content(path(name));
    const std::size_t lead = page.find("<p>");
    const std::string sum = page.substr(lead, page.find("</p>") - lead);
    return std::regex_replace(sum, std::regex(R"(, \d+\.\d\d s)"), "") +
           page.substr(page.find(">Loss and accuracy</h2>"));
  }
};

TEST_F(Report, OfAResumedRunIsThatOfTheWhole) {
  train(options("whole.html"));
  const std::string wanted = findings("whole.html");
  EXPECT_NE(wanted.find("After 3 epochs (87 steps)"), wanted.npos);
  for (const std::int64_t every : {0, 7, 29}) {  // steps; 0: an epoch
    tool::TrainOptions o = options("parts.html", "run" + std::to_string(every), every);
    train(o);
    EXPECT_EQ(findings("parts.html"), wanted);
    // In the middle of the last epoch, or before it.
    EXPECT_TRUE(fs::remove(o.checkpoint + "/step-87.safetensors"));
    o.resume = true;
    for (int again = 0; again < 2; ++again) {  // then with nothing left to do
      fs::remove(o.report);
      train(o);
      EXPECT_TRUE(findings("parts.html") == wanted) << every;
    }
  }
}

TEST_F(Report, SaysWhereItBegins) {
  tool::TrainOptions o = options("", "run", 7);
  train(o);
  EXPECT_TRUE(fs::remove(o.checkpoint + "/step-87.safetensors"));
  o.resume = true;
  o.report = path("rest.html");
  o.epochs = 4;
  train(o);
  const std::string wanted = findings("rest.html");
  EXPECT_NE(wanted.find("This begins at step 90:"), wanted.npos) << wanted.substr(0, 600);
  EXPECT_NE(wanted.find("in epoch 3 to"), wanted.npos) << wanted.substr(0, 600);
  // And once more from one that has the records since then.
  EXPECT_TRUE(fs::remove(o.checkpoint + "/step-116.safetensors"));
  fs::remove(o.report);
  train(o);
  EXPECT_TRUE(findings("rest.html") == wanted);
}

TEST_F(Report, OfACheckpointWithOtherNumbersIsRefused) {
  tool::TrainOptions o = options("page.html", "run");
  train(o);
  xgrad::StateDict tensors;
  xgrad::Metadata metadata;
  const std::string file = xgrad::read_checkpoint(o.checkpoint, tensors, metadata).path;
  const auto save = [&](const std::string& name, const xgrad::Tensor& value) {
    xgrad::StateDict changed = tensors;
    for (auto& entry : changed) {
      if (entry.first == "values.observer." + name) entry.second = value;
    }
    xgrad::save_safetensors(file, changed, metadata);
  };
  o.resume = true;
  for (const auto& [name, value] :
       xgrad::StateDict{{"records", xgrad::zeros({2, 3}, {.dtype = xgrad::float64})},
                        {"epochs", xgrad::zeros({3, 2}, {.dtype = xgrad::float64})},
                        {"epochs", xgrad::full({1, 7}, -1, {.dtype = xgrad::float64})}}) {
    save(name, value);
    testing::internal::CaptureStdout();
    EXPECT_THROW(tool::run_train(o), xgrad::Error) << name;
    testing::internal::GetCapturedStdout();
  }
}

/// The pages that nothing else makes here.
TEST_F(Report, AndTheOtherPagesAreWhole) {
  train(options("report.html"));
  testing::internal::CaptureStdout();
  tool::LabCommand lab;
  lab.lab.hidden = {8, 4};
  lab.lab.steps = 5;
  lab.html = path("lab.html");
  EXPECT_EQ(tool::run_lab(lab), 0);
  tool::GraphOptions graph;
  graph.values = true;
  graph.html = path("graph.html");
  const bool drawn = std::system("command -v dot >/dev/null") == 0;
  EXPECT_EQ(drawn ? tool::run_graph(graph) : 0, 0);
  testing::internal::GetCapturedStdout();
  for (const char* name : {"report.html", "lab.html", "graph.html"}) {
    if (std::string(name) == "graph.html" && !drawn) continue;
    EXPECT_EQ(html_fault(content(path(name))), "") << name;
  }
}

}  // namespace
