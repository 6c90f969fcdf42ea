#include "tools/import/crc32.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <random>
#include <string>

namespace traceagent::tools {
namespace {

std::uint32_t of_zlib(const std::string& text) {
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size()));
}

TEST(Crc32, IsThatOfZlibWhereverTheTextBeginsAndIsParted) {
  EXPECT_EQ(crc32(0, "123456789", 9), 0xCBF43926U);
  std::mt19937 random(3);
  std::string bytes(5000, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  for (std::size_t size = 0; size < 600; ++size) {
    const std::string text = bytes.substr(size % 17, size);
    EXPECT_EQ(crc32(0, text.data(), size), of_zlib(text)) << size;
  }
  for (std::size_t parted = 0; parted <= bytes.size(); parted += 37) {
    const std::uint32_t first = crc32(0, bytes.data(), parted);
    EXPECT_EQ(crc32(first, bytes.data() + parted, bytes.size() - parted), of_zlib(bytes)) << parted;
  }
}

}  // namespace
}  // namespace traceagent::tools
