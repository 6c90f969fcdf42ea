#include "agent/drain/demangle.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "agent/drain/demangled_names.hpp"
#include "tests/unit/drain/crafted_ring.hpp"

namespace traceagent::drain {
namespace {

std::string reference(int number) {
  if (number == 0) return "S_";
  std::string digits;
  for (int rest = number - 1; rest > 0 || digits.empty(); rest /= 36) {
    const int digit = rest % 36;
    digits.insert(digits.begin(), static_cast<char>(digit < 10 ? '0' + digit : 'A' + digit - 10));
  }
  return "S" + digits + "_";
}

// f of functions, each of two parameters that are the function before: every one doubles the name.
std::string doubling_symbol(int times) {
  std::string symbol = "_Z1fPFvccE";
  for (int i = 1; i < times; ++i) {
    const std::string before = reference(2 * i - 1);
    symbol += "PFv" + before + before + "E";
  }
  return symbol;
}

// Address space in use.
std::size_t mapped_bytes() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::size_t>(getpagesize());
}

// What a child that may map only so much more writes; "died" where it does not end well.
std::string demangled_within(std::size_t bytes, const std::string& symbol) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    const rlimit limit{mapped_bytes() + bytes, mapped_bytes() + bytes};
    setrlimit(RLIMIT_AS, &limit);
    const std::string name = demangled(symbol.c_str()).substr(0, 4096);
    _exit(write(ends[1], name.data(), name.size()) == static_cast<ssize_t>(name.size()) ? 0 : 1);
  }
  close(ends[1]);
  char text[4096];
  const ssize_t size = read(ends[0], text, sizeof text);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 && size >= 0 ? std::string(text, static_cast<std::size_t>(size)) : "died";
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool counts_memory = false;  // a sanitizer maps terabytes
#else
constexpr bool counts_memory = true;
#endif

TEST(Demangle, WritesNamesAsPeopleReadThem) {
  EXPECT_EQ(demangled("_Z6squarePfi"), "square(float*, int)");
  EXPECT_EQ(
      demangled(
          "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIiEESt5arrayIPcLm"
          "1EEEEviT0_T1_"),
      "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>, "
      "std::array<char*, 1ul> >(int, at::native::FillFunctor<int>, std::array<char*, 1ul>)");
  EXPECT_EQ(demangled("_Z24ncclDevKernel_SendRecv_v24ncclDevKernelArgsStorageILm4096EE"),
            "ncclDevKernel_SendRecv_v(ncclDevKernelArgsStorage<4096ul>)");
}

// As CUTLASS's are: hundreds of references back, and no blow-up.
TEST(Demangle, WritesLongNamesOfTemplates) {
  std::string symbol = "_ZN7cutlass6KernelI";
  std::string name = "cutlass::Kernel<";
  for (int i = 0; i < 45; ++i) {
    const std::string tile = "Tile" + std::to_string(10 + i);
    symbol += "NS_6" + tile + "ILi128ES0_EE";
    name += (i == 0 ? "" : ", ") + std::string("cutlass::") + tile + "<128, cutlass::Kernel>";
  }
  EXPECT_LT(symbol.size(), 1024U);
  EXPECT_EQ(demangled((symbol + "E3runEPf").c_str()), name + " >::run(float*)");
}

TEST(Demangle, GivesNothingForWhatIsNoName) {
  for (const char* symbol : {"", "f", "_Z", "_Z9short", "_Z1fI", "square(float*)"}) {
    EXPECT_EQ(demangled(symbol), symbol == std::string("f") ? "float" : "") << symbol;
  }
}

TEST(Demangle, AHostileNameCostsNoMemory) {
  EXPECT_FALSE(demangled(doubling_symbol(8).c_str()).empty());
  for (const int times : {14, 20, 36, 60}) {
    const std::string symbol = doubling_symbol(times);
    EXPECT_EQ(demangled(symbol.c_str()), "") << symbol;
    if (!counts_memory) continue;
    EXPECT_EQ(demangled_within(1 << 20, symbol), "") << symbol;
  }
}

TEST(Demangle, AHostileNameCostsNoTime) {
  std::string conversions = "_Z";
  for (int i = 0; i < 60; ++i) conversions += "cvT_I";
  std::string pointers = "_Z";
  for (int i = 0; i < 60; ++i) pointers += "cvPT_I";
  for (const std::string& symbol : {conversions, pointers}) {
    EXPECT_EQ(demangled_within(1 << 30, symbol), "") << symbol;
  }
}

TEST(DemangledNames, ShowsTheSymbolWhereTheNameIsTooLong) {
  CraftedRing made;
  DemangledNames names(made.ring());
  const std::string hostile = doubling_symbol(30);
  EXPECT_EQ(names.name(made.ring().add_name("_Z3addPfi")), "add(float*, int)");
  EXPECT_EQ(names.name(made.ring().add_name(hostile)), hostile);
  EXPECT_EQ(names.name(made.ring().add_name("f")), "f");
  EXPECT_EQ(names.name(0), "");
}

// Each name of a hostile ring is under the bound: all together are not.
TEST(DemangledNames, HoldsABoundedSum) {
  CraftedRing made;
  const std::string symbol = doubling_symbol(8);
  const std::size_t bytes = demangled(symbol.c_str()).size();
  ASSERT_GT(bytes, 1000U);
  DemangledNames names(made.ring(), 20 * bytes);
  for (int i = 0; i < 30; ++i) {
    const std::string_view name = names.name(made.ring().add_name(symbol));
    EXPECT_EQ(name.size(), i < 20 ? bytes : symbol.size()) << i;
  }
}

}  // namespace
}  // namespace traceagent::drain
