#include "tests/faults/rules.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace traceagent::faults {
namespace {

constexpr const char* names[] = {
#define FAULT(name, how, errors) #name,
#define DONE(name, how, errors) #name,
#define MEMORY(name, how, errors) #name,
#define CALL(name, how, errors) #name,
#define PURE(name)
#include "tests/faults/faults.def"
#undef FAULT
#undef DONE
#undef MEMORY
#undef CALL
#undef PURE
};

struct ErrorName {
  const char* name;
  int number;
};
constexpr ErrorName errors[] = {
    {"EACCES", EACCES},
    {"EAGAIN", EAGAIN},
    {"ECHILD", ECHILD},
    {"ECONNREFUSED", ECONNREFUSED},
    {"ECONNRESET", ECONNRESET},
    {"EFAULT", EFAULT},
    {"EINTR", EINTR},
    {"EINVAL", EINVAL},
    {"EIO", EIO},
    {"EMFILE", EMFILE},
    {"EMLINK", EMLINK},
    {"ENETUNREACH", ENETUNREACH},
    {"ENOBUFS", ENOBUFS},
    {"ENOENT", ENOENT},
    {"ENOLCK", ENOLCK},
    {"ENOMEM", ENOMEM},
    {"ENOSPC", ENOSPC},
    {"ENOSYS", ENOSYS},
    {"EOPNOTSUPP", EOPNOTSUPP},
    {"EPERM", EPERM},
    {"EPIPE", EPIPE},
    {"EROFS", EROFS},
    {"ESPIPE", ESPIPE},
    {"ESRCH", ESRCH},
};

struct ActionName {
  const char* name;
  Action action;
};
constexpr ActionName actions[] = {
    {"interrupted", Action::interrupt},
    {"short", Action::cut},
    {"end", Action::end},
    {"stop", Action::stop},
    {"kill", Action::kill},
    {"kill_after", Action::kill_after},
    {"kill_half", Action::kill_half},
};

bool is(const char* text, std::size_t length, const char* name) noexcept {
  return std::strlen(name) == length && std::memcmp(text, name, length) == 0;
}

[[noreturn]] void refuse(const char* rule) noexcept {
  constexpr char words[] = "faults: FAULTS cannot be read from here on: ";
  static_cast<void>(!write(2, words, sizeof words - 1));
  static_cast<void>(!write(2, rule, std::strlen(rule)));
  static_cast<void>(!write(2, "\n", 1));
  _exit(119);
}

void set_action(Rule& rule, const char* text, std::size_t length) noexcept {
  for (const ErrorName& error : errors) {
    if (!is(text, length, error.name)) continue;
    rule.action = Action::fail;
    rule.error = error.number;
  }
  for (const ActionName& action : actions) {
    if (is(text, length, action.name)) rule.action = action.action;
  }
}

Rule read_rule(const char* text, std::size_t length) noexcept {
  Rule rule;
  const char* end = text + length;
  const std::size_t name = std::strcspn(text, "@#=,");
  rule.function = find_function(text, name);
  if (rule.function == any_function && !is(text, name, "*")) refuse(text);
  char* next = const_cast<char*>(text + name);
  if (*next == '@') rule.offset = std::strtoull(next + 1, &next, 16);
  if (*next == '#') rule.from = std::strtoull(next + 1, &next, 10);
  rule.lasts = *next == '+';
  if (rule.lasts) ++next;
  if (*next != '=' || next >= end) refuse(text);
  set_action(rule, next + 1, static_cast<std::size_t>(end - next - 1));
  if (rule.action == Action::none) refuse(text);
  return rule;
}

}  // namespace

std::size_t find_function(const char* name, std::size_t length) noexcept {
  for (std::size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    if (is(name, length, names[i])) return i;
  }
  return any_function;
}

Rules read_rules(const char* text) noexcept {
  Rules rules;
  while (text != nullptr && *text != '\0') {
    const std::size_t length = std::strcspn(text, ",");
    if (rules.count == most_rules) refuse(text);
    rules.rules[rules.count++] = read_rule(text, length);
    text += length;
    if (*text == ',') ++text;
  }
  return rules;
}

}  // namespace traceagent::faults
