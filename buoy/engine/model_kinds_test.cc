// Which models belong together, and every way in which that can be said wrongly.
#include "buoy/engine/model_kinds.h"

#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/model/random_model.h"

namespace buoy {
namespace {

std::vector<NamedModel> four_models() {
  std::vector<NamedModel> models;
  for (const char* name : {"m1", "m2", "m3"})
    models.push_back({name, std::string("seeds/") + name, "", make_shape("mini")});
  models.push_back({"a1", "a1", "", make_shape("llama-8b")});
  return models;
}

std::string kinds_error(const std::vector<ModelKind>& kinds) {
  try {
    named_kinds(kinds, four_models());
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

TEST(ModelKinds, AreNamedHoweverTheirModelsWereGiven) {
  const std::vector<ModelKind> kinds =
      named_kinds(std::vector<ModelKind>{{"mdm", {"seeds/m1", "m2"}}}, four_models());
  ASSERT_EQ(kinds.size(), 1U);
  EXPECT_EQ(kinds[0].models, (std::vector<std::string>{"m1", "m2"}));
  const StudySettings settings{.kinds = kinds};
  EXPECT_EQ(kind_of(settings, "m2"), "mdm");
  EXPECT_EQ(kind_of(settings, "m3"), "");
}

TEST(ModelKinds, WrongOnesAreRefusedByName) {
  EXPECT_EQ(kinds_error({{"mdm", {"m1", "m9"}}}), "kind mdm: \"m9\" is not one of the models m1, m2, m3, a1");
  EXPECT_EQ(kinds_error({{"mdm", {"m1", "m2"}}, {"other", {"m2"}}}), "kind: m2 belongs to 2, expected one");
  EXPECT_EQ(
      kinds_error({{"mdm", {"m1", "a1"}}}),
      "kind mdm: m1 is masked diffusion and a1 is autoregressive; models of one kind write the same way");
  EXPECT_EQ(kinds_error({{"a1", {"m1", "m2"}}}), "kind a1: a model that is not of it has this name");
  EXPECT_EQ(kinds_error({{"mdm", {"m1"}}, {"mdm", {"m2"}}}), "kind mdm: is given twice");
  EXPECT_EQ(kinds_error({{"mdm", {}}}), "kind \"mdm\" of 0 models, expected a name and at least one");
  EXPECT_EQ(kinds_error({{"m1", {"m1", "m2"}}}), "") << "a kind may be called as one of its models";
}

TEST(ModelKinds, CountAsOneOfTheSixThatFiguresTellApart) {
  std::vector<NamedModel> many;
  for (int i = 0; i < 8; ++i) many.push_back({"m" + std::to_string(i), "", "", make_shape("mini")});
  EXPECT_THROW(named_kinds({}, many), UsageError);
  EXPECT_NO_THROW(named_kinds(std::vector<ModelKind>{{"kind", {"m0", "m1", "m2"}}}, many));
}

}  // namespace
}  // namespace buoy
