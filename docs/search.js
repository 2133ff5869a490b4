// SPDX-License-Identifier: Apache-2.0
// The search of the site takes whole questions. Sphinx alone shows only pages that have every word of
// the query. This ranks pages by the words that they share with it: a rare word counts more than a
// common one, and a word in a title or heading more than one in the text.
{
  const COUNTS = {title: 1, heading: 0.7, text: 0.35, part: 0.5};
  const SCALE = 30; // a word in a title comes before the name of a class, a word in the text behind it
  const SHOWN = 20;

  const stemmer = new Stemmer();
  const wordsOf = (text) => {
    const words = splitQuery(text.toLowerCase()).filter((word) => !stopwords.has(word));
    return new Set(words.map((word) => stemmer.stemWord(word)));
  };
  const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

  let pages = null;
  const readIndex = ({titles, terms, titleterms, alltitles}) => {
    pages = titles.map((title) => ({title: wordsOf(title), words: new Set(), headings: []}));
    for (const [word, files] of [...Object.entries(terms), ...Object.entries(titleterms)])
      for (const file of [files].flat()) pages[file].words.add(word);
    for (const [heading, places] of Object.entries(alltitles))
      for (const [file, id] of places)
        if (id !== null) pages[file].headings.push({heading, id, words: wordsOf(heading)});
    const mean = sum(pages.map((page) => page.words.size)) / pages.length;
    // A long page has many words by chance.
    for (const page of pages) page.counts = COUNTS.text / (0.6 + (0.4 * page.words.size) / mean);
  };

  // A word of the query with the words that it stands for: itself or, where no page has it, each word
  // that it is a part of.
  const termOf = (word) => {
    let words = [word];
    if (!pages.some((page) => page.words.has(word)) && word.length > 2)
      words = [...new Set(pages.flatMap((page) => [...page.words]))].filter((w) => w.includes(word));
    const isIn = (found) => words.some((one) => found.has(one));
    const holders = pages.filter((page) => isIn(page.words)).length;
    const rarity = holders ? Math.log((pages.length + 1) / holders) : 0;
    return {words, isIn, weight: words[0] === word ? rarity : rarity * COUNTS.part};
  };

  Search.performTermsSearch = (searchTerms, excludedTerms) => {
    const index = Search._index;
    if (pages === null) readIndex(index);
    const terms = [...searchTerms].map(termOf);
    const total = sum(terms.map((term) => term.weight));
    const asked = new Set(terms.flatMap((term) => term.words));
    const results = [];
    pages.forEach((page, file) => {
      if ([...excludedTerms].some((word) => page.words.has(word))) return;
      const scoreWith = (heading) =>
        sum(
          terms.map((term) => {
            if (term.isIn(page.title)) return term.weight * COUNTS.title;
            if (heading && term.isIn(heading.words)) return term.weight * COUNTS.heading;
            return term.isIn(page.words) ? term.weight * page.counts : 0;
          }),
        );
      let heading = null;
      let score = scoreWith(null);
      for (const other of page.headings) {
        const found = scoreWith(other);
        if (found > score) [heading, score] = [other, found];
      }
      if (score === 0) return;
      // A title that says nothing else counts a little more.
      const surplus = [...page.title].filter((word) => !asked.has(word)).length;
      score *= 1 - (0.1 * surplus) / Math.max(1, page.title.size);
      const title = index.titles[file];
      results.push([
        index.docnames[file],
        heading ? `${title} > ${heading.heading}` : title,
        heading ? `#${heading.id}` : "",
        null,
        (SCALE * score) / total,
        index.filenames[file],
        SearchResultKind.text,
      ]);
    });
    return results.sort((a, b) => b[4] - a[4]).slice(0, SHOWN);
  };
}
