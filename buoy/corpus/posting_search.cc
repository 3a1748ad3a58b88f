#include "buoy/corpus/posting_search.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "buoy/base/error.h"

namespace buoy {
namespace {

// BM25 as Lucene has it: a word counts something however many documents hold it, which matters where there
// are few.
constexpr double kK1 = 1.2, kB = 0.75;

double saturate(double times, double weight) {
  return times * (kK1 + 1.0) / (times + weight);
}

// Lists are kept between questions up to this much.
constexpr Index kMostKept = Index{256} << 20;

// Of documents, words and places: far beyond any collection, far below what overflows.
constexpr Index kMostTogether = Index{1} << 48;

// Sums of the same numbers in another order differ by less.
constexpr double kSlack = 1e-12;

// The k-th largest, or the least where there are fewer.
double kth_score(std::vector<RankedRow>& rows, Index k) {
  const auto last = rows.begin() + (std::min(k, std::ssize(rows)) - 1);
  std::ranges::nth_element(rows, last, std::ranges::greater{}, &RankedRow::score);
  return last->score;
}

}  // namespace

PostingSearch::PostingSearch(const Database& database) : database_(&database) {
  Statement totals(*database_, "SELECT documents, words FROM totals");
  if (!totals.step()) fail("{}: is damaged: it has no totals", database_->path().string());
  const Index documents = totals.integer(0), words = totals.integer(1);
  if (documents < 0 || documents > kMostTogether || words < 0 || words > kMostTogether) {
    fail("{}: is damaged: its totals are {} documents of {} words", database_->path().string(), documents,
         words);
  }
  documents_ = static_cast<double>(documents);
  mean_words_ = static_cast<double>(words) / documents_;
  Statement rows(*database_, "SELECT block, words FROM lengths");
  while (rows.step()) {
    const std::string_view bytes = rows.text(1);
    std::vector<std::uint32_t> lengths(
        std::min(bytes.size() / sizeof(std::uint32_t), static_cast<std::size_t>(kBlockDocuments)));
    if (!lengths.empty()) std::memcpy(lengths.data(), bytes.data(), lengths.size() * sizeof(std::uint32_t));
    std::vector<double>& weights = weights_[rows.integer(0)];
    for (const std::uint32_t length : lengths) {
      weights.push_back(kK1 * (1 - kB + kB * static_cast<double>(length) / mean_words_));
    }
  }
}

double PostingSearch::idf(Index documents) const {
  const auto n = static_cast<double>(documents);
  return std::log1p((documents_ - n + 0.5) / (n + 0.5));
}

PostingSearch::Word& PostingSearch::find(const std::string& word) {
  const auto [found, is_new] = words_.try_emplace(word);
  if (!is_new) return found->second;
  found->second.text = word;
  Statement rows(*database_, "SELECT block, documents, most, shortest FROM postings WHERE word = ?1");
  rows.bind({word});
  while (rows.step()) {
    const Block block{.number = rows.integer(0),
                      .documents = rows.integer(1),
                      .most = rows.integer(2),
                      .shortest = rows.integer(3)};
    if (block.number < 0 || block.number > kMostTogether / kBlockDocuments ||
        !weights_.contains(block.number))
      fail("{}: is damaged: block {} has no lengths", database_->path().string(), block.number);
    const bool counted = block.documents >= 1 && block.documents <= kBlockDocuments && block.most >= 1 &&
                         block.most <= kMostTogether && block.shortest >= 0 &&
                         block.shortest <= kMostTogether;
    if (!counted) fail("{}: is damaged: the counts of a word are not", database_->path().string());
    found->second.documents += block.documents;
    found->second.blocks.push_back(block);
  }
  if (static_cast<double>(found->second.documents) > documents_)
    fail("{}: is damaged: a word is in more documents than there are", database_->path().string());
  return found->second;
}

const PostingList& PostingSearch::list(const Word& word, Block& block) {
  if (!block.list) {
    Statement row(*database_, "SELECT list FROM postings WHERE word = ?1 AND block = ?2");
    if (!row.bind({word.text, block.number}).step())
      fail("{}: is damaged: a list is gone", database_->path().string());
    block.list.emplace(std::string(row.text(0)), block.documents, database_->path().string());
    kept_bytes_ += std::ssize(row.text(0));
  }
  return *block.list;
}

// One block of documents: sums over the words that can bring a document among the best by themselves, then
// the others for the few that are still in question.
class PostingSearch::BlockSearch {
 public:
  struct Term {
    Word* word;
    Block* block;
    double idf, bound;  // no document of the block gets more of it
  };

