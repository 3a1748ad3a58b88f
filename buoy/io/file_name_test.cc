#include "buoy/io/file_name.h"

#include <set>

#include <gtest/gtest.h>

namespace buoy {
namespace {

TEST(FileName, PlainIdsStayAsTheyAre) {
  for (const char* id : {"mini-mdm-q1", "5ae_7.b", "A"}) EXPECT_EQ(file_name_of(id), id);
}

TEST(FileName, IdsThatDifferGiveNamesThatDiffer) {
  const std::string once = file_name_of("q/1");
  std::set<std::string> names;
  const std::string ids[] = {"東京",
                             "京都",
                             "q/1",
                             "q_1",
                             "q 1",
                             once,
                             file_name_of(once),
                             "",
                             ".",
                             "..",
                             "_",
                             "__",
                             std::string(300, 'a'),
                             std::string(301, 'a'),
                             std::string("q\0"
                                         "1",
                                         3)};
  for (const std::string& id : ids) EXPECT_TRUE(names.insert(file_name_of(id)).second) << id;
}

TEST(FileName, NoIdLeavesItsFolder) {
  for (const std::string id :
       {"../../escaped", "/etc/passwd", "..", ".", "", ".hidden", "a\nb", "-", "\xFF"}) {
    const std::string name = file_name_of(id);
    EXPECT_FALSE(name.empty() || name.front() == '.' || name.size() > 200) << id;
    EXPECT_EQ(name.find_first_of("/\\\n "), name.npos) << id;
  }
}

}  // namespace
}  // namespace buoy
