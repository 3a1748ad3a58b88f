// Phrases of the tasks over several facts: which groups can be listed, and what a link is called in a chain.
#include "buoy/world/world_tables.h"

namespace buoy {
namespace {

using K = EntityKind;

constexpr Listing kListings[] = {
    {K::kPerson, "birthplace", "the people born in {v}"},
    {K::kPerson, "employer", "the people employed by {v}"},
    {K::kPerson, "profession", "the people who worked as a {v}"},
    {K::kTown, "region", "the towns in {v}"},
    {K::kCompany, "headquarters", "the companies based in {v}"},
    {K::kCompany, "product", "the companies that make {v}"},
    {K::kBook, "author", "the books written by {v}"},
    {K::kBook, "subject", "the books about {v}"},
};

constexpr LinkNoun kLinkNouns[] = {
    {K::kPerson, "birthplace", "the birthplace of {n}"},
    {K::kPerson, "employer", "the employer of {n}"},
    {K::kTown, "mayor", "the mayor of {n}"},
    {K::kCompany, "headquarters", "the headquarters of {n}"},
    {K::kCompany, "founder", "the founder of {n}"},
    {K::kBook, "author", "the author of {n}"},
};

}  // namespace

std::span<const Listing> listings() {
  return kListings;
}

std::span<const LinkNoun> link_nouns() {
  return kLinkNouns;
}

}  // namespace buoy
