#pragma once

#include "xgrad/data/dataset.hpp"

namespace xgrad::data {

/// A pair of files in the IDX format of MNIST, plain or gzip: images (N, rows, columns) as inputs
/// (N, rows * columns), scaled from bytes to [0, 1], and their labels. Throws FileError that names
/// the file and the offset (in the uncompressed data) for a wrong magic number, for data that are
/// shorter or longer than the sizes say, and for a label that is not below `classes`.
Dataset read_idx(const std::string& images, const std::string& labels, std::int64_t classes = 10);

/// Fashion-MNIST, 60,000 and 10,000 images of 28x28 pixels in 10 classes: the four files
/// train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-... (.gz or not) of a folder. The default
/// is where the Debian package dataset-fashion-mnist puts them.
Split fashion_mnist(const std::string& folder = "/usr/share/datasets/fashion-mnist");

}  // namespace xgrad::data
