// Tells checkpoints apart: a hash of a model's config and weights, and one of its tokenizer's files.
#pragma once

#include <filesystem>
#include <string>

#include "buoy/io/safetensors.h"

namespace buoy {

// Of config.json and of every tensor's name, type, shape and contents. Of a tensor above 1 MiB only sixteen
// blocks are read, so that a model of many gigabytes is told apart from its fine-tuned sibling in a moment.
// Throws Error.
std::string fingerprint_model(const std::filesystem::path& directory, const Checkpoint& checkpoint);

// Of the tokenizer's files that are there, the chat template among them; empty when there are none.
std::string fingerprint_tokenizer(const std::filesystem::path& directory);

// Of a whole file, whatever it holds. Throws Error.
std::string fingerprint_file(const std::filesystem::path& path);

}  // namespace buoy
