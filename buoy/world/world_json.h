// Items and documents as JSON lines, made on many threads and always the same bytes.
#pragma once

#include <functional>
#include <string>

#include "buoy/world/world_item.h"

namespace buoy {

// One line without a newline, in the schema of docs/datasets.md.
std::string item_line(const WorldItem& item, const ItemSettings& settings);

// Receives text that ends with a newline; called in order, from the calling thread.
using TextSink = std::function<void(const std::string&)>;

// Items first .. first+count-1. Throws UsageError for settings that make no sense or counts below 0.
void write_items(const ItemSettings& settings, Index first, Index count, int threads, const TextSink& sink);

// Plain text for language modelling: documents of settings.passages paragraphs about settings.worlds, as
// lines
// {"id", "world", "text"}.
void write_documents(const ItemSettings& settings, Index first, Index count, int threads,
                     const TextSink& sink);

// The text of one such document.
std::string make_document(const World& known, const ItemSettings& settings, Index index);

}  // namespace buoy
