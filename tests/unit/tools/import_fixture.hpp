#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "agent/trace/json_scan.hpp"
#include "agent/trace/merge.hpp"
#include "tests/unit/trace/sample_trace.hpp"
#include "tests/unit/trace/scratch_folder.hpp"
#include "tools/import/import.hpp"

namespace traceagent::tools {

namespace fs = std::filesystem;

inline std::string event(std::int64_t ts, const std::string& more = "") {
  return R"({"ph":"X","pid":1,"tid":1,"name":"e","dur":1,"ts":)" + std::to_string(ts) + more + "}";
}

// As another program saves it again.
inline std::string saved_again(const std::string& path) {
  std::string text = trace::read_whole(path);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

class ImportTest : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) {
    trace::write_whole(folder_ / name, text);
    return folder_ / name;
  }
  // What the import says, and what the merge makes of it.
  std::vector<ImportedFile> import(const std::vector<std::string>& files,
                                   ImportOptions options = {}) {
    options.folder = folder_.path().string();
    const ImportedTraces imported(files, options);
    EXPECT_EQ(imported.problem(), "");
    std::vector<std::string> paths = imported.paths();
    for (const std::string& own : options.own_files) {
      if (!imported.replaced().contains(own)) paths.push_back(own);
    }
    merged_ = trace::merge(paths, folder_ / "merged", {});
    read_ = trace::read_trace(folder_ / "merged");
    return imported.files();
  }

  // Of the merged file's first.
  [[nodiscard]] std::string imported_metadata() const {
    std::string imported;
    trace::for_each_element(trace::member(read_.footer.metadata, "merged").value_or(""),
                            [&](std::string_view about) {
                              if (imported.empty())
                                imported = trace::member(about, "imported").value_or("");
                            });
    return imported;
  }

  trace::ScratchFolder folder_;
  trace::MergeReport merged_;
  trace::ReadTrace read_;
};

}  // namespace traceagent::tools
