#pragma once

/// Tensors in files: the safetensors format (github.com/huggingface/safetensors), which Python
/// reads with `safetensors.torch.load_file`, and numpy's .npy, which it reads with `numpy.load`.

#include "xgrad/state_dict.hpp"

namespace xgrad {

/// Texts by name that a file carries beside its tensors.
using Metadata = std::vector<std::pair<std::string, std::string>>;

/// Writes the tensors, in order, bit for bit (NaN stays NaN). The file appears under its name when
/// it is complete and on the disk; one that was there before is replaced. "format" and "crc32" of
/// the metadata are filled in. Throws Error for a name that stands twice, FileError when the file
/// cannot be written.
void save_safetensors(const std::string& path, const StateDict& tensors,
                      const Metadata& metadata = {});

/// The tensors of a file (F32, F64, I64 and BOOL) in the order of their data. Throws FileError that
/// names the file and the offset for anything that does not follow the format to the letter, and
/// for a checksum ("crc32") that does not fit; no more memory is allocated than the file is long.
StateDict load_safetensors(const std::string& path, Metadata* metadata = nullptr);

/// Writes the tensor bit for bit, in the manner of save_safetensors. Throws FileError.
void save_npy(const std::string& path, const Tensor& x);

/// The array of a .npy file (versions 1 to 3; '<f4', '<f8', '<i8' and '|b1'; in C or Fortran
/// order). Throws FileError that names the file and the offset for anything else and anything more.
Tensor load_npy(const std::string& path);

/// Any file in the same manner: whole and on the disk, or as it was before. Throws FileError.
void write_file(const std::string& path, std::string_view bytes);

}  // namespace xgrad
