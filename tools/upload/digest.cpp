#include "tools/upload/digest.hpp"

#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

namespace traceagent::tools {

namespace {

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    if (!context_ || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1) {
      throw std::runtime_error("upload: libcrypto has no SHA-256");
    }
  }
  void add(const void* bytes, std::size_t size) { EVP_DigestUpdate(context_.get(), bytes, size); }
  std::string hexadecimal() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    EVP_DigestFinal_ex(context_.get(), digest.data(), &size);
    std::string text;
    for (unsigned i = 0; i < size; ++i) {
      constexpr char digits[] = "0123456789abcdef";
      text += digits[digest[i] >> 4];
      text += digits[digest[i] & 15];
    }
    return text;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

std::string sha256_of_file(int fd, std::uint64_t offset, std::uint64_t size) {
  Sha256 sum;
  std::vector<char> buffer(std::size_t{1} << 20);
  while (size > 0) {
    const std::size_t wanted = std::min<std::uint64_t>(size, buffer.size());
    const ssize_t got = pread(fd, buffer.data(), wanted, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      throw std::runtime_error(got == 0 ? "it was cut while it was read" : std::strerror(errno));
    }
    sum.add(buffer.data(), static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
    size -= static_cast<std::uint64_t>(got);
  }
  return sum.hexadecimal();
}

std::string sha256_of(std::string_view text) {
  Sha256 sum;
  sum.add(text.data(), text.size());
  return sum.hexadecimal();
}

}  // namespace traceagent::tools
