// Tables as CSV text (RFC 4180, lines end in \n), for whatever reads them next.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "buoy/analysis/sample_table.h"

namespace buoy {

struct GroupSummaries {
  Group group;
  std::vector<Summary> summaries;
};

// A field, in quotes where it holds a comma, a quote or the end of a line. Text that a spreadsheet would take
// for a formula (=…, +…, -…, @… that is no number) begins with an apostrophe.
std::string csv_field(std::string_view text);

// model,data,task,quantity,layer,head,part,n,questions,mean,std,lo,hi,null. What a group leaves open reads
// "*"; what does not exist is empty.
std::string summaries_csv(std::span<const GroupSummaries> groups);

// model,data,task,sample,quantity,layer,head,part,value,weight,null: one line per number of each sample.
std::string samples_csv(const SampleTable& table);

}  // namespace buoy
