#include "fixture.hpp"

namespace {

// ---- safetensors --------------------------------------------------------------------------------

std::string tensors(const std::string& header, const std::string& data = zeros(8)) {
  return little(header.size(), 8) + header + data;
}
std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}
std::string w(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return tensors(R"({"w":)" + entry(dtype, shape, offsets) + "}");
}

TEST_F(Malformed, Safetensors) {
  const auto read = [](const std::string& file) { xg::load_safetensors(file); };
  const std::string f32 = R"("F32")";
  const std::string good = w(f32, "[2]", "[0,8]");
  const std::string one = entry(f32, "[1]", "[0,4]");
  const std::string two = entry(f32, "[1]", "[4,8]");
  const auto both = [&](const std::string& a, const std::string& b) { return tensors(a + b); };
  const auto repeated = [](const std::string& text, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += text;
    return out;
  };
  refused(read,
          {
              "",
              "This is not a model but a letter.\n",
              zeros(64),
              std::string(8, '\xff') + good.substr(8),
              zeros(8) + good.substr(8),
              little(good.size() - 7, 8) + good.substr(8),
              good + "x",
              good.substr(0, good.size() - 1),
              w(f32, "[2]", "[-8,0]"),
              w(f32, "[2]", "[8,0]"),
              w(f32, "[2]", "[8,16]"),
              w(f32, "[2]", "[0,800]"),
              w(f32, "[200]", "[0,800]"),
              w(f32, "[2]", "[0]"),
              w(f32, "[2]", "[0,8,8]"),
              w(f32, "[2]", "[0,1e1]"),
              w(f32, "[2]", "[0,18446744073709551615]"),
              w(f32, "[2]", "[0,18446744073709551624]"),
              w(f32, "[2]", R"(["0","8"])"),
              w(f32, "[2]", "null"),
              w(f32, "[2,1000000000000000000]", "[0,8]"),
              w(f32, "[4294967296,4294967296,4]", "[0,0]"),
              w(f32, "[0,9223372036854775807]", "[0,0]"),
              w(f32, "[-2]", "[0,8]"),
              w(f32, "[2.0]", "[0,8]"),
              w(f32, "[1e999]", "[0,8]"),
              w(f32, "[NaN]", "[0,8]"),
              w(f32, "[true]", "[0,8]"),
              w(f32, "[[2]]", "[0,8]"),
              w(f32, "2", "[0,8]"),
              w(f32, "[1,1,1,1,1,1,1,1,2]", "[0,8]"),
              w(f32, "[2" + repeated(",1", 50'000) + "]", "[0,8]"),
              w(R"("BF16")", "[4]", "[0,8]"),
              w(R"("f32")", "[2]", "[0,8]"),
              w("7", "[2]", "[0,8]"),
              w(R"("I64")", "[2]", "[0,8]"),
              tensors(R"({"w":)" + entry(R"("BOOL")", "[8]", "[0,8]") + "}", zeros(7) + "\x02"),
              tensors(R"({"w":{"dtype":"F32","shape":[2]}})"),
              tensors(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"more":1}})"),
              tensors(R"({"w":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}})"),
              tensors(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"shape":[2]}})"),
              tensors(R"({"w":{}})"),
              tensors(R"({"w":[0,8]})"),
              tensors(R"({"w":null})"),
              tensors("[1,2]"),
              tensors("7"),
              tensors(" " + good.substr(8, good.size() - 16)),
              tensors("\xef\xbb\xbf" + good.substr(8, good.size() - 16)),
              tensors("{}"),
              tensors(R"({"w":)"),
              tensors(R"({"w":)" + one + R"(,"v":)" + two + "} x"),
              tensors(R"({"w":)" + one + R"(,"v":)" + two + ",}"),
              both(R"({"w":)" + one, R"(,"v":)" + one + "}"),  // overlap
              both(R"({"w":)" + one, R"(,"w":)" + two + "}"),  // twice
              both(R"({"w":)" + one, "}"),                     // data of nobody
              both(R"({"w":)" + two, "}"),                     // a gap
              both(R"({"w":)" + one,
                   R"(,"v":)" + entry(f32, "[1]", "[3,7]") + "}"),  // partly overlapping
              tensors("{\"\xff\":" + entry(f32, "[2]", "[0,8]") + "}"),
              tensors("{\"\xed\xa0\x80\":" + entry(f32, "[2]", "[0,8]") + "}"),
              tensors(R"({"\ud800":)" + entry(f32, "[2]", "[0,8]") + "}"),
              tensors("{\"a\nb\":" + entry(f32, "[2]", "[0,8]") + "}"),
              tensors(R"({"__metadata__":{"format":1}})", ""),
              tensors(R"({"__metadata__":{"a":"1","a":"2"}})", ""),
              tensors(R"({"__metadata__":{"a":{"b":"c"}}})", ""),
              tensors(R"({"__metadata__":"pt"})", ""),
              tensors(R"({"__metadata__":["pt"]})", ""),
              tensors(R"({"__metadata__":{},"__metadata__":{}})", ""),
              tensors(R"({"__metadata__":{"crc32":"00000000"}})", ""),
              tensors(R"({"__metadata__":{"crc32":"0"}})", ""),
              tensors(std::string(100'000, '[')),
              tensors(R"({"w":)" + std::string(100'000, '[')),
              tensors(repeated(R"({"w":)", 20'000)),
              tensors(R"({"__metadata__":)" + repeated(R"({"w":)", 20'000)),
          });
  prefixes_refused(read, good);
  prefixes_refused(read, content(XGRAD_SOURCE_DIR "/tests/golden/state.safetensors"));
  xg::save_safetensors(path("own"), {{"x", xg::ones({2, 3})}, {"n", xg::tensor({true, false})}},
                       {{"note", "ü"}});
  const std::string own = content(path("own"));
  prefixes_refused(read, own);
  for (std::size_t at = 0; at < own.size(); ++at) {  // the checksum: no single bit may change
    std::string damaged = own;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    if (damaged.find(R"("crc32":")") == damaged.npos) continue;  // the name of the checksum
    const std::string file = write("damaged", damaged);
    refused([&] { read(file); }, file + ", offset ", "bit 2 of byte " + std::to_string(at));
  }
  others_refused(read);
}

// ---- npy ----------------------------------------------------------------------------------------

std::string npy(const std::string& header, const std::string& elements = zeros(24),
                int version = 1) {
  return "\x93NUMPY" + little(static_cast<std::uint64_t>(version), 2) +
         little(header.size(), version == 1 ? 2 : 4) + header + elements;
}
std::string dict(const std::string& descr, const std::string& order, const std::string& shape) {
  return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

TEST_F(Malformed, Npy) {
  const auto read = [](const std::string& file) { xg::load_npy(file); };
  const std::string f4 = "'<f4'";
  const auto shaped = [&](const std::string& shape) { return npy(dict(f4, "False", shape)); };
  const auto of = [](const std::string& descr) { return npy(dict(descr, "False", "(3,)")); };
  const std::string good = shaped("(2, 3)");
  refused(read,
          {
              "",
              "\x93NUMPY",
              "This is not an array but a letter.\n",
              zeros(64),
              "PK\x03\x04" + zeros(60),  // .npz
              good + "x",
              good.substr(0, good.size() - 1),
              std::string(good).replace(0, 1, "\x92"),
              std::string(good).replace(6, 2, zeros(2)),
              std::string(good).replace(6, 1, "\x04"),
              std::string(good).replace(7, 1, "\x01"),
              std::string(good).replace(8, 2, "\xff\xff"),
              std::string(good).replace(8, 2, zeros(2)),
              "\x93NUMPY" + little(2, 2) + little(0xffffffff, 4) + dict(f4, "False", "(2, 3)"),
              npy("", "", 2),
              npy("{}"),
              npy("{"),
              npy("{'descr': '<f4', 'shape': (2, 3)}"),
              npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'more': 1}"),
              npy("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}"),
              npy("{'descr': '<f4' 'fortran_order': False, 'shape': (2, 3)}"),
              npy("{'descr: '<f4', 'fortran_order': False, 'shape': (2, 3)}"),
              npy("{descr: '<f4', 'fortran_order': False, 'shape': (2, 3)}"),
              npy(dict(f4, "False", "(2, 3)") + "x"),
              npy(dict(f4, "False", "(2, 3)") + zeros(1)),
              npy("[" + dict(f4, "False", "(2, 3)") + "]"),
              npy(dict(f4, "0", "(2, 3)")),
              npy(dict(f4, "false", "(2, 3)")),
              npy(dict(f4, "", "(2, 3)")),
              of("'>f4'"),
              of("'<f2'"),
              of("'<f16'"),
              of("'<i4'"),
              of("'<u8'"),
              of("'<c8'"),
              of("'|O'"),
              of("'<U3'"),
              of("'f'"),
              of("''"),
              of("None"),
              of("[('a', '<f4'), ('b', '<i8')]"),
              of("'" + std::string(60'000, 'f') + "'"),
              shaped("(2, 3"),
              shaped("2, 3"),
              shaped("[2, 3]"),
              shaped("6"),
              shaped("(6)"),
              shaped("(2 3)"),
              shaped("(2,, 3)"),
              shaped("(,)"),
              shaped("(2, x)"),
              shaped("(-2, -3)"),
              shaped("(2.0, 3)"),
              shaped("(2, 3L)"),
              shaped("(True, 6)"),
              shaped("(1e1,)"),
              shaped("(2, 9223372036854775808)"),
              shaped("(4294967296, 4294967296)"),
              shaped("(0, 9223372036854775807)"),
              shaped("(2, 4)"),
              shaped("(2, 2)"),
              shaped("()"),
              shaped("(1, 1, 1, 1, 1, 1, 1, 2, 3)"),
              shaped("(1000000000000,)"),
              shaped(std::string(60'000, '(')),
              npy(dict("'|b1'", "False", "(2,)"), "\x01\x02"),
          });
  prefixes_refused(read, good);
  prefixes_refused(read, npy(dict("'|b1'", "True", "(2, 3)"), zeros(6), 2));
  prefixes_refused(read, npy(dict("'<i8'", "False", "()"), zeros(8), 3));
  prefixes_refused(read, npy(dict("'<f8'", "False", "(3, 0)"), ""));
  others_refused(read);
}

}  // namespace
