#include "run_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <filesystem>

namespace tool {

namespace {

/// A file of data may move, but what is in it must be the same.
std::string checksum(const xgrad::data::Dataset& data) {
  const auto add = [](uLong sum, const auto& span) {
    return crc32_z(sum, reinterpret_cast<const Bytef*>(span.data()), span.size_bytes());
  };
  const uLong inputs = add(0, data.inputs.data<float>());
  return fmt::format("{:08x}", add(inputs, data.labels.data<std::int64_t>()));
}

}  // namespace

FolderLock::FolderLock(const std::string& path) {
  if (path.empty()) return;
  std::error_code failed;  // of which save_checkpoint will say more
  if (std::filesystem::create_directories(path, failed)) made_ = path;
  folder_ = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_ < 0 || flock(folder_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  close(folder_);
  throw xgrad::Error(fmt::format(
      "--checkpoint {}: another run is going on in this folder. Wait for its end, or give another "
      "one",
      path));
}

FolderLock::~FolderLock() {
  if (!made_.empty()) rmdir(made_.c_str());  // fails where there is something
  if (folder_ >= 0) close(folder_);
}

std::int64_t RunFolder::steps_done(const TrainOptions& options) {
  if (options.checkpoint.empty()) return 0;
  xgrad::StateDict tensors;
  xgrad::Metadata metadata;
  const xgrad::LoadedCheckpoint found =
      xgrad::read_checkpoint(options.checkpoint, tensors, metadata);
  if (!found) return 0;
  if (const xgrad::Tensor* step = find(tensors, "step"); options.resume) {
    return step ? step->item<std::int64_t>() : 0;
  }
  throw xgrad::Error(
      fmt::format("--checkpoint {}: there is a run, up to {}. --resume goes on with it; to start "
                  "anew, remove the folder or give another one",
                  options.checkpoint, found.path));
}

RunFolder::RunFolder(const TrainOptions& options, const xgrad::data::Dataset& data,
                     xgrad::Checkpoint run)
    : folder_(options.checkpoint),
      every_(options.checkpoint_every),
      resume_(options.resume),
      run_(std::move(run)) {
  if (folder_.empty()) return;
  run_.settings = settings(options);
  run_.settings.emplace_back("checksum of the data", checksum(data));
}

bool RunFolder::resume() {
  if (folder_.empty() || !resume_) return false;
  const auto data = run_.settings.front();  // its name, which may change
  run_.settings.erase(run_.settings.begin());
  const xgrad::LoadedCheckpoint loaded = xgrad::load_checkpoint(folder_, run_);
  run_.settings.insert(run_.settings.begin(), data);
  for (const std::string& error : loaded.damaged) {
    fmt::print(stderr, "xgrad: warning: an earlier checkpoint is used. {}\n", error);
  }
  if (!loaded) fmt::print("no checkpoint in {} yet: starting from the beginning\n\n", folder_);
  return bool(loaded);
}

void RunFolder::save(std::int64_t step, xgrad::StateDict values) {
  if (folder_.empty()) return;
  run_.step = step;
  run_.values = std::move(values);
  xgrad::save_checkpoint(folder_, run_);
}

}  // namespace tool
