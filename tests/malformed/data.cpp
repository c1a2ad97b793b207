#include "fixture.hpp"

namespace {

// ---- IDX ----------------------------------------------------------------------------------------

TEST_F(Malformed, Idx) {
  const std::string labels = big({0x801, 2}) + "\x04\x09";
  const std::string images = big({0x803, 2, 1, 3}) + "\x01\x02\x03\x04\x05\x06";
  const std::string good_labels = write("labels", labels);
  const std::string good_images = write("images", images);
  const auto read_images = [&](const std::string& file) { data::read_idx(file, good_labels); };
  const auto read_labels = [&](const std::string& file) { data::read_idx(good_images, file); };
  const auto flipped = [](std::string bytes, std::size_t at) {
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
    return bytes;
  };
  const std::string whole = packed(images);
  refused(read_images, {
                           "",
                           "P",
                           "This is not an image but a letter.\n",
                           zeros(64),
                           labels,
                           images + "x",
                           big({0x804, 2, 1, 3, 1}) + zeros(6),
                           big({0x802, 2, 3}) + zeros(6),
                           big({0x903, 2, 1, 3}) + zeros(6),
                           big({0xd03, 2, 1, 3}) + zeros(24),
                           big({0x03080000, 2, 1, 3}) + zeros(6),
                           big({0x10000803, 2, 1, 3}) + zeros(6),
                           big({0x803, 1, 2, 3}) + zeros(6),
                           big({0x803, 3, 1, 2}) + zeros(6),
                           big({0x803, 0, 1, 3}),
                           big({0x803, 2, 1, 4}) + zeros(6),
                           big({0x803, 2, 0, 3}) + zeros(6),
                           big({0x803, 0x02000000, 1, 3}) + zeros(6),
                           big({0x803, 0xffffffff, 0xffffffff, 0xffffffff}) + zeros(6),
                           big({0x803, 0x80000000, 0x80000000, 4}),
                           big({0x803, 0, 0xffffffff, 0xffffffff}),
                           big({0x803, 0, 0x3d000800, 0xff00fdff}),
                           big({0x803, 2, 0xffffffff, 0xffffffff}) + zeros(6),
                           "\x1f\x8b",
                           "\x1f\x8b" + zeros(30),
                           packed(""),
                           packed(images + "x"),
                           packed(images.substr(0, 20)),
                           packed(big({0x803, 0x7fffffff, 1, 1}) + zeros(6)),
                           packed(zeros(50'000'000)),  // grows beyond measure
                           packed(big({0x803, 1, 1, 100}) + zeros(3'000'000)),  // a small bomb
                           whole + "x",
                           whole + zeros(8),
                           whole + whole,
                           whole + whole.substr(0, 12),
                           flipped(whole, 2),                 // the method
                           flipped(whole, 3),                 // the flags
                           flipped(whole, whole.size() - 1),  // the length
                           flipped(whole, whole.size() - 8),  // the checksum
                       });
  refused(read_labels, {
                           "",
                           "x",
                           zeros(64),
                           images,
                           labels + "x",
                           big({0x801, 2}) + "\x04\x0a",  // a label that is none
                           big({0x801, 2}) + "\xff\x09",
                           big({0x801, 0xffffffff}) + "\x04\x09",
                           big({0x801, 1}) + "\x04\x09",
                           big({0x801, 3}) + "\x04\x09",
                           big({0x801, 0x80000000}) + "\x04\x09",
                           big({0x801, 3}) + "\x04\x09\x01\x01",
                           big({0x800, 2}) + "\x04\x09",
                           big({0x802, 2, 1}) + "\x04\x09",
                           big({0xb01, 2}) + zeros(4),
                           big({0xc01, 2}) + zeros(8),
                           big({0xe01, 2}) + zeros(16),
                           big({0x01080000, 2}) + "\x04\x09",
                           big({0x901, 2}) + "\x04\x09",
                           big({0x1000801, 2}) + "\x04\x09",
                           packed(labels + "x"),
                           packed(""),
                           packed("x"),
                           packed(labels.substr(0, 9)),
                           packed(labels) + "x",
                           packed(labels).substr(0, 20),
                           flipped(packed(labels), 2),
                           flipped(packed(labels), 12),
                           "\x1f\x8b\x08",
                           "4,9\n",
                       });
  prefixes_refused(read_images, images);
  prefixes_refused(read_labels, labels);
  prefixes_refused(read_images, whole);
  others_refused(read_images);
  others_refused(read_labels);
}

// ---- CSV ----------------------------------------------------------------------------------------

TEST_F(Malformed, Csv) {
  const auto read = [](const std::string& file) { data::read_csv(file); };
  const auto read_named = [](const std::string& file) {
    data::read_csv(file, {.header = true, .label = "y"});
  };
  const std::string row = "1,2,0\n";
  const auto second = [&](const std::string& line) { return row + line + "\n"; };
  const std::string whole = packed(row);
  refused(read, {
                    "",
                    "\n\n \r\n",
                    "\xef\xbb\xbf",
                    "5\n6\n",
                    "x,y\n1,0\n",
                    "\x93NUMPY\x01,0\n",
                    zeros(100) + ",0\n",
                    zeros(3'000'000),  // no line at all
                    row + std::string(1'200'000, '7') + ",2,0\n",
                    second("1,2"),
                    second("1,2,0,4"),
                    second("1,2,"),
                    second(",,"),
                    second("1;2;0"),
                    second("1,two,0"),
                    second("1,2x,0"),
                    second("1,0x10,0"),
                    second("1,1 2,0"),
                    second("1,+-1,0"),
                    second("1,1e,0"),
                    second("1,.,0"),
                    second("1,nan,0"),
                    second("1,-inf,0"),
                    second("1,1e39,0"),
                    second("1,1e999,0"),
                    second("1,\"2,0"),
                    second("1,\"2\"\"3\",0"),
                    second("1,'2',0"),
                    second("\"1,2\",0"),
                    second("1,2,-1"),
                    second("1,2,0.5"),
                    second("1,2,1e18"),
                    second("1,2,1000000"),
                    second("1,2,nan"),
                    second("1,\xff,0"),
                    second("1,\x1b[31m,0"),
                    second("1,2\r1,2,0"),
                    second("\xef\xbb\xbf"
                           "1,2,0"),  // a byte order mark in the middle
                    row + "1,2",      // cut off
                    row + "1,2,",
                    row + "1,-,0",
                    packed("1,2\n3\n"),
                    packed(std::string(40'000'000, '\n')),  // grows beyond measure
                    whole + "x",
                    whole.substr(0, whole.size() - 1),
                });
  Strings named;
  for (const char* line : {"", "y", "a,b", "Y,a", "y,y,y", "\"y\";a"}) {
    for (const char* rest : {"", "\n", "\n1", "\n1,2,3,4", "\n-1,-1,-1"}) {
      named.push_back(line + std::string(rest));
    }
  }
  refused(read_named, named);
  others_refused(read);
  // What is unusual, but in order.
  EXPECT_EQ(data::read_csv(write("a", "\xef\xbb\xbf 1 ,\t\"2\"\t,0\r\n\r\n3,4e-2,1")).size(), 2);
  EXPECT_EQ(data::read_csv(write("a", "1,0\n")).classes, 1);
}

}  // namespace
