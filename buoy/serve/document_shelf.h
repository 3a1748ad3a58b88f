// Collections that visitors fill and ask: each a log of events, which is the truth, and an index made of it.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "buoy/corpus/collection.h"
#include "buoy/io/json_fwd.h"

namespace buoy {

// A document as it stands.
struct LiveDocument {
  std::string title, text;
  Index version = 1;
};

// A line is on disk before anyone is told so: what was answered survives kill -9 and a power cut. The log is
// a stream that buoy replay reads (docs/replay.md). Any thread.
class LiveCollection {
 public:
  // Opens NAME.jsonl and NAME.db beside it. A last line that was cut off is dropped: nobody was told of it.
  // An index that is not what the log says is made again. Throws Error for a log that is none.
  explicit LiveCollection(const std::filesystem::path& log);
  ~LiveCollection();
  LiveCollection(const LiveCollection&) = delete;
  LiveCollection& operator=(const LiveCollection&) = delete;

  // Adds a document or changes it; where nothing is new nothing is logged. Returns its version. Throws
  // UsageError for an empty id or text.
  Index put(const std::string& id, const std::string& title, const std::string& text);
  // False: it is not there.
  bool remove(const std::string& id);
  std::optional<LiveDocument> get(const std::string& id) const;
  std::map<std::string, LiveDocument> all() const;
  Index questions() const;

  // Logs a question and gives the documents that fit it best, as they stand.
  struct Asked {
    std::string id;  // of the question
    struct Passage {
      std::string id;
      LiveDocument document;
      double score = 0;
    };
    std::vector<Passage> passages;
  };
  Asked ask(const std::string& question, Index top);

  std::string log() const;  // the file as it is

 private:
  void recover();
  void apply(const Json& event);
  void make_index();
  bool index_agrees() const;
  void append(Json event);

  std::filesystem::path path_;
  int file_ = -1;
  mutable std::mutex mutex_;
  std::map<std::string, LiveDocument> documents_;
  std::map<std::string, Index> versions_;  // the newest of every document that ever was there
  Index questions_ = 0;
  double time_ = 0;  // of the last event
  std::unique_ptr<Collection> index_;
};

class DocumentShelf {
 public:
  // Opens those that lie in the folder, which need not be there yet.
  explicit DocumentShelf(const std::filesystem::path& folder);

  std::vector<std::string> names() const;
  // Throws HttpError 404.
  LiveCollection& find(const std::string& name);
  // Throws HttpError 400 for a name that is none (a-z, 0-9, "-" and "_", at most 64) and 409 for one that is
  // taken.
  LiveCollection& make(const std::string& name);

 private:
  std::filesystem::path folder_;
  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<LiveCollection>> collections_;
};

}  // namespace buoy
