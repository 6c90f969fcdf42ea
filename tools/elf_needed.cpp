#include "tools/elf_needed.hpp"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

namespace traceagent::tools {

namespace {

// A copy of the structure at `offset`, or nothing when the file ends before.
template <typename Structure>
std::optional<Structure> at(std::string_view bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(Structure)) {
    return std::nullopt;
  }
  Structure copy;
  std::memcpy(&copy, bytes.data() + offset, sizeof copy);
  return copy;
}

class Image {
 public:
  explicit Image(std::string_view bytes) : bytes_(bytes) {}

  bool read() {
    const auto header = at<Elf64_Ehdr>(bytes_, 0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64) {
      return false;
    }
    for (unsigned i = 0; i < header->e_phnum; ++i) {
      const auto segment = at<Elf64_Phdr>(bytes_, header->e_phoff + i * sizeof(Elf64_Phdr));
      if (!segment) {
        return false;
      }
      if (segment->p_type == PT_LOAD) {
        loads_.push_back(*segment);
      } else if (segment->p_type == PT_DYNAMIC) {
        dynamic_ = *segment;
      }
    }
    return dynamic_.p_type == PT_DYNAMIC;
  }

  [[nodiscard]] std::vector<std::string> needed() const {
    std::vector<std::uint64_t> names;
    std::uint64_t strings = 0;
    for (std::uint64_t at_byte = 0; at_byte < dynamic_.p_filesz; at_byte += sizeof(Elf64_Dyn)) {
      const auto entry = at<Elf64_Dyn>(bytes_, dynamic_.p_offset + at_byte);
      if (!entry || entry->d_tag == DT_NULL) {
        break;
      }
      if (entry->d_tag == DT_NEEDED) {
        names.push_back(entry->d_un.d_val);
      } else if (entry->d_tag == DT_STRTAB) {
        strings = file_offset(entry->d_un.d_ptr);
      }
    }
    std::vector<std::string> result;
    for (const std::uint64_t name : names) {
      result.push_back(text(strings + name));
    }
    return result;
  }

 private:
  [[nodiscard]] std::uint64_t file_offset(std::uint64_t address) const {
    for (const Elf64_Phdr& load : loads_) {
      if (address >= load.p_vaddr && address - load.p_vaddr < load.p_filesz) {
        return address - load.p_vaddr + load.p_offset;
      }
    }
    return bytes_.size();
  }
  [[nodiscard]] std::string text(std::uint64_t offset) const {
    if (offset >= bytes_.size()) {
      return "?";
    }
    const std::string_view rest = bytes_.substr(offset);
    return std::string(rest.substr(0, rest.find('\0')));
  }

  std::string_view bytes_;
  std::vector<Elf64_Phdr> loads_;
  Elf64_Phdr dynamic_{};
};

}  // namespace

std::optional<std::vector<std::string>> elf_needed(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  Image image(bytes);
  if (!image.read()) {
    return std::nullopt;
  }
  return image.needed();
}

}  // namespace traceagent::tools
