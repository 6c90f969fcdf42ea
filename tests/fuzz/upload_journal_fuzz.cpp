// Any bytes as the queue of uploads, read as it grows, made shorter and read again: no crash, no
// file beside it, and the three know of the same files that wait.
#include <simdjson.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "agent/trace/queued_files.hpp"
#include "agent/trace/upload_journal.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/scratch.hpp"
#include "tools/upload/journal.hpp"
#include "tools/upload/kept_files.hpp"

namespace {

using namespace traceagent;
using tools::Journal;
using tools::Upload;

// A file that is queued again is uploaded once, whatever its id.
std::set<std::string> waiting(const Journal& journal) {
  std::set<std::string> files;
  for (const Upload& upload : journal.uploads()) {
    if (upload.is_pending() && !upload.is_replaced)
      files.insert(upload.file + '\n' + upload.target);
  }
  return files;
}

std::uint64_t done(const Journal& journal) {
  const auto& uploads = journal.uploads();
  const auto here = std::count_if(uploads.begin(), uploads.end(),
                                  [](const Upload& each) { return each.is_done; });
  return journal.earlier_done() + static_cast<std::uint64_t>(here);
}

// Two commands that begin with the same word are alike by name, and told apart by their order
// alone.
bool has_commands(const Journal& journal) {
  return std::any_of(journal.uploads().begin(), journal.uploads().end(),
                     [](const Upload& each) { return !each.words.empty(); });
}

void expect_same(const Journal& one, const Journal& other, const char* what) {
  if (!has_commands(one) && waiting(one) != waiting(other)) fuzz::fail(what);
}

void expect_lines_of_json(const std::string& path) {
  simdjson::dom::parser parser;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    simdjson::dom::element element;
    if (parser.parse(line).get(element) != simdjson::SUCCESS) fuzz::fail("no JSON: " + line);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Scratch scratch;
  scratch.clear();
  const std::string path = trace::journal_path(scratch.inside(), "host");
  std::filesystem::create_directory(trace::upload_folder(scratch.inside()));
  fuzz::Input input(data, size);
  // A form feed, which is in no journal, is where it ended at first.
  const std::string before(input.take_until('\f'));
  fuzz::write_file(path, before);
  Journal journal(scratch.inside(), path);
  fuzz::write_file(path, before + std::string(input.rest()));
  journal.read();
  expect_same(journal, Journal(scratch.inside(), path), "read in two pieces it is another");
  static_cast<void>(trace::pending_uploads(path));
  static_cast<void>(tools::files_to_remove(journal));

  const std::uint64_t done_before = done(journal);
  const std::size_t known = journal.uploads().size();
  journal.compact(0);
  const Journal shorter(scratch.inside(), path);
  expect_same(journal, shorter, "made shorter it is another");
  const bool is_shorter = shorter.uploads().size() < known;
  if (is_shorter) expect_lines_of_json(path);
  constexpr std::uint64_t most_counted = 1ull << 62;  // what a journal that was made up says
  if (done_before < most_counted && done(shorter) != done_before)
    fuzz::fail("uploads are forgotten");
  if (std::distance(std::filesystem::directory_iterator(trace::upload_folder(scratch.inside())),
                    {}) != 1)
    fuzz::fail("a file is left beside the journal");
  scratch.check();
  return 0;
}
