#include "xgrad/checkpoint.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "detail/message.hpp"
#include "io/file.hpp"
#include "xgrad/data/loader.hpp"
#include "xgrad/nn/module.hpp"
#include "xgrad/optim/schedule.hpp"
#include "xgrad/random.hpp"

namespace xgrad {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view stem = "step-", ending = ".safetensors";

/// The number in `step-N.safetensors`, -1 for other names.
std::int64_t step_of(std::string_view name) {
  std::int64_t step = -1;
  if (!name.starts_with(stem)) return -1;
  name.remove_prefix(stem.size());
  const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  const auto used = static_cast<std::size_t>(stop - name.data());
  return error == std::errc() && name.substr(used) == ending ? step : -1;
}

/// The checkpoints of a folder, the last one first.
std::vector<std::pair<std::int64_t, std::string>> checkpoints(const std::string& folder) {
  std::vector<std::pair<std::int64_t, std::string>> found;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed)) {
    const std::int64_t step = step_of(entry.path().filename().native());
    if (step >= 0) found.emplace_back(step, entry.path());
  }
  throw_if<FileError>(failed.value() != 0, "load_checkpoint: ", folder, ": ", failed.message());
  std::sort(found.rbegin(), found.rend());
  return found;
}

/// What became superfluous with checkpoint `step`, and what saves that were killed left behind.
void clean(const std::string& folder, std::int64_t step, int keep) {
  std::error_code ignored;
  for (const auto& [number, path] : checkpoints(folder)) {
    if (number > step || keep-- <= 0) fs::remove(path, ignored);
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename();
    const std::size_t end = name.find(".tmp");
    if (end != name.npos && step_of(name.substr(0, end)) >= 0) fs::remove(entry.path(), ignored);
  }
}

const std::string* find_text(const Metadata& metadata, const std::string& key) {
  const auto at = std::find_if(metadata.begin(), metadata.end(),
                               [&](const auto& entry) { return entry.first == key; });
  return at == metadata.end() ? nullptr : &at->second;
}

StateDict state_of(const auto* part) { return part ? part->state_dict() : StateDict(); }
void load(auto* part, const StateDict& state) {
  if (part) part->load_state_dict(state);
}

/// f(prefix of its names, part) for each part of a run; null: left out.
void each_part(const Checkpoint& run, auto f) {
  f("model.", run.model);
  f("optimizer.", run.optimizer);
  f("scheduler.", run.scheduler);
  f("loader.", run.loader);
}

/// Puts all of it in place, or throws with everything as it was.
void restore(const StateDict& all, Checkpoint& run) {
  const Tensor* step = find(all, "step");
  throw_if<Error>(!step || step->dtype() != int64 || step->dim() != 0, "it has no number of steps");
  Generator& generator = run.generator ? *run.generator : default_generator();
  std::vector<StateDict> before;
  each_part(run, [&](const char*, auto* part) { before.push_back(state_of(part)); });
  for (auto& entry : before[0]) entry.second = entry.second.clone();  // the others' are copies
  try {
    each_part(run, [&](auto prefix, auto* part) { load(part, entries_of(all, prefix)); });
    const Tensor* state = find(all, "generator");
    generator.set_state(state ? *state : Tensor());
  } catch (...) {
    auto state = before.begin();
    each_part(run, [&](const char*, auto* part) { load(part, *state++); });
    throw;
  }
  run.step = step->item<std::int64_t>();
  run.values = entries_of(all, "values.");
}

void check_settings(const Metadata& metadata, const Checkpoint& run) {
  const auto check = [&](const std::string& key, const std::string& name, const std::string& here) {
    const std::string* there = find_text(metadata, key);
    throw_if<Error>(!there || *there != here, name, " was ", there ? *there : "not set",
                    ", now it is ", here, ". A run goes on with the settings it began with");
  };
  for (const auto& [key, here] : run.settings) check(key, key, here);
  if (run.optimizer) check("xgrad.optimizer", "the optimizer", run.optimizer->name());
}

/// A checkpoint, which has a checksum: load_safetensors has compared it.
StateDict read(const std::string& path, Metadata& metadata) {
  Metadata found;
  StateDict tensors = load_safetensors(path, &found);
  throw_if<FileError>(!find_text(found, "xgrad.checkpoint") || !find_text(found, "crc32"),
                      "load_checkpoint: ", path, " is no checkpoint");
  metadata = std::move(found);
  return tensors;
}

}  // namespace

StateDict entries_of(const StateDict& tensors, std::string_view prefix) {
  StateDict own;
  for (const auto& [name, x] : tensors) {
    if (name.starts_with(prefix)) own.emplace_back(name.substr(prefix.size()), x);
  }
  return own;
}

std::string save_checkpoint(const std::string& folder, const Checkpoint& run) {
  throw_if<Error>(run.step < 0 || run.keep < 1, "save_checkpoint: step ", run.step, " and keep ",
                  run.keep, " must be at least 0 and 1");
  const Generator& generator = run.generator ? *run.generator : default_generator();
  StateDict all{{"step", tensor(run.step)}, {"generator", generator.get_state()}};
  const auto add = [&](const std::string& prefix, const StateDict& state) {
    for (const auto& [name, x] : state) all.emplace_back(prefix + name, x);
  };
  each_part(run, [&](auto prefix, auto* part) { add(prefix, state_of(part)); });
  add("values.", run.values);
  Metadata metadata{{"xgrad.checkpoint", "1"}};
  if (run.optimizer) metadata.emplace_back("xgrad.optimizer", run.optimizer->name());
  for (const auto& [key, text] : run.settings) {
    throw_if<Error>(key == "format" || key == "crc32" || key.starts_with("xgrad."),
                    "save_checkpoint: no setting may be called ", key);
    metadata.emplace_back(key, text);
  }

  std::error_code failed, ignored;
  if (fs::create_directories(folder, failed) || fs::is_empty(folder, ignored))  // made just now
    detail::flush_folder(fs::absolute(folder).parent_path());
  throw_if<FileError>(failed.value() != 0, "save_checkpoint: ", folder, ": ", failed.message());
  const std::string path = fs::path(folder) / message(stem, run.step, ending);
  save_safetensors(path, all, metadata);
  clean(folder, run.step, run.keep);
  return path;
}

LoadedCheckpoint read_checkpoint(const std::string& path, StateDict& tensors, Metadata& metadata) {
  LoadedCheckpoint loaded;
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return loaded;
  if (!fs::is_directory(path)) {
    tensors = read(path, metadata);
    loaded.path = path;
    return loaded;
  }
  for (const auto& entry : checkpoints(path)) {
    try {
      tensors = read(entry.second, metadata);
      loaded.path = entry.second;
      return loaded;
    } catch (const FileError& error) {
      loaded.damaged.emplace_back(error.what());
    }
  }
  if (loaded.damaged.empty()) return loaded;
  throw FileError(message("load_checkpoint: no checkpoint in ", path, " can be read. ",
                          loaded.damaged.front()));
}

LoadedCheckpoint load_checkpoint(const std::string& path, Checkpoint& run) {
  StateDict tensors;
  Metadata metadata;
  LoadedCheckpoint loaded = read_checkpoint(path, tensors, metadata);
  if (!loaded) return loaded;
  try {
    check_settings(metadata, run);
    restore(tensors, run);
  } catch (const Error& error) {
    throw Error(message("load_checkpoint: ", loaded.path, ": ", error.what()));
  }
  return loaded;
}

}  // namespace xgrad
