// The shuffled twin of a checkpoint: the same numbers in every matrix, in another order. What a trained model
// shows and its twin shows too was not learned.
#pragma once

#include <cstdint>
#include <filesystem>

namespace buoy {

// Writes an ordinary checkpoint at `output`: the entries of every tensor with two dimensions or more permuted
// within that tensor, by `seed` and the tensor's place in the order of names alone, so that every machine
// writes the same bytes; vectors (norms, biases) as they are. One file, whatever the shards of the original.
// Config, tokenizer and buoy.json are copied. Holds one tensor in memory at a time; the directory appears
// when it is complete. Throws Error when there is something at `output` already, for what is no checkpoint,
// and when writing fails.
void shuffle_model(const std::filesystem::path& directory, std::uint64_t seed,
                   const std::filesystem::path& output);

}  // namespace buoy
