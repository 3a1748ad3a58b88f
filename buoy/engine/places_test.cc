// Where models are found, and what they are called.
#include "buoy/engine/places.h"

#include <gtest/gtest.h>

#include "buoy/base/testing.h"
#include "buoy/engine/tracing_model.h"
#include "buoy/io/file.h"
#include "buoy/io/test_support.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

const Places kTree{.share = source_path("."), .hub_cache = {}};

// A cache as huggingface_hub lays it out, with two snapshots of one model.
class HubCache : public testing::Test {
 protected:
  HubCache() {
    for (const char* commit : {"1111", "2222"}) fs::create_directories(folder() / "snapshots" / commit);
    fs::create_directories(folder() / "refs");
  }
  fs::path folder() const { return directory_ / "models--GSAI-ML--LLaDA-8B-Base"; }

  TempDir directory_;
  Places places_{.share = {}, .hub_cache = directory_.path()};
};

TEST_F(HubCache, GivesTheSnapshotThatMainNamesUnderTheHubsName) {
  write_file_atomically(folder() / "refs" / "main", "2222\n");
  const FoundModel found = find_model("GSAI-ML/LLaDA-8B-Base", places_);
  EXPECT_EQ(found.directory, folder() / "snapshots" / "2222");
  EXPECT_EQ(found.name, "LLaDA-8B-Base");
}

TEST_F(HubCache, CallsASnapshotByItsHubNameWhereItIsGivenAsADirectory) {
  EXPECT_EQ(find_model((folder() / "snapshots" / "1111").string(), places_).name, "LLaDA-8B-Base");
}

TEST_F(HubCache, RefusesToGuessBetweenSnapshots) {
  const std::string message = error_of([&] { find_model("GSAI-ML/LLaDA-8B-Base", places_); });
  EXPECT_NE(message.find("holds 2 snapshots and refs/main names none of them"), message.npos) << message;
  fs::remove(folder() / "snapshots" / "1111");
  EXPECT_EQ(find_model("GSAI-ML/LLaDA-8B-Base", places_).directory, folder() / "snapshots" / "2222");
}

TEST_F(HubCache, IsNotLeftThroughARef) {
  fs::create_directories(directory_ / "elsewhere");
  write_file_atomically(folder() / "refs" / "main", "../../elsewhere");
  EXPECT_THROW(find_model("GSAI-ML/LLaDA-8B-Base", places_), Error);
}

TEST(FindModel, KnowsTheBundledOnesAndSaysWhatThereIs) {
  EXPECT_EQ(bundled_models(kTree),
            (std::vector<std::string>{"mini-arm", "mini-hybrid", "mini-mdm", "mini-ssm"}));
  EXPECT_EQ(find_model("mini-mdm", kTree).name, "mini-mdm");
  const std::string message = error_of([] { find_model("mini-mdn", kTree); });
  EXPECT_NE(message.find("no bundled model of that name (mini-arm, mini-hybrid, mini-mdm, mini-ssm)"),
            message.npos)
      << message;
  const std::string file = source_path("data/demo_prompt.txt").string();
  EXPECT_EQ(error_of([&] { find_model(file, kTree); }), file + ": is no directory, expected that of a model");
  const std::string alone = error_of([] { find_model("mini-mdm", {}); });
  EXPECT_NE(alone.find("no bundled models beside this program"), alone.npos) << alone;
}

TEST(PlacesBesideProgram, AreFoundFromTheBuildFolder) {
  EXPECT_EQ(bundled_models(places_beside_program()), bundled_models(kTree));
}

TEST(ChooseTemplate, GoesByWhatTheCheckpointSaysNotByWhereItLies) {
  const TempDir elsewhere;
  EXPECT_EQ(choose_template("auto", elsewhere.path()), "unified");
  fs::copy_file(source_path("models/mini-mdm/buoy.json"), elsewhere / "buoy.json");
  EXPECT_EQ(choose_template("auto", elsewhere.path()), "micro");
  EXPECT_EQ(choose_template("fewshot", elsewhere.path()), "fewshot");
  write_file_atomically(elsewhere / "buoy.json", "[]");
  EXPECT_THROW(choose_template("auto", elsewhere.path()), Error);
}

}  // namespace
}  // namespace buoy
