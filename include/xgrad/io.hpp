#pragma once

/// Tensors in files: the safetensors format (github.com/huggingface/safetensors), which Python
/// reads with `safetensors.torch.load_file`.

#include "xgrad/state_dict.hpp"

namespace xgrad {

/// Writes the tensors, in order, bit for bit (NaN stays NaN). The file appears under its name when
/// it is complete; one that was there before is replaced. Throws Error for a name that stands
/// twice, FileError when the file cannot be written.
void save_safetensors(const std::string& path, const StateDict& tensors);

/// The tensors of a file (F32, F64, I64 and BOOL) in the order of their data. Throws FileError that
/// names the file and the offset for anything that does not follow the format to the letter;
/// no more memory is allocated than the file is long.
StateDict load_safetensors(const std::string& path);

}  // namespace xgrad
