#include "tools/plain_output.hpp"

namespace traceagent::tools {
namespace {

bool is_control(char c) noexcept {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f;
}

// U+0080 to U+009F in UTF-8: C2 80 to C2 9F. Terminals take U+009B for escape and bracket.
bool is_wide_control(char first, char second) noexcept {
  const auto byte = static_cast<unsigned char>(second);
  return static_cast<unsigned char>(first) == 0xc2 && byte >= 0x80 && byte <= 0x9f;
}

}  // namespace

std::string as_plain_text(std::string text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_control(text[i])) text[i] = '?';
    if (i + 1 < text.size() && is_wide_control(text[i], text[i + 1])) text.replace(i, 2, "??");
  }
  return text;
}

PlainOutput::~PlainOutput() {
  pass_on();
  stream_.rdbuf(real_);
}

PlainOutput::int_type PlainOutput::overflow(int_type character) {
  if (traits_type::eq_int_type(character, traits_type::eof())) return traits_type::not_eof(0);
  line_ += traits_type::to_char_type(character);
  if (line_.back() == '\n' && !pass_on()) return traits_type::eof();
  return character;
}

int PlainOutput::sync() { return pass_on() && real_->pubsync() == 0 ? 0 : -1; }

bool PlainOutput::pass_on() {
  const std::string text = as_plain_text(std::move(line_));
  line_.clear();
  const auto size = static_cast<std::streamsize>(text.size());
  return real_->sputn(text.data(), size) == size;
}

}  // namespace traceagent::tools
