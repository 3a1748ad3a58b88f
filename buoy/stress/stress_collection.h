// Items whose passages come from a collection that changes between queries.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "buoy/stress/stress.h"

namespace buoy {

// The chosen items with the k passages that a real collection gives for their questions, in the order of
// `chosen`. The collection at `path` is made of all passages of the pool's items (equal ones are one
// document) or completed where a run was broken off. Then, item by item, one connection writes and another
// one, open all the while, reads:
//   as-is    all documents are there
//   added    the documents that say the answer were taken out and come back before the query
//   changed  in them the answer is replaced by another item's, which becomes the right answer
//   deleted  they are taken out; the right answers stay as they were
// Afterwards every document is as it was. What says the answer: the item's gold documents, and every document
// that bears the title of one of them and holds an answer. Gold are the item's own gold documents.
// Throws UsageError as stress_item does; Error as Collection does, and when the file holds other documents.
std::vector<QaItem> stress_collection(const StressPool& pool, std::span<const Index> chosen,
                                      const StressLevel& level, const StressOptions& options,
                                      const std::filesystem::path& path);

}  // namespace buoy
