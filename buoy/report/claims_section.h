// Shows what comes of the room claims: the verdicts in short, an overview figure, what is in dispute, and
// tables with every number, paper by paper.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "buoy/claims/claims.h"
#include "buoy/draw/forest.h"
#include "buoy/report/page_parts.h"

namespace buoy {

// "Attention floating (arXiv 2601.07894)"; the number alone where papers() does not have it.
std::string paper_name(std::string_view arxiv);

// The numbers of `each`, kind by kind: of several models their mean and, in brackets, the lowest and the
// highest.
struct KindText {
  std::string kind, text;  // – where no model of the kind has the number
  std::string mean;        // the same without the lowest and the highest model
};
std::vector<KindText> each_kind(const ClaimResult& result);

// "mini-mdm", or "mini-mdm − mini-arm" where the claim compares.
std::string models_of(const ClaimResult& result);

// One row per result: (value − strictest null) ÷ δ, turned so that to the right is as claimed; 0 is that
// null, 1 is δ, and every other null that counts has a mark. A row has the colour of its masked model.
Forest claims_figure(std::span<const ClaimResult> results, const FigureWriter& colors);

// For the first screen: every verdict on the first paper with the number of each model beside it, and how
// many of the other papers' claims hold; id "verdicts". `results` is not empty.
Section verdict_section(std::span<const ClaimResult> results, const FigureWriter& colors);

// Draws the figure "claims" and returns the section with every number, id "claims": the figure, the disputes,
// a table for each paper. `results` is not empty. Throws Error naming what cannot be written.
Section claims_section(std::span<const ClaimResult> results, const FigureWriter& writer);

}  // namespace buoy
