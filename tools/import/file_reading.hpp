#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tools/import/document_scan.hpp"
#include "tools/import/event_lines.hpp"
#include "tools/import/file_facts.hpp"

namespace traceagent::tools {

// One reading of a foreign file, from its first event to its last.
struct FileReading {
  DocumentScan scan;
  FileFacts facts;
  EventLines lines;
  bool is_damaged = false;

  FileReading(const std::string& path, const EventOwner& owner, ForeignPids& pids,
              const std::optional<EventTimes>& times)
      : lines(owner, pids, times) {
    is_open_ = scan.open(path, [this](std::string_view key, std::string_view value) {
      facts.add_member(key, value);
    });
  }
  FileReading(const FileReading&) = delete;
  FileReading& operator=(const FileReading&) = delete;

  // False: scan.problem() says why.
  [[nodiscard]] bool is_open() const { return is_open_; }

  // Gives `add` each event, until `goes_on`, whom the file's bytes are told that were read since,
  // says false.
  template <typename Add>
  void run(const Add& add, const std::function<bool(std::uint64_t)>& goes_on) {
    std::uint64_t told = 0;
    for (bool is_wanted = is_open_; is_wanted;) {
      const DocumentScan::Item item = scan.next();
      if (item == DocumentScan::Item::end) break;
      if (item == DocumentScan::Item::event) {
        lines.counts().repaired += scan.was_repaired() ? 1 : 0;
        const std::uint64_t metadata_events = lines.counts().metadata_events;
        add(scan.event());
        const bool is_metadata = lines.counts().metadata_events > metadata_events;
        if (is_metadata || !facts.first_events().are_all()) facts.add_event(scan.event());
      } else {
        drop(item);
      }
      if (scan.file_bytes_read() != told) {
        is_wanted = goes_on(scan.file_bytes_read() - told);
        told = scan.file_bytes_read();
      }
    }
    // What damaged gzip data lets through is not as many events as were written there.
    if (lines.counts().dropped.contains("damaged_gzip_places")) {
      lines.counts().dropped.erase("not_json");
      lines.counts().dropped.erase("not_an_object");
    }
  }

 private:
  void drop(DocumentScan::Item item) {
    is_damaged = is_damaged || item != DocumentScan::Item::not_an_object;
    lines.drop(cause_of(item));
  }

  // Causes in "_places" count places: how many events stood there is not known.
  static const char* cause_of(DocumentScan::Item item) {
    switch (item) {
      case DocumentScan::Item::not_an_object:
        return "not_an_object";
      case DocumentScan::Item::too_long:
        return "too_long";
      case DocumentScan::Item::too_deep:
        return "too_deep";
      case DocumentScan::Item::damaged_gzip:
        return "damaged_gzip_places";
      case DocumentScan::Item::hole:
        return "zeroed_places";
      default:
        return "not_json";
    }
  }

  bool is_open_ = false;
};

}  // namespace traceagent::tools
