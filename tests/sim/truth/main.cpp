#include <CLI/CLI.hpp>
#include <iostream>
#include <string>
#include <vector>

#include "tests/sim/truth/printer.hpp"
#include "tests/sim/truth/reader.hpp"

int main(int argc, char** argv) {
  CLI::App app("Prints what the simulated GPU did: truth files as JSON lines, sorted by begin.");
  app.footer(
      "Examples:\n"
      "  SIMGPU_TRUTH=/tmp/{pid}.truth LD_LIBRARY_PATH=build/sim/lib:build/sim/cupti ./program\n"
      "  simgpu-truth /tmp/*.truth > truth.jsonl");
  std::vector<std::string> files;
  app.add_option("FILE", files, "truth files of one run")->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& problem) {
    app.exit(problem);
    return 2;
  }
  try {
    std::vector<simgpu::Line> lines;
    for (const std::string& file : files) {
      simgpu::read_truth(file, lines);
    }
    simgpu::print_lines(std::move(lines), std::cout);
  } catch (const std::exception& problem) {
    std::cerr << "simgpu-truth: " << problem.what() << "\n";
    return 1;
  }
  return 0;
}