  BlockSearch(PostingSearch& search, Index number, std::vector<Term> by_rarity)
      : search_(search), number_(number), weights_(search.weights_.at(number)), terms_(std::move(by_rarity)) {
    for (const Term& term : terms_) by_bound_.push_back(&term);
    std::ranges::stable_sort(by_bound_, std::ranges::greater{}, &Term::bound);
    rest_.resize(terms_.size() + 1);
    for (std::size_t i = terms_.size(); i-- > 0;) rest_[i] = rest_[i + 1] + by_bound_[i]->bound;
  }

  // Rows with scores of at least `least`, and of as much as the best `top` of this block.
  std::vector<RankedRow> run(double least, Index top) {
    least_ = least;
    if (!reaches(rest_[0])) return {};
    std::size_t needed = 0;
    while (needed < terms_.size() && reaches(rest_[needed])) ++needed;
    std::vector<RankedRow> rows = sum_up(needed);
    for (std::size_t i = needed; i < terms_.size() && !rows.empty(); ++i) {
      narrow(rows, rest_[i], top);
      for (RankedRow& row : rows) row.score += share(*by_bound_[i], row.row);
    }
    narrow(rows, 0, top);
    // The same order of additions for all: what ties must tie to the bit.
    for (RankedRow& row : rows) {
      row.score = 0;
      for (const Term& term : terms_) row.score += share(term, row.row);
      row.row += number_ * kBlockDocuments;
    }
    return rows;
  }

 private:
  bool reaches(double score) const { return score * (1 + kSlack) >= least_; }

  double share(const Term& term, Index place) const {
    const Index times = search_.list(*term.word, *term.block).times_at(place);
    if (times == 0) return 0;
    return term.idf * saturate(static_cast<double>(times), weights_[static_cast<std::size_t>(place)]);
  }

  // Every document that holds one of the first `needed` words, if it can still reach `least_`.
  std::vector<RankedRow> sum_up(std::size_t needed) {
    std::vector<double>& sums = search_.sums_;
    sums.assign(weights_.size(), 0.0);
    for (std::size_t t = 0; t < needed; ++t) {
      const Term& term = *by_bound_[t];
      const PostingList& list = search_.list(*term.word, *term.block);
      for (Index i = 0; i < list.size(); ++i) {
        const auto place = static_cast<std::size_t>(list.place(i));
        if (place >= sums.size())
          fail("{}: is damaged: a list names a document without length", search_.database_->path().string());
        sums[place] += term.idf * saturate(static_cast<double>(list.times(i)), weights_[place]);
      }
    }
    std::vector<RankedRow> rows;
    for (std::size_t place = 0; place < sums.size(); ++place) {
      if (sums[place] > 0 && reaches(sums[place] + rest_[needed]))
        rows.push_back({sums[place], static_cast<Index>(place)});
    }
    return rows;
  }

  // What is summed up so far is a least: the best `top` of these bring the others down.
  void narrow(std::vector<RankedRow>& rows, double rest, Index top) {
    if (std::ssize(rows) > top) least_ = std::max(least_, kth_score(rows, top) * (1 - kSlack));
    std::erase_if(rows, [&](const RankedRow& row) { return !reaches(row.score + rest); });
  }

  PostingSearch& search_;
  Index number_;
  const std::vector<double>& weights_;
  std::vector<Term> terms_;  // by rarity
  std::vector<const Term*> by_bound_;
  std::vector<double> rest_;  // bounds from each on, added up
  double least_ = 0;
};

std::vector<RankedRow> PostingSearch::best(const Database& database, std::span<const std::string> texts,
                                           Index top) {
  database_ = &database;
  if (kept_bytes_ > kMostKept) {
    words_.clear();
    kept_bytes_ = 0;
  }
  std::vector<Word*> words;
  for (const std::string& text : texts) {
    if (Word& word = find(text); word.documents > 0) words.push_back(&word);
  }
  std::ranges::stable_sort(words, {}, [](const Word* word) { return word->documents; });
  std::map<Index, std::vector<BlockSearch::Term>> blocks;
  for (Word* word : words) {
    const double weight = idf(word->documents);
    for (Block& block : word->blocks) {
      const double length = kK1 * (1 - kB + kB * static_cast<double>(block.shortest) / mean_words_);
      blocks[block.number].push_back(
          {word, &block, weight, weight * saturate(static_cast<double>(block.most), length)});
    }
  }
  std::vector<RankedRow> found;
  double least = 0;
  for (auto& [number, terms] : blocks) {
    const std::vector<RankedRow> more = BlockSearch(*this, number, std::move(terms)).run(least, top);
    found.insert(found.end(), more.begin(), more.end());
    if (std::ssize(found) < top) continue;
    least = kth_score(found, top);
    std::erase_if(found, [&](const RankedRow& row) { return row.score < least; });
  }
  return found;
}

}  // namespace buoy
