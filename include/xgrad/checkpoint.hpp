#pragma once

/// A training run in a folder, to go on with later as if it had never stopped:
///
///   xg::Checkpoint run{.model = &net, .optimizer = &adam, .loader = &loader};
///   xg::load_checkpoint("run", run);  // the first time there is none: false
///   while (loader.epoch() < 10) {
///     for (const auto& [x, y] : loader) {  // after a load: the rest of that epoch
///       ...                                // a step of training
///       if (++run.step % 100 == 0) xg::save_checkpoint("run", run);
///     }
///   }
///
/// A checkpoint is a safetensors file, `step-120.safetensors`, with the names of the model's state
/// behind "model.", of the optimizer's behind "optimizer." and so on.

#include "xgrad/io.hpp"

namespace xgrad {

class Generator;
namespace nn {
class Module;
}
namespace optim {
class Optimizer;
class LRScheduler;
}  // namespace optim
namespace data {
class DataLoader;
}

/// What a checkpoint holds. What is left out is neither saved nor loaded.
struct Checkpoint {
  nn::Module* model = nullptr;  ///< parameters and buffers, so running statistics too
  optim::Optimizer* optimizer = nullptr;
  optim::LRScheduler* scheduler = nullptr;
  data::DataLoader* loader = nullptr;  ///< the place in the data, in the middle of an epoch too
  Generator* generator = nullptr;      ///< null: default_generator()
  std::int64_t step = 0;               ///< names the file
  StateDict values{};                  ///< further numbers of yours
  /// What the run depends on, as texts: a checkpoint with other settings is refused. Not "format",
  /// "crc32" or what begins with "xgrad.".
  Metadata settings{};
  int keep = 2;  ///< so many checkpoints stay in the folder
};

/// Writes `folder/step-N.safetensors`, makes the folder if need be, and then removes all but the
/// last `keep` checkpoints up to this step; later ones, of a run that was given up, go as well. A
/// file appears under its name when it is complete and on the disk, so whenever the program or the
/// machine stops, the last one is there. Returns the path. Throws FileError, with the checkpoints
/// that there are left alone, when it cannot be written.
std::string save_checkpoint(const std::string& folder, const Checkpoint& run);

/// What load_checkpoint found.
struct LoadedCheckpoint {
  std::string path{};                  ///< the file; empty: there was none
  std::vector<std::string> damaged{};  ///< errors of later ones that had to be passed over
  explicit operator bool() const { return !path.empty(); }  ///< there was one
};

/// Loads the last checkpoint of a folder, or a file. One that is damaged (the files have checksums)
/// is passed over for the one before. Throws FileError where all are damaged, and Error for one of
/// another model, optimizer or setting; then nothing has changed, neither model nor anything else.
LoadedCheckpoint load_checkpoint(const std::string& path, Checkpoint& run);

/// The tensors and the metadata of a checkpoint, chosen in the same way, for other uses.
LoadedCheckpoint read_checkpoint(const std::string& path, StateDict& tensors, Metadata& metadata);

/// The entries whose names begin with `prefix`, without it: `entries_of(tensors, "model.")`.
StateDict entries_of(const StateDict& tensors, std::string_view prefix);

}  // namespace xgrad
