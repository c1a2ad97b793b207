#pragma once

namespace bench {

/// The step measured here, in libtorch: 784-128-10, ReLU, cross-entropy, SGD, batch 64, one thread.
class TorchStep {
 public:
  TorchStep();
  ~TorchStep();
  TorchStep(const TorchStep&) = delete;
  TorchStep& operator=(const TorchStep&) = delete;
  void run();

 private:
  struct Net;
  Net* net_;
};

}  // namespace bench
