// Where models and data lie: what comes with Buoy, and the local cache of the Hugging Face Hub.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace buoy {

// Plain data; empty paths are places that there are not.
struct Places {
  std::filesystem::path share;      // holds models/ and data/ that come with Buoy
  std::filesystem::path hub_cache;  // holds models--ORG--NAME/snapshots/COMMIT
};

// What lies beside this program or library, wherever it was moved to: share/buoy in its own folder or in one
// of the three above it. The Hub's cache is left empty: libraries do not read the environment.
Places places_beside_program();

// A checkpoint and what to call it.
struct FoundModel {
  std::filesystem::path directory;
  std::string name;  // "mini-mdm", "LLaDA-8B-Instruct": never a snapshot's commit
};

// A directory as given, a bundled model by name, or a Hub name ("GSAI-ML/LLaDA-8B-Instruct") in the local
// cache: the snapshot that its refs/main names, else the only one. A directory inside such a cache is called
// by its Hub name too. Throws Error saying what was looked for where.
FoundModel find_model(const std::string& model, const Places& places);

// The bundled models' names, sorted.
std::vector<std::string> bundled_models(const Places& places);

// A file of the bundled data. Throws Error when it is not there.
std::filesystem::path bundled_data(const Places& places, const std::string& name);

}  // namespace buoy
