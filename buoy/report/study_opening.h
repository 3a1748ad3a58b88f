// What a study shows before its figures: every question with its answers, and the strongest anchors in words.
#pragma once

#include <string>

#include "buoy/report/html.h"
#include "buoy/report/study_view.h"

namespace buoy {

// The first questions with gold and every model's answer, right or wrong in words; id "questions".
Section questions_section(const StudyView& view);
// data,sample,question,gold,model,answer,correct: all of them; correct is empty where no answer is known.
std::string questions_csv(const StudyResult& result);

// Of every model's example: the strongest anchor of the first, middle and last step in a shallow, a middle
// and a deep layer, as the rows that are read see it; id "anchors".
Section anchors_section(const StudyView& view);

}  // namespace buoy
