#include "tools/import/pytorch_name.hpp"

#include <gtest/gtest.h>

namespace traceagent::tools {
namespace {

TEST(PyTorchNames, TellHostAndPid) {
  const auto name = pytorch_name("log/dgx-a_b.local_4711.1700000000123456789.pt.trace.json.gz");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->host, "dgx-a_b.local");
  EXPECT_EQ(name->pid, 4711);
  EXPECT_TRUE(pytorch_name("nodeA_11.5.pt.trace.json"));
}

TEST(PyTorchNames, OfOthersTellNothing) {
  for (const char* name : {"nodeA_11.pt.trace.json", "nodeA.5.pt.trace.json", "_11.5.pt.trace.json",
                           "nodeA_x.5.pt.trace.json", "nodeA_11.5.json",
                           "localhost_11.5.pt.trace.json", "nodeA_11.5.pt.trace.json/x",
                           ".pt.trace.json", "", "nodeA_99999999999999999999.5.pt.trace.json"}) {
    EXPECT_FALSE(pytorch_name(name)) << name;
  }
}

}  // namespace
}  // namespace traceagent::tools
