#include "buoy/corpus/postings.h"

#include <algorithm>
#include <limits>

#include "buoy/base/error.h"

namespace buoy {
namespace {

Index block_of(Index row) {
  return row / kBlockDocuments;
}

Index place_of(Index row) {
  return row % kBlockDocuments;
}

void append(std::string& bytes, Index value, Index width) {
  for (Index i = 0; i < width; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
}

Index width_for(Index most) {
  if (most <= std::numeric_limits<std::uint8_t>::max()) return 1;
  return most <= std::numeric_limits<std::uint16_t>::max() ? 2 : 4;
}

}  // namespace

PostingList::PostingList(std::string bytes, Index documents, std::string_view place)
    : bytes_(std::move(bytes)), size_(documents), width_(0) {
  if (size_ > 0 && size_ <= kBlockDocuments) width_ = std::ssize(bytes_) / size_ - 2;
  if ((width_ != 1 && width_ != 2 && width_ != 4) || std::ssize(bytes_) != size_ * (2 + width_))
    fail("{}: is damaged: a list of {} documents has {} bytes", place, documents, bytes_.size());
}

Index PostingList::times_at(Index wanted) const {
  Index low = 0, high = size_;
  while (low < high) {
    const Index middle = (low + high) / 2;
    if (place(middle) < wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < size_ && place(low) == wanted ? times(low) : 0;
}

PostingWriter::Words PostingWriter::words_of(std::string_view title, std::string_view text) const {
  Words words;
  for (const std::string_view field : {title, text}) {
    parser_.each(field, [&](std::string_view word) {
      const auto found = words.find(word);
      if (found == words.end()) {
        words.emplace(word, 1);
      } else {
        ++found->second;
      }
    });
  }
  return words;
}

std::vector<std::uint32_t>& PostingWriter::lengths(Index block) {
  const auto [found, is_new] = lengths_.try_emplace(block);
  if (is_new) {
    found->second.resize(static_cast<std::size_t>(kBlockDocuments));
    Statement row(database_, "SELECT words FROM lengths WHERE block = ?1");
    if (row.bind({block}).step()) {
      const std::string_view bytes = row.text(0);
      const std::size_t size = std::min(bytes.size(), found->second.size() * sizeof(std::uint32_t));
      if (size > 0) std::memcpy(found->second.data(), bytes.data(), size);
    }
  }
  return found->second;
}

void PostingWriter::add(Index row, std::string_view title, std::string_view text) {
  check(row >= 0, "documents have numbers from 0");
  Index length = 0;
  for (const auto& [word, times] : words_of(title, text)) {
    changes_[{word, block_of(row)}][place_of(row)] = times;
    length += times;
  }
  lengths(block_of(row))[static_cast<std::size_t>(place_of(row))] = static_cast<std::uint32_t>(length);
  ++documents_;
  words_ += length;
}

void PostingWriter::remove(Index row, std::string_view title, std::string_view text) {
  check(row >= 0, "documents have numbers from 0");
  Index length = 0;
  for (const auto& [word, times] : words_of(title, text)) {
    changes_[{word, block_of(row)}][place_of(row)] = 0;
    length += times;
  }
  lengths(block_of(row))[static_cast<std::size_t>(place_of(row))] = 0;
  --documents_;
  words_ -= length;
}

void PostingWriter::flush() {
  for (const auto& [where, changes] : changes_) write_list(where.first, where.second, changes);
  // Bound as text, which the statement makes bytes.
  Statement keep(database_,
                 "INSERT INTO lengths VALUES (?1, CAST(?2 AS BLOB)) ON CONFLICT DO UPDATE SET words = "
                 "excluded.words");
  for (const auto& [block, words] : lengths_) {
    const auto used = std::find_if(words.rbegin(), words.rend(), [](std::uint32_t n) { return n > 0; });
    const auto count = static_cast<std::size_t>(words.rend() - used);
    const std::string_view bytes(reinterpret_cast<const char*>(words.data()), count * sizeof(words[0]));
    keep.bind({block, bytes}).run();
  }
  Statement(database_, "UPDATE totals SET documents = documents + ?1, words = words + ?2")
      .bind({documents_, words_})
      .run();
  changes_.clear();
  lengths_.clear();
  documents_ = words_ = 0;
}

// The old list with the changes in their places.
void PostingWriter::write_list(const std::string& word, Index block, const std::map<Index, Index>& changes) {
  std::vector<std::pair<Index, Index>> made;  // place, times
  if (!find_) find_.emplace(database_, "SELECT documents, list FROM postings WHERE word = ?1 AND block = ?2");
  auto next = changes.begin();
  const auto take_before = [&](Index place) {
    for (; next != changes.end() && next->first < place; ++next) {
      if (next->second > 0) made.emplace_back(*next);
    }
  };
  if (find_->bind({word, block}).step()) {
    const PostingList old(std::string(find_->text(1)), find_->integer(0), database_.path().string());
    for (Index i = 0; i < old.size(); ++i) {
      take_before(old.place(i));
      if (next == changes.end() || next->first != old.place(i)) made.emplace_back(old.place(i), old.times(i));
    }
  }
  find_->reset();
  take_before(kBlockDocuments);
  if (made.empty()) {
    Statement(database_, "DELETE FROM postings WHERE word = ?1 AND block = ?2").bind({word, block}).run();
    return;
  }
  const std::vector<std::uint32_t>& words = lengths(block);
  Index most = 0, shortest = std::numeric_limits<Index>::max();
  for (const auto& [place, times] : made) {
    most = std::max(most, times);
    shortest = std::min(shortest, Index{words[static_cast<std::size_t>(place)]});
  }
  std::string list;
  for (const auto& [place, times] : made) append(list, place, 2);
  for (const auto& [place, times] : made) append(list, times, width_for(most));
  if (!keep_) {
    keep_.emplace(database_,
                  "INSERT INTO postings VALUES (?1, ?2, ?3, ?4, ?5, CAST(?6 AS BLOB)) ON CONFLICT DO UPDATE "
                  "SET documents = ?3, most = ?4, shortest = ?5, list = excluded.list");
  }
  keep_->bind({word, block, std::ssize(made), most, shortest, list}).run();
}

}  // namespace buoy
