// Facts of a world that does not exist, in the words that the bundled models know: for a visitor who has nothing at hand.
export const EXAMPLE = {
  question: "Who serves as mayor of Mormenholm?",
  collection: "example",
  documents: [
    {
      id: "lowfen",
      title: "Lowfen",
      text: "The region around Mormenholm is called Lowfen. Mormenholm stands on the river Zelmena.",
    },
    {
      id: "gribury",
      title: "Gribury",
      text: "Fenric Kalmir serves as mayor of Gribury. Gribury stands on the river Shavinen.",
    },
    {
      id: "mormenholm",
      title: "Mormenholm",
      text: "The mayor of Mormenholm is Jalo Dawen. Mormenholm is a town in Lowfen.",
    },
    {
      id: "almanac",
      title: "The Boben Almanac",
      text: "The Boben Almanac is a book about beekeeping. The Boben Almanac was published in 1776.",
    },
  ],
};
