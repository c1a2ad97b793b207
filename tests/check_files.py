"""check_files.py FOLDER: reads the safetensors and .npy files that tests/test_python.cpp has written,
with nothing but Python's standard library, and writes some for it to read."""

import ast
import json
import math
import os
import struct
import sys
import zlib

folder = sys.argv[1]
CODES = {"F32": "f", "F64": "d", "I64": "q", "BOOL": "?"}
DESCRS = {"<f4": "f", "<f8": "d", "<i8": "q", "|b1": "?"}


def product(shape):
    return math.prod(shape)


def read_safetensors(name):
    with open(os.path.join(folder, name), "rb") as file:
        raw = file.read()
    (length,) = struct.unpack("<Q", raw[:8])
    assert length % 8 == 0 and raw[8:9] == b"{"
    header = json.loads(raw[8 : 8 + length].decode("utf-8"))
    data = raw[8 + length :]
    metadata = header.pop("__metadata__", {})
    covered = 0
    tensors = {}
    for key, entry in header.items():
        begin, end = entry["data_offsets"]
        assert begin == covered, key
        covered = end
        values = struct.unpack(f"<{product(entry['shape'])}{CODES[entry['dtype']]}", data[begin:end])
        tensors[key] = (CODES[entry["dtype"]], tuple(entry["shape"]), values)
    assert covered == len(data)
    at = raw.index(b'"crc32":"') + 9
    assert int(raw[at : at + 8], 16) == zlib.crc32(raw[:at] + b"00000000" + raw[at + 8 :])
    return tensors, metadata


def read_npy(name):
    with open(os.path.join(folder, name), "rb") as file:
        raw = file.read()
    assert raw[:8] == b"\x93NUMPY\x01\x00"
    (length,) = struct.unpack("<H", raw[8:10])
    assert (10 + length) % 64 == 0 and raw[9 + length : 10 + length] == b"\n"
    header = ast.literal_eval(raw[10 : 10 + length].decode("latin1"))
    assert sorted(header) == ["descr", "fortran_order", "shape"] and not header["fortran_order"]
    code = DESCRS[header["descr"]]
    values = struct.unpack(f"<{product(header['shape'])}{code}", raw[10 + length :])
    return code, header["shape"], values


def pattern(shape, code):
    numbers = [i * 37 % 101 - 50 for i in range(product(shape))]
    if code == "?":
        return [n > 0 for n in numbers]
    return [n * 10**15 if code == "q" else n / 8 for n in numbers]


def float32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def check(tensors):
    def equal(name, code, shape, values):
        assert tensors[name] == (code, shape, tuple(values)), (name, tensors[name])

    equal("float32", "f", (2, 3, 5), pattern((2, 3, 5), "f"))
    equal("float64", "d", (7,), pattern((7,), "d"))
    equal("int64", "q", (4, 2), pattern((4, 2), "q"))
    equal("bool", "?", (3, 4), pattern((3, 4), "?"))
    equal("scalar", "f", (), [-0.625])
    equal("empty", "f", (2, 0, 3), [])
    rows = pattern((2, 3), "f")
    equal("transposed", "f", (3, 2), [rows[3 * r + c] for c in range(3) for r in range(2)])
    code, shape, special = tensors["special"]
    assert code == "f" and shape == (5,) and math.copysign(1, special[0]) == -1
    assert special[:4] == (0, math.inf, -math.inf, float32(1e-45)) and math.isnan(special[4])
    # BatchNorm1d(3) after the batch (1, 2, 4), (3, 2.5, -4): momentum 0.1, unbiased variance.
    equal("weight", "f", (3,), [1, 1, 1])
    equal("bias", "f", (3,), [0, 0, 0])
    equal("num_batches_tracked", "q", (), [1])
    for name, wanted in [("running_mean", (0.2, 0.225, 0)), ("running_var", (1.1, 0.9125, 4.1))]:
        code, shape, got = tensors[name]
        assert code == "f" and shape == (3,), name
        assert all(abs(a - b) < 1e-6 for a, b in zip(got, wanted)), (name, got)


tensors, metadata = read_safetensors("state.safetensors")
assert metadata["format"] == "pt" and metadata["note"] == "größer", metadata
assert list(tensors)[:5] == ["weight", "bias", "running_mean", "running_var", "num_batches_tracked"]
assert tensors.pop('ü "x"/y') == ("?", (1,), (True,))
check(tensors)
arrays = {name: read_npy(name + ".npy") for name in tensors}
check(arrays)

# ---- the other way ----

MINE = [("float32.a", "F32", (3, 5)), ("float64.b", "F64", (2, 1, 4)), ("bool.c", "BOOL", (11,)),
        ("int64.d", "I64", ()), ("float32.e", "F32", (0, 3))]
header = {}
data = b""
for name, dtype, shape in MINE:
    values = struct.pack(f"<{product(shape)}{CODES[dtype]}", *pattern(shape, CODES[dtype]))
    header[name] = {"data_offsets": [len(data), len(data) + len(values)], "shape": shape, "dtype": dtype}
    data += values
    descr = {"F32": "<f4", "F64": "<f8", "I64": "<i8", "BOOL": "|b1"}[dtype]
    text = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode()
    with open(os.path.join(folder, f"python-{name}.npy"), "wb") as file:
        file.write(b"\x93NUMPY\x02\x00" + struct.pack("<I", len(text)) + text + values)
header["__metadata__"] = {"format": "pt", "note": "größer"}
text = json.dumps(header, indent=1, sort_keys=True).encode()  # not in the order of the data
with open(os.path.join(folder, "python.safetensors"), "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data)
rows = pattern((2, 3), "f")
text = b"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }"
with open(os.path.join(folder, "python-fortran.npy"), "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text)
    file.write(struct.pack("<6f", *[rows[3 * r + c] for c in range(3) for r in range(2)]))
print(len(tensors), "tensors read,", len(MINE), "written")
